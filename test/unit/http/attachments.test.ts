import assert from 'node:assert/strict';
import { abortable } from '../../../src/base/abort.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { ClientLeft, newContext } from '../../../src/http/request-context.ts';
import { Attachments } from '../../../src/http/submission/attachments.ts';
import { ToolError } from '../../../src/tools/tool.ts';
import type { Toolbox } from '../../../src/tools/toolbox.ts';
import { patience } from '../../support/time-limit.ts';

const place = { id: 'r', path: '/v1/responses', route: '/v1/responses' };
const keeping = { keepMs: 5000, sealedBy: 'key-a', context: newContext(new AbortController(), place) };

describe('documents of a request whose client disconnects while the first is read', () => {
  for (const isStored of [false, true]) {
    it(`are not read on (${isStored ? 'from a conversation' : 'in the input'})`, async () => {
      const left = new AbortController();
      const urls: string[] = [];
      const read: Toolbox['read'] = (url, { signal }) => {
        urls.push(url);
        left.abort(new ClientLeft());
        return abortable(new Promise<never>(() => {}), signal);
      };
      const unused = {} as never;
      const attachments = new Attachments({ files: unused, documents: { read }, log: silentLogger });
      const parts = [1, 2, 3].map((n) => ({ type: 'file' as const, url: `http://slow.test/${n}` }));
      const context = { user: 'ann', place: 'input', canOpenUrls: false, window: 1000, takesPdf: false, keeping };
      const resolving = attachments.resolve(parts, { ...context, isStored, sent: { bytes: 0 }, signal: left.signal });
      await assert.rejects(resolving, ClientLeft);
      assert.deepEqual(urls, ['http://slow.test/1']);
    });
  }
});

describe('the files of one request', () => {
  it('are read for a model up to 40 MiB together, over all of its fields', async () => {
    const bytes = 15 * 1024 * 1024;
    let reads = 0;
    const files = {
      find: async () => ({ id: 'a', bytes, name: 'a.png' }),
      read: async () => {
        reads++;
        return { bytes: Buffer.from('\x89PNG', 'latin1'), [Symbol.dispose]() {} };
      },
    } as never;
    const unused = {} as never;
    const attachments = new Attachments({ files, documents: unused, log: silentLogger });
    const context = { user: 'ann', isStored: false, canOpenUrls: false, window: 1000, takesPdf: false, keeping };
    const shared = { ...context, sent: { bytes: 0 }, signal: AbortSignal.timeout(patience(10)) };
    const image = { type: 'image_file' as const, id: 'file-a' };
    await attachments.resolve([image, image], { ...shared, place: 'input[0].content' });
    await assert.rejects(attachments.resolve([image], { ...shared, place: 'input[1].content' }), {
      code: 'invalid_parameter',
      param: 'input[1].content[0]',
    });
    assert.equal(reads, 2);
  });
});

describe('a document at an address that is too long for a model that cannot open it', () => {
  it('is stored as the other files of the request are, and removed if that is refused', async () => {
    const saved: object[] = [];
    const removed: string[] = [];
    const files = {
      save: async (_: Buffer, file: object) => {
        saved.push(file);
        return { id: 'a', ...file };
      },
      remove: async (file: { id: string }) => void removed.push(file.id),
    } as never;
    const documents = { read: async () => ({ content: 'long '.repeat(10_000) }) as never };
    const attachments = new Attachments({ files, documents, log: silentLogger });
    const part = { type: 'file' as const, url: 'http://long.test/a', filename: 'a.md' };
    const context = { user: 'ann', place: 'input', canOpenUrls: false, window: 1000, takesPdf: false, isStored: false };
    const signal = AbortSignal.timeout(patience(10));
    await attachments.resolve([part], { ...context, keeping, sent: { bytes: 0 }, signal });
    const about = { user: 'ann', name: 'a.md', type: 'text/markdown', purpose: 'user_data' };
    assert.deepEqual(saved, [{ ...about, keepMs: 5000, sealedBy: 'key-a' }]);
    await attachments.discard(keeping.context);
    assert.deepEqual(removed, ['a']);
  });
});

describe('a document that is not read because too many are', () => {
  for (const isStored of [false, true]) {
    it(`is an overload, not a fault of the ${isStored ? 'conversation' : 'request'}`, async () => {
      const busy = async () => {
        throw new ToolError('busy', 'Too many documents are being read. Try again later.');
      };
      const attachments = new Attachments({ files: {} as never, documents: { read: busy }, log: silentLogger });
      const part = { type: 'file' as const, url: 'http://any.test/a', filename: 'a.md' };
      const context = { user: 'ann', place: 'input', canOpenUrls: false, window: 1000, takesPdf: false, isStored };
      const signal = AbortSignal.timeout(patience(10));
      const resolving = attachments.resolve([part], { ...context, keeping, sent: { bytes: 0 }, signal });
      await assert.rejects(resolving, { code: 'overloaded' });
    });
  }
});
