import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ask } from '../../src/cli/ask/ask.ts';
import { send } from '../support/http-client.ts';
import { KEYS } from '../support/http-gateway.ts';
import { openResearchGateway } from '../support/research-gateway.ts';
import { RecordedTerminal } from '../unit/cli/recorded-terminal.ts';

const fileList = z.object({ data: z.array(z.unknown()) });

describe('research-gateway ask --file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ask-files-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function open() {
    const gateway = await openResearchGateway({
      model: () => ({ text: 'Read.' }),
      files: { url: `file:${join(folder, 'store')}` },
    });
    const asked = async (file: string[], model = 'deep') => {
      const terminal = new RecordedTerminal();
      const connection = { baseUrl: gateway.url, apiKey: KEYS.ann, quiet: true };
      const code = await ask({ ...connection, question: 'What?', file, model }, terminal);
      return { code, ...terminal.written };
    };
    const stored = async () => fileList.parse((await send(gateway, 'GET /v1/files')).json).data.length;
    return Object.assign(gateway, { asked, stored });
  }

  it('says what is wrong with a path before anything is uploaded', async () => {
    await using gateway = await open();
    const at = (name: string) => join(folder, name);
    await writeFile(at('fine.txt'), 'Fine.');
    await mkdir(at('folder'));
    execFileSync('mkfifo', [at('pipe')]);
    for (const [path, reason] of [
      [at('missing'), 'there is no such file'],
      [at('folder'), 'this is not a regular file'],
      [at('pipe'), 'this is not a regular file'],
    ] as const) {
      const { code, err } = await gateway.asked([at('fine.txt'), path]);
      assert.deepEqual([code, err], [2, `error: --file ${path}: ${reason}\n`]);
    }
    assert.equal(await gateway.stored(), 0);
  });

  it('does not blame the gateway for a file that cannot be read, and takes back those that were uploaded', async function () {
    // A regular file whose first page nobody can read.
    const unreadable = '/proc/self/mem';
    if (process.platform !== 'linux') this.skip();
    await using gateway = await open();
    await writeFile(join(folder, 'first.txt'), 'First.');
    const { code, err } = await gateway.asked([join(folder, 'first.txt'), unreadable]);
    assert.equal(code, 2);
    assert.match(err, /^error: --file \/proc\/self\/mem: EIO/);
    assert.equal(await gateway.stored(), 0);
  });

  it('takes back the files of a question that the gateway refuses', async () => {
    await using gateway = await open();
    await writeFile(join(folder, 'kept.txt'), 'Kept.');
    const { code, err } = await gateway.asked([join(folder, 'kept.txt')], 'nobody');
    assert.equal(code, 5);
    assert.match(err, /model_not_found/);
    assert.equal(await gateway.stored(), 0);
  });
});
