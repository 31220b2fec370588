import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { archiveBombs, officeBombs, pdfBombs } from '../support/bombs.ts';
import { KEYS, until } from '../support/http-gateway.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { patience } from '../support/time-limit.ts';

const LAKE =
  '# The lake\n\n## Depth\n\nThe lake is 1642 metres deep, the deepest of all.\n\n## Age\n\nIt is 25 million years old.\n';
const HILL = '# The hill\n\nThe hill is 1142 metres high, and older than the deepest lake.\n';

describe('vector stores, with the official SDK', () => {
  let gateway: ResearchGateway;
  let client: OpenAI;
  let bob: OpenAI;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'files-'));
    gateway = await openResearchGateway({ model: () => ({ text: 'Ready.' }), files: { url: `file:${folder}` } });
    const open = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    client = open(KEYS.ann);
    bob = open(KEYS.bob);
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const POLL = { pollIntervalMs: 20 };
  const uploadable = (name: string, text: string | Buffer) => toFile(Buffer.from(text), name);
  const upload = async (name: string, text: string | Buffer) =>
    (await client.files.create({ file: await uploadable(name, text), purpose: 'assistants' })).id;
  const refused = (status: number, param?: string) => (thrown: unknown) => {
    assert.ok(thrown instanceof OpenAI.APIError, String(thrown));
    assert.equal(thrown.status, status, thrown.message);
    if (param !== undefined) assert.equal(thrown.param, param);
    return true;
  };

  it('are filled with a batch, listed, searched and emptied', async () => {
    const store = await client.vectorStores.create({ name: 'places', metadata: { of: 'test' } });
    assert.match(store.id, /^vs_[0-9a-f]{32}$/);
    assert.deepEqual([store.object, store.status, store.file_counts.total], ['vector_store', 'completed', 0]);
    const files = [
      await uploadable('lake.md', LAKE),
      await uploadable('hill.md', HILL),
      await uploadable('x.zip', zip()),
    ];
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, POLL);
    assert.equal(batch.status, 'completed');
    assert.deepEqual(batch.file_counts, { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 });
    const failed = await client.vectorStores.files.list(store.id, { filter: 'failed' });
    assert.equal(failed.data[0]?.last_error?.code, 'unsupported_file');
    const filled = await client.vectorStores.retrieve(store.id);
    assert.equal(filled.usage_bytes, LAKE.length + HILL.length);

    const found = await client.vectorStores.search(store.id, { query: 'How deep is the lake?', max_num_results: 3 });
    const [best] = found.data;
    assert.equal(best?.filename, 'lake.md');
    assert.match(best?.content[0]?.text ?? '', /1642 metres/);
    assert.ok((best?.score ?? 0) > 0 && (best?.score ?? 2) <= 1);
    const several = await client.vectorStores.search(store.id, { query: ['deep lake', 'high hill'] });
    assert.deepEqual(new Set(several.data.map(({ filename }) => filename)), new Set(['lake.md', 'hill.md']));
    const none = await client.vectorStores.search(store.id, { query: 'lake', ranking_options: { score_threshold: 1 } });
    assert.deepEqual(none.data, []);
    const body = { query: 'lake', max_num_results: null, filters: null, ranking_options: null };
    const absent = await client.post<typeof none>(`/vector_stores/${store.id}/search`, { body });
    assert.ok(absent.data.length > 0, 'null means absent');

    const content = await client.vectorStores.files.content(best?.file_id ?? '', { vector_store_id: store.id });
    assert.match(content.data[0]?.text ?? '', /25 million years/);
    await client.vectorStores.files.delete(best?.file_id ?? '', { vector_store_id: store.id });
    const after = await client.vectorStores.search(store.id, { query: 'How deep is the lake?' });
    assert.deepEqual(
      after.data.map(({ filename }) => filename),
      ['hill.md'],
    );
    assert.equal((await client.vectorStores.delete(store.id)).deleted, true);
    await assert.rejects(client.vectorStores.retrieve(store.id), refused(404));
  });

  it('can be searched with attribute filters', async () => {
    const store = await client.vectorStores.create({});
    const attributes = [
      { year: 2024, kind: 'a' },
      { year: 2025, kind: 'b' },
      { year: 2026, final: true },
    ];
    const files = await Promise.all(
      attributes.map(async (one, n) => ({
        file_id: await upload(`${n}.md`, `Report ${n} about the lake.`),
        attributes: one,
      })),
    );
    const batch = await client.vectorStores.fileBatches.createAndPoll(store.id, { files } as never, POLL);
    assert.equal(batch.file_counts.completed, 3);
    const names = async (filters: OpenAI.VectorStoreSearchParams['filters']) => {
      const { data } = await client.vectorStores.search(store.id, {
        query: 'report lake',
        ...(filters && { filters }),
      });
      return data
        .map(({ filename }) => filename)
        .toSorted()
        .join(' ');
    };
    assert.equal(await names(undefined), '0.md 1.md 2.md');
    assert.equal(await names({ type: 'eq', key: 'year', value: 2025 }), '1.md');
    assert.equal(await names({ type: 'gte', key: 'year', value: 2025 }), '1.md 2.md');
    assert.equal(await names({ type: 'eq', key: 'final', value: true }), '2.md');
    assert.equal(await names({ type: 'ne', key: 'kind', value: 'a' }), '1.md 2.md');
    assert.equal(await names({ type: 'in', key: 'kind', value: ['a', 'b'] }), '0.md 1.md');
    const both = [
      { type: 'lt' as const, key: 'year', value: 2026 },
      { type: 'or' as const, filters: [{ type: 'eq' as const, key: 'kind', value: 'b' }] },
    ];
    assert.equal(await names({ type: 'and', filters: both as never }), '1.md');
    const [first] = files;
    assert.ok(first);
    await client.vectorStores.files.update(first.file_id, { vector_store_id: store.id, attributes: { year: 2030 } });
    assert.equal(await names({ type: 'gt', key: 'year', value: 2026 }), '0.md');
    const wrong = client.vectorStores.search(store.id, {
      query: 'x',
      filters: { type: 'like', key: 'a', value: 1 } as never,
    });
    await assert.rejects(wrong, refused(400));
    await client.vectorStores.delete(store.id);
  });

  it('belong to their user alone, on every route', async () => {
    const store = await client.vectorStores.create({ name: 'mine' });
    const id = await upload('mine.md', LAKE);
    const file = await client.vectorStores.files.createAndPoll(store.id, { file_id: id }, POLL);
    assert.equal(file.status, 'completed');
    const batch = await client.vectorStores.fileBatches.create(store.id, { file_ids: [id] });
    const own = await bob.vectorStores.create({});
    const at = { vector_store_id: store.id };
    const tried: (() => PromiseLike<unknown>)[] = [
      () => bob.vectorStores.retrieve(store.id),
      () => bob.vectorStores.update(store.id, { name: 'x' }),
      () => bob.vectorStores.delete(store.id),
      () => bob.vectorStores.search(store.id, { query: 'lake' }),
      () => bob.vectorStores.files.list(store.id),
      () => bob.vectorStores.files.create(store.id, { file_id: id }),
      () => bob.vectorStores.files.create(own.id, { file_id: id }),
      () => bob.vectorStores.create({ file_ids: [id] }),
      () => bob.vectorStores.fileBatches.create(own.id, { file_ids: [id] }),
      () => bob.vectorStores.files.retrieve(id, at),
      () => bob.vectorStores.files.content(id, at),
      () => bob.vectorStores.files.update(id, { ...at, attributes: {} }),
      () => bob.vectorStores.files.delete(id, at),
      () => bob.vectorStores.fileBatches.retrieve(batch.id, at),
      () => bob.vectorStores.fileBatches.cancel(batch.id, at),
      () => bob.vectorStores.fileBatches.listFiles(batch.id, at),
      () => bob.vectorStores.files.retrieve(id, { vector_store_id: own.id }),
    ];
    for (const attempt of tried) await assert.rejects(async () => await attempt(), refused(404));
    assert.deepEqual(
      (await bob.vectorStores.list()).data.map((one) => one.id),
      [own.id],
    );
    assert.equal((await client.vectorStores.retrieve(store.id)).name, 'mine');
    await client.vectorStores.delete(store.id);
  });

  it('lose a file when it is deleted', async () => {
    const id = await upload('gone.md', 'The password of the vault is swordfish-canary.');
    const store = await client.vectorStores.create({ file_ids: [id] });
    await until(async () => (await client.vectorStores.retrieve(store.id)).status === 'completed' || undefined);
    assert.equal((await client.vectorStores.search(store.id, { query: 'password vault' })).data.length, 1);
    await client.files.delete(id);
    assert.deepEqual((await client.vectorStores.search(store.id, { query: 'password vault' })).data, []);
    assert.equal((await client.vectorStores.retrieve(store.id)).file_counts.total, 0);
    await assert.rejects(client.vectorStores.files.retrieve(id, { vector_store_id: store.id }), refused(404));
    await client.vectorStores.delete(store.id);
  });

  it('report a file as failed whose bytes are lost', async () => {
    const id = await upload('lost.md', 'Nobody will read this.');
    const stored = id.slice('file-'.length);
    await rm(join(folder, stored.slice(0, 2), stored));
    const store = await client.vectorStores.create({});
    const file = await client.vectorStores.files.createAndPoll(store.id, { file_id: id }, POLL);
    assert.deepEqual([file.status, file.last_error?.code], ['failed', 'invalid_file']);
    await client.files.delete(id);
    await client.vectorStores.delete(store.id);
  });

  it('are listed page by page, updated, and have batches that can be cancelled', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await client.vectorStores.create({ name }));
    const listed: string[] = [];
    for await (const { name } of client.vectorStores.list({ limit: 2, order: 'asc' })) listed.push(name);
    assert.deepEqual(listed.slice(-3), ['a', 'b', 'c']);
    const [first] = made;
    assert.ok(first);
    const changed = await client.vectorStores.update(first.id, {
      name: 'new',
      expires_after: { anchor: 'last_active_at', days: 1 },
    });
    assert.equal(changed.name, 'new');
    assert.ok(Math.abs((changed.expires_at ?? 0) - (changed.last_active_at ?? 0) - 86_400) <= 1);
    assert.equal((await client.vectorStores.update(first.id, { expires_after: null })).expires_at, null);
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => upload(`${n}.txt`, `text ${n}`)));
    const batch = await client.vectorStores.fileBatches.create(first.id, { file_ids: ids });
    const cancelled = await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: first.id });
    assert.equal(cancelled.file_counts.in_progress, 0);
    const { cancelled: left, completed } = cancelled.file_counts;
    assert.equal(left + completed, 12);
    const some = await client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: first.id, limit: 5 });
    assert.equal(some.data.length, 5);
    for (const { id } of made) await client.vectorStores.delete(id);
  });

  it('report why a decompression bomb failed, and index other files meanwhile', async function () {
    // On a busy machine, files that unpack to a lot take a while.
    this.timeout(patience(30));
    const names = /unpacks to 120 MB|contain themselves|nested dictionaries|A ZIP archive|frames in frames/i;
    const bombs = [...officeBombs(), ...pdfBombs(), ...archiveBombs()].filter(({ name }) => names.test(name));
    assert.ok(bombs.length >= 5);
    const ids: string[] = [];
    for (const { name, body } of bombs)
      ids.push(
        (await client.files.create({ file: await toFile(Buffer.from(await body()), name), purpose: 'assistants' })).id,
      );
    const store = await client.vectorStores.create({ file_ids: ids });
    const own = await bob.vectorStores.create({});
    const file = await toFile(Buffer.from('The lake is deep.'), 'lake.md');
    // Another user's file is indexed meanwhile.
    const { status } = await bob.vectorStores.files.uploadAndPoll(own.id, file, POLL);
    assert.equal(status, 'completed');
    await until(async () => (await client.vectorStores.retrieve(store.id)).file_counts.in_progress === 0 || undefined);
    const { data } = await client.vectorStores.files.list(store.id);
    assert.deepEqual(new Set(data.map(({ last_error }) => Boolean(last_error?.message))), new Set([true]));
    for (const id of ids) await client.files.delete(id);
    await client.vectorStores.delete(store.id);
  });

  it('can be listed to the end while their items are deleted, and so can their files', async () => {
    const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => upload(`${n}.md`, 'A note of the lake.')));
    const store = await client.vectorStores.create({ file_ids: ids });
    let detached = 0;
    for await (const file of client.vectorStores.files.list(store.id, { limit: 2 })) {
      await client.vectorStores.files.delete(file.id, { vector_store_id: store.id });
      detached += 1;
    }
    assert.equal(detached, 5);
    for (let n = 0; n < 5; n++) await client.vectorStores.create({});
    const all = (await client.vectorStores.list({ limit: 100 })).data.length;
    let deleted = 0;
    for await (const { id } of client.vectorStores.list({ limit: 2 })) {
      await client.vectorStores.delete(id);
      deleted += 1;
    }
    assert.deepEqual([deleted, (await client.vectorStores.list()).data], [all, []]);
    // Another user's store is no valid cursor.
    await assert.rejects(bob.vectorStores.list({ after: store.id }), refused(400, 'after'));
  });

  it('reject invalid requests, naming the field', async () => {
    const store = await client.vectorStores.create({});
    const id = await upload('a.md', 'text');
    await assert.rejects(client.vectorStores.files.create(store.id, { file_id: 'file-none' }), refused(404, 'file_id'));
    await assert.rejects(
      client.vectorStores.fileBatches.create(store.id, { file_ids: [id, 'file-none'] }),
      refused(404, 'file_ids[1]'),
    );
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, n]));
    await assert.rejects(
      client.vectorStores.files.create(store.id, { file_id: id, attributes: many }),
      refused(400, 'attributes'),
    );
    await assert.rejects(client.vectorStores.search(store.id, { query: '' }), refused(400));
    const post = async (path: string, body: string) => {
      const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.url}/v1/vector_stores/${store.id}${path}`, {
        method: 'POST',
        headers,
        body,
      });
      const { code, param } = JSON.parse(await answer.text()).error ?? {};
      return [answer.status, code ?? answer.headers.get('x-ignored-parameters'), param];
    };
    assert.deepEqual(await post('/search', '{}'), [400, 'missing_parameter', 'query']);
    const large = '12345678901234567890';
    assert.deepEqual(await post('/files', `{"file_id":"${id}","attributes":{"n":${large}}}`), [
      400,
      'invalid_parameter',
      'attributes.n',
    ]);
    const equal = `{"query":"x","filters":{"type":"eq","key":"n","value":${large}}}`;
    assert.deepEqual(await post('/search', equal), [400, 'invalid_parameter', 'filters.value']);
    const one = '{"type":"eq","key":"n","value":1}';
    const wide = `{"type":"or","filters":[${Array(30).fill(`{"type":"or","filters":[${Array(30).fill(one)}]}`)}]}`;
    assert.deepEqual(await post('/search', `{"query":"x","filters":${wide}}`), [400, 'invalid_parameter', 'filters']);
    const more =
      '{"query":"x","rewrite_query":true,"colour":1,"ranking_options":{"ranker":"auto","score_threshold":0.5}}';
    assert.deepEqual(await post('/search', more), [200, 'rewrite_query, colour, ranking_options.ranker', undefined]);
    await assert.rejects(
      client.vectorStores.search(store.id, { query: 'x', max_num_results: 51 }),
      refused(400, 'max_num_results'),
    );
    await assert.rejects(client.vectorStores.fileBatches.create(store.id, {}), refused(400, 'file_ids'));
    await assert.rejects(client.vectorStores.list({ after: 'vs_none' }), refused(400, 'after'));
    const both = { after: store.id, before: store.id };
    await assert.rejects(client.vectorStores.list(both), refused(400, 'before'));
    await assert.rejects(client.vectorStores.files.list(store.id, both), refused(400, 'before'));
    const wrong = { query: 'x', filters: { type: 'and', filters: [{ type: 'like', key: 'a', value: 1 }] } };
    await assert.rejects(client.vectorStores.search(store.id, wrong as never), refused(400, 'filters.filters[0].type'));
    for (const [size, overlap, param] of [
      [99, 0, 'max_chunk_size_tokens'],
      [4097, 0, 'max_chunk_size_tokens'],
      [800, 401, 'chunk_overlap_tokens'],
    ] as const) {
      const sizes = { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap };
      await assert.rejects(
        client.vectorStores.files.create(store.id, {
          file_id: id,
          chunking_strategy: { type: 'static', static: sizes },
        }),
        refused(400, `chunking_strategy.static.${param}`),
      );
    }
    const batch = await client.vectorStores.fileBatches.createAndPoll(store.id, { file_ids: [id] }, POLL);
    const unknown = { vector_store_id: store.id, after: 'file-none' };
    await assert.rejects(client.vectorStores.fileBatches.listFiles(batch.id, unknown), refused(400, 'after'));
    await client.vectorStores.delete(store.id);
  });
});

function zip(): Buffer {
  return Buffer.from([0x50, 0x4b, 0x03, 0x04, 0, 0, 0, 0]);
}
