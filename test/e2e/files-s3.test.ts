import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import OpenAI, { toFile } from 'openai';
import { KEYS, until } from '../support/http-gateway.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { S3Server } from '../support/s3/s3-server.ts';
import type { SeenRequest } from '../support/seen-request.ts';
import { patience } from '../support/time-limit.ts';

const LAKE = '# The lake\n\n## Depth\n\nThe lake is 1642 metres deep, the deepest of all.\n';
const MIB = 1024 * 1024;

/** Opens the document that its question names, then answers from it. */
function reader(request: SeenRequest) {
  const url = /file:\/\/\/file-[\w-]+\/[^\s"\\]+/.exec(JSON.stringify(request.messages))?.[0];
  const hasRead = request.messages.some(({ role }) => role === 'tool');
  if (request.research && url && !hasRead) {
    return { toolCalls: [{ id: 'call_1', name: 'fetch_url_content', arguments: JSON.stringify({ url }) }] };
  }
  return { text: request.research ? 'I am ready.' : 'The lake is 1642 metres deep [1].' };
}

describe('files in an S3-compatible store', function () {
  this.timeout(patience(60));
  let store: S3Server;
  let gateway: ResearchGateway;
  let client: OpenAI;
  before(async () => {
    store = await S3Server.start();
    const { accessKeyId: access_key_id, secretAccessKey: secret_access_key } = store.credentials;
    gateway = await openResearchGateway({
      model: reader,
      research: { plan: 'off' },
      files: {
        url: `s3://${store.bucket}/users`,
        endpoint: store.endpoint,
        region: store.region,
        access_key_id,
        secret_access_key,
        max_bytes: '24mb',
      },
    });
    client = new OpenAI({ apiKey: KEYS.ann, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
  afterEach(() => {
    store.fault = () => undefined;
  });

  const upload = async (name: string, bytes: Buffer | string) =>
    await client.files.create({ file: await toFile(Buffer.from(bytes), name), purpose: 'assistants' });
  const status = (wanted: number) => (thrown: unknown) =>
    thrown instanceof OpenAI.APIError &&
    thrown.status === wanted &&
    (wanted !== 503 || thrown.code === 'store_unavailable');

  it('can be uploaded, downloaded and deleted, small and large', async () => {
    for (const size of [0, 70_000, 20 * MIB]) {
      const bytes = randomBytes(size);
      const made = await upload('a.bin', bytes);
      assert.equal(made.bytes, size);
      assert.deepEqual([...store.objects.keys()], [`users/${made.id.slice('file-'.length)}`]);
      const content = await client.files.content(made.id);
      assert.ok(Buffer.from(await content.arrayBuffer()).equals(bytes));
      await client.files.delete(made.id);
      assert.equal(store.objects.size, 0);
      await assert.rejects(client.files.content(made.id), status(404));
    }
    assert.ok(store.asked.includes('CompleteMultipartUpload'));
  });

  it('are refused with 413 if too large, and return 404 if their bytes are gone', async () => {
    await assert.rejects(upload('large.bin', Buffer.alloc(25 * MIB)), status(413));
    assert.deepEqual([store.objects.size, store.uploads.size], [0, 0]);
    const { id } = await upload('a.txt', 'text');
    store.objects.clear();
    await assert.rejects(client.files.content(id), status(404));
    await client.files.delete(id);
  });

  it('leave nothing behind if the client breaks off the upload at any tenth', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
    const whole = Buffer.concat([Buffer.from(head), randomBytes(18 * MIB), Buffer.from('\r\n--x--\r\n')]);
    for (let tenth = 1; tenth < 10; tenth++) {
      await new Promise<void>((resolve) => {
        const headers = {
          authorization: `Bearer ${KEYS.ann}`,
          'content-type': 'multipart/form-data; boundary=x',
          'content-length': whole.length,
        };
        const req = request(`${gateway.url}/v1/files`, { method: 'POST', headers });
        req.on('error', () => resolve()).on('close', () => resolve());
        req.write(whole.subarray(0, (whole.length * tenth) / 10), () => req.destroy());
      });
    }
    await until(() => (store.uploads.size === 0 && store.objects.size === 0) || undefined);
  });

  it('leave nothing behind if the form breaks off while they are being stored', async () => {
    const body = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n--x\r\n';
    const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'multipart/form-data; boundary=x' };
    const req = request(`${gateway.url}/v1/files`, { method: 'POST', headers });
    const answered = Promise.withResolvers<number | undefined>();
    req.on('error', answered.reject).on('response', (answer) => answered.resolve(answer.resume().statusCode));
    store.fault = ({ operation }) => {
      if (operation !== 'PutObject') return undefined;
      // The form ends here, without its last line.
      req.end();
      store.fault = () => undefined;
      return { after: answered.promise };
    };
    req.write(body);
    assert.equal(await answered.promise, 400);
    // When this is answered, the deletion above is done.
    await client.files.delete((await upload('b.txt', 'more')).id);
    assert.deepEqual([(await client.files.list()).data, store.objects.size], [[], 0]);
  });

  it('return 503 while the store refuses or cuts connections, and work again afterwards', async () => {
    const { id } = await upload('a.txt', 'text');
    for (const fault of ['cut before', { status: 503, code: 'SlowDown' }] as const) {
      store.fault = () => fault;
      await assert.rejects(upload('b.txt', 'more'), status(503));
      await assert.rejects(client.files.content(id), status(503));
      await assert.rejects(client.files.delete(id), status(503));
    }
    store.fault = () => undefined;
    assert.equal(await (await client.files.content(id)).text(), 'text');
    assert.equal((await client.files.delete(id)).deleted, true);
    assert.deepEqual([(await client.files.list()).data, store.objects.size], [[], 0]);
  });

  it('are read by research, by id and inline', async () => {
    const { id } = await upload('lake.md', LAKE);
    for (const part of [
      { type: 'input_file', file_id: id },
      { type: 'input_file', filename: 'lake.md', file_data: Buffer.from(LAKE).toString('base64') },
    ]) {
      const content = [{ type: 'input_text', text: 'How deep is it?' }, part];
      const response = await gateway.respond({ input: [{ role: 'user', content }] });
      assert.equal(response.status, 'completed');
      assert.match(JSON.stringify(response.output), /1642 metres deep.*lake\.md/);
    }
    assert.equal(store.objects.size, 2);
    for await (const file of client.files.list()) await client.files.delete(file.id);
  });

  it('are searched in a vector store, which waits while the store is away', async () => {
    const { id } = await upload('lake.md', LAKE);
    let refused = 0;
    store.fault = ({ operation }) => {
      if (operation !== 'GetObject' || refused === 3) return undefined;
      refused += 1;
      return 'cut before';
    };
    const vectors = await client.vectorStores.create({ file_ids: [id] });
    await until(async () => (await client.vectorStores.retrieve(vectors.id)).status === 'completed' || undefined);
    assert.equal(refused, 3);
    const { file_counts } = await client.vectorStores.retrieve(vectors.id);
    assert.deepEqual([file_counts.completed, file_counts.failed], [1, 0]);
    const found = await client.vectorStores.search(vectors.id, { query: 'How deep is the lake?' });
    assert.match(found.data[0]?.content[0]?.text ?? '', /1642 metres/);
    await client.files.delete(id);
    assert.equal(store.objects.size, 0);
    assert.deepEqual((await client.vectorStores.search(vectors.id, { query: 'lake' })).data, []);
  });
});
