import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { collectGarbage } from '../support/collect-garbage.ts';
import { send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { patience } from '../support/time-limit.ts';

describe('/v1/files', () => {
  let gateway: TestGateway;
  let ann: OpenAI;
  let bob: OpenAI;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'files-test-'));
    gateway = await openGateway({ files: { url: `file:${folder}`, max_bytes: '1mb', per_user_bytes: '2mb' } });
    const client = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    ann = client(KEYS.ann);
    bob = client(KEYS.bob);
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** How many files are in the folder. */
  const stored = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).length;
  };
  const upload = (client: OpenAI, name: string, bytes: Buffer | string = 'some text', more: object = {}) => {
    const body = { purpose: 'user_data' as const, ...more };
    return toFile(Buffer.from(bytes), name).then((file) => client.files.create({ ...body, file }));
  };

  it('keeps nothing of an upload in memory', async () => {
    const requests: WeakRef<IncomingMessage>[] = [];
    const remember = (request: IncomingMessage) => void requests.push(new WeakRef(request));
    gateway.server.on('request', remember);
    for (let n = 0; n < 20; n++) {
      await ann.files.delete((await upload(ann, 'a.txt')).id);
    }
    gateway.server.off('request', remember);
    // The newest request of each connection stays.
    await until(() => {
      collectGarbage();
      return requests.filter((request) => request.deref()).length < 10 || undefined;
    });
  });

  it('uploads, lists, reads and deletes files with the official SDK', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251));
    const made = await upload(ann, 'Bericht (2) – é.pdf', bytes);
    assert.deepEqual(
      { ...made, id: '', created_at: 0 },
      {
        id: '',
        object: 'file',
        bytes: 70_000,
        created_at: 0,
        expires_at: null,
        filename: 'Bericht (2) – é.pdf',
        purpose: 'user_data',
        status: 'processed',
      },
    );
    assert.deepEqual(await ann.files.retrieve(made.id), made);
    const content = await ann.files.content(made.id);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(bytes));
    assert.match(content.headers.get('content-disposition') ?? '', /^attachment/);
    const all = [];
    for await (const file of ann.files.list({ limit: 1 })) all.push(file.id);
    assert.ok(all.includes(made.id));
    assert.deepEqual(await ann.files.delete(made.id), { id: made.id, object: 'file', deleted: true });
    await assert.rejects(ann.files.retrieve(made.id), /404/);
    await assert.rejects(ann.files.content(made.id), /404/);
  });

  it('serves no part of a file that has lost bytes as the whole', async () => {
    const { id } = await upload(ann, 'a.txt');
    const key = id.slice('file-'.length);
    await truncate(join(folder, key.slice(0, 2), key), 4);
    await assert.rejects(
      ann.files.content(id).then((response) => response.text()),
      /terminated/,
    );
    await ann.files.delete(id);
  });

  it('shows files only to their user', async () => {
    const { id } = await upload(ann, 'mine.txt');
    for (const work of [bob.files.retrieve(id), bob.files.content(id), bob.files.delete(id)]) {
      await assert.rejects(work, /404/);
    }
    const seen = [];
    for await (const file of bob.files.list()) seen.push(file.id);
    assert.deepEqual(seen, []);
    await assert.rejects(bob.files.list({ after: id }), /400/);
    await ann.files.delete(id);
  });

  it('sets expires_at from expires_after, and refuses too short a time', async () => {
    const after = { expires_after: { anchor: 'created_at', seconds: 3600 } };
    const made = await upload(ann, 'short.txt', 'x', after);
    assert.equal(made.expires_at, made.created_at + 3600);
    await assert.rejects(upload(ann, 'short.txt', 'x', { expires_after: { anchor: 'created_at', seconds: 5 } }), /400/);
    await ann.files.delete(made.id);
  });

  it('limits the bytes of a file and of a user, and keeps nothing of refused uploads', async () => {
    await assert.rejects(upload(ann, 'large.bin', Buffer.alloc(1_200_000)), /413/);
    const kept = [
      await upload(ann, 'a.bin', Buffer.alloc(1_000_000)),
      await upload(ann, 'b.bin', Buffer.alloc(1_000_000)),
    ];
    await assert.rejects(upload(ann, 'c.bin', Buffer.alloc(500_000)), /429/);
    assert.equal(await stored(), kept.length);
    for (const { id } of kept) await ann.files.delete(id);
    await ann.files.delete((await upload(ann, 'c.bin', Buffer.alloc(500_000))).id);
    assert.equal(await stored(), 0);
  });

  it('strips paths and control characters from filenames', async () => {
    for (const [sent, name] of [
      ['../../etc/passwd', 'passwd'],
      ['C:\\secret\\a.txt', 'a.txt'],
      ['..', 'file'],
      ['x\u0007y.txt', 'xy.txt'],
      [`${'x'.repeat(254)}😀.txt`, 'x'.repeat(254)],
      ["b'é(1).txt", "b'é(1).txt"],
    ] as const) {
      const form = new FormData();
      form.set('purpose', 'assistants');
      form.set('file', new Blob(['x']), sent);
      const answer = await fetch(`${gateway.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.ann}` },
        body: form,
      });
      const made = JSON.parse(await answer.text());
      assert.equal(made.filename, name, sent);
      const saved = (await ann.files.content(made.id)).headers.get('content-disposition') ?? '';
      assert.match(saved, /^attachment; filename="[ !#-~]+"; filename\*=UTF-8''[\w.%~!-]+$/);
      await ann.files.delete(made.id);
    }
  });

  it('refuses invalid forms, naming the field', async () => {
    const post = async (type: string, body: string) => {
      const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': type };
      const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body });
      return [answer.status, JSON.parse(await answer.text()).error.param];
    };
    const form = (fields: string) => post('multipart/form-data; boundary=x', `${fields}--x--\r\n`);
    const field = (name: string, value: string) =>
      `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n';
    assert.deepEqual(await post('application/json', '{}'), [415, null]);
    assert.deepEqual(await post('multipart/form-data', 'x'), [400, 'file']);
    assert.deepEqual(await form(field('purpose', 'user_data')), [400, 'file']);
    assert.deepEqual(await form(file), [400, 'purpose']);
    assert.deepEqual(await form(field('purpose', 'fine-tune') + file), [400, 'purpose']);
    assert.deepEqual(await form(field('purpose', 'user_data') + file + file), [400, 'file']);
    assert.deepEqual(await post('multipart/form-data; boundary=x', `${file}`), [400, 'file']);
    // An encoded part would be stored undecoded; an invalid expires_after would be stored for ever.
    const encoded = file.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n');
    assert.deepEqual(await form(field('purpose', 'user_data') + encoded), [400, 'file']);
    const ending = (value: string) => form(field('purpose', 'user_data') + field('expires_after', value) + file);
    assert.deepEqual(await ending('tomorrow'), [400, 'expires_after']);
    assert.deepEqual(await ending('{"anchor":"created_at","seconds":9}'), [400, 'expires_after.seconds']);
    const listed = await send(gateway, 'GET /v1/files');
    assert.deepEqual(listed.json.data, [], 'no refused upload is stored');
  });

  it('takes parts that lack the name of the file or of the field', async () => {
    const part = (disposition: string, type: string) =>
      `--x\r\nContent-Disposition: form-data${disposition}\r\nContent-Type: ${type}\r\n\r\nuser_data\r\n`;
    const [purpose, file] = [part('; name="purpose"', 'text/plain'), part('; name="file"', 'application/octet-stream')];
    const body = `${purpose}${file}${part('', 'text/plain')}--x--\r\n`;
    const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'multipart/form-data; boundary=x' };
    const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body });
    const made = JSON.parse(await answer.text());
    assert.deepEqual([answer.status, made.filename, made.bytes], [200, 'file', 9]);
    await ann.files.delete(made.id);
    assert.equal(await stored(), 0);
  });

  it('takes expires_after as JSON, and lists unknown fields in x-ignored-parameters', async () => {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('expires_after', '{"anchor":"created_at","seconds":3600}');
    form.set('colour', 'blue');
    form.set('file', new Blob(['x']), 'a.txt');
    const headers = { authorization: `Bearer ${KEYS.ann}` };
    const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form });
    const made = JSON.parse(await answer.text());
    assert.equal(made.expires_at - made.created_at, 3600);
    assert.equal(answer.headers.get('x-ignored-parameters'), 'colour');
    await ann.files.delete(made.id);
  });

  it('keeps nothing of an upload that breaks off', async () => {
    for (const share of [0.1, 0.5, 0.9]) {
      const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
      const whole = Buffer.from(`${head}${'y'.repeat(200_000)}\r\n--x--\r\n`);
      await new Promise<void>((resolve) => {
        const headers = {
          authorization: `Bearer ${KEYS.ann}`,
          'content-type': 'multipart/form-data; boundary=x',
          'content-length': whole.length,
        };
        const req = request(`${gateway.url}/v1/files`, { method: 'POST', headers });
        req.on('error', () => resolve()).on('close', () => resolve());
        req.write(whole.subarray(0, whole.length * share), () => setImmediate(() => req.destroy()));
      });
    }
    assert.deepEqual((await send(gateway, 'GET /v1/files')).json.data, []);
  });

  it('answers forms that are mangled at any byte with 200 or 400', async function () {
    // Several hundred uploads.
    this.timeout(patience(30));
    const whole = Buffer.from(
      '--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\n' +
        'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nabc\r\n--x--\r\n',
    );
    const statuses = new Set<number>();
    for (let at = 0; at < whole.length; at++) {
      for (const body of [
        Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)]),
        Buffer.concat([whole.subarray(0, at), Buffer.from('\r\n--x'), whole.subarray(at)]),
        whole.subarray(0, at),
      ]) {
        const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'multipart/form-data; boundary=x' };
        const answer = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body });
        statuses.add(answer.status);
        const made = JSON.parse(await answer.text());
        if (answer.status === 200) await ann.files.delete(made.id);
      }
    }
    assert.deepEqual([...statuses].sort(), [200, 400]);
    assert.deepEqual((await send(gateway, 'GET /v1/files')).json.data, []);
  });

  it('limits concurrent uploads of one user, leaving room for others', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc';
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'transfer-encoding': 'chunked' };
    const stalled: ClientRequest[] = [];
    const refused = new Promise<number | undefined>((resolve) => {
      for (let n = 0; n < 33; n++) {
        const authorization = `Bearer ${KEYS.ann}`;
        const req = request(`${gateway.url}/v1/files`, { method: 'POST', headers: { ...headers, authorization } });
        req.on('error', () => {}).on('response', (answer) => resolve(answer.resume().statusCode));
        req.write(head);
        stalled.push(req);
      }
    });
    assert.equal(await refused, 503);
    await bob.files.delete((await upload(bob, 'b.txt')).id);
    for (const req of stalled) req.destroy();
    // The slots become free again.
    for (;;) {
      const made = await upload(ann, 'a.txt').catch(() => undefined);
      if (made) await ann.files.delete(made.id);
      if (made) break;
    }
  });
});
