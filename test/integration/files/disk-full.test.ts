import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { KEYS } from '../../support/http-gateway.ts';
import { mountDisk } from '../../support/mounted-disk.ts';
import { openResearchGateway } from '../../support/research-gateway.ts';

describe('a full disk', () => {
  let disk: Awaited<ReturnType<typeof mountDisk>>;
  beforeEach(async function () {
    disk = await mountDisk('3m');
    // This user may not mount a disk.
    if (!disk) this.skip();
  });
  afterEach(() => disk?.[Symbol.asyncDispose]());

  it('rejects a file that does not fit with 503, and keeps nothing of it', async () => {
    assert.ok(disk);
    await using gateway = await openResearchGateway({ files: { url: `file:${disk.path}` } });
    const client = new OpenAI({ apiKey: KEYS.ann, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const upload = async (bytes: number) =>
      client.files.create({ file: await toFile(Buffer.alloc(bytes, 'x'), 'a.txt'), purpose: 'user_data' });
    await assert.rejects(upload(4_000_000), (thrown) => {
      assert.ok(thrown instanceof OpenAI.APIError);
      assert.deepEqual([thrown.status, thrown.code], [503, 'store_unavailable']);
      return true;
    });
    assert.deepEqual((await client.files.list()).data, []);
    const stored = await readdir(disk.path, { recursive: true, withFileTypes: true });
    assert.deepEqual(
      stored.filter((entry) => entry.isFile()),
      [],
    );
    await client.files.delete((await upload(1_000_000)).id);
  });

  it('fails a document whose index does not fit, and still finds the others', async () => {
    assert.ok(disk);
    await using gateway = await openResearchGateway({ files: { index_folder: disk.path } });
    const client = new OpenAI({ apiKey: KEYS.ann, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const { id: vector_store_id } = await client.vectorStores.create({});
    const put = async (name: string, text: string) => {
      const file = await toFile(Buffer.from(text), name);
      return await client.vectorStores.files.uploadAndPoll(vector_store_id, file, { pollIntervalMs: 20 });
    };
    const search = async (query: string) =>
      (await client.vectorStores.search(vector_store_id, { query })).data.map(({ filename }) => filename);
    assert.equal((await put('small.md', 'The crane is on the roof.')).status, 'completed');
    const words = Array.from({ length: 150_000 }, (_, n) => `word${(n * 7919) % 60_000}`).join(' ');
    const failed = await put('large.md', words);
    assert.deepEqual([failed.status, failed.last_error?.code], ['failed', 'server_error']);
    assert.deepEqual(await search('crane'), ['small.md']);
    assert.deepEqual(await search('word7919'), []);
    // Searches still work while something else fills the disk.
    await writeFile(join(disk.path, 'other'), Buffer.alloc(4_000_000)).catch(() => {});
    assert.deepEqual(await search('crane'), ['small.md']);
  });

  it('rejects a search that needs a new index with 503, until there is room', async () => {
    assert.ok(disk);
    await using gateway = await openResearchGateway({ files: { index_folder: disk.path } });
    const client = new OpenAI({ apiKey: KEYS.ann, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const { id } = await client.vectorStores.create({});
    const other = join(disk.path, 'other');
    await writeFile(other, Buffer.alloc(4_000_000)).catch(() => {});
    await assert.rejects(client.vectorStores.search(id, { query: 'crane' }), { status: 503 });
    await rm(other);
    assert.deepEqual((await client.vectorStores.search(id, { query: 'crane' })).data, []);
  });
});
