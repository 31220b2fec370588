import assert from 'node:assert/strict';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { KILLED_KEY } from '../support/killed-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { patience } from '../support/time-limit.ts';

const FILES = 40;

function configOf({ storeUrl, folder, index }: { storeUrl: string; folder: string; index: string }) {
  return {
    server: { port: 0 },
    store: { url: storeUrl },
    files: { url: `file:${join(folder, 'files')}`, index_folder: join(folder, index) },
    providers: { demo: { builtin: 'demo' } },
    models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
    keys: [{ id: 'ann', secret: KILLED_KEY }],
  };
}

/** A batch is read to its end behind kill -9, and found on another machine. */
async function survives(storeUrl: (folder: string) => string): Promise<void> {
  await using folder = await gatewayFolder();
  const at = { storeUrl: storeUrl(folder.path), folder: folder.path };
  let gateway: GatewayProcess = await startGatewayProcess(configOf({ ...at, index: 'one' }), { folder: folder.path });
  await using _ = { [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
  const open = () => new OpenAI({ apiKey: KILLED_KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  let client = open();
  const store = await client.vectorStores.create({});
  const ids: string[] = [];
  for (let n = 0; n < FILES; n++) {
    const text = `Note ${n} tells of the harbour. ${'It was a long day at the quay. '.repeat(2000)}`;
    const file = await client.files.create({
      file: await toFile(Buffer.from(text), `${n}.txt`),
      purpose: 'assistants',
    });
    ids.push(file.id);
  }
  const batch = await client.vectorStores.fileBatches.create(store.id, { file_ids: ids });
  const counts = async () =>
    (await client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: store.id })).file_counts;
  await until(async () => (await counts()).completed > 0 || undefined);
  await gateway.kill();

  // Another machine: it has none of the indexes.
  gateway = await startGatewayProcess(configOf({ ...at, index: 'two' }), { folder: folder.path });
  client = open();
  await until(async () => (await counts()).in_progress === 0 || undefined);
  assert.deepEqual(await counts(), { in_progress: 0, completed: FILES, failed: 0, cancelled: 0, total: FILES });
  const names = new Set<string>();
  await until(async () => {
    const { data } = await client.vectorStores.search(store.id, { query: 'harbour note', max_num_results: 50 });
    for (const { filename } of data) names.add(filename);
    return names.size === FILES || undefined;
  });
}

describe('a batch of a vector store, behind kill -9 of who reads it', function () {
  // Gateways are killed and come back; what one had taken to read is free after half a minute, which both wait for at once.
  this.timeout(patience(90));
  const TITLE = 'is read to its end, and found on another machine';
  let overSqlite: Promise<void>;
  before(() => {
    overSqlite = survives((folder) => `file:${join(folder, 'data')}`);
    overSqlite.catch(() => {});
  });

  describe('over Redis', () => {
    let server: RedisServer;
    before(async function () {
      server = await redisOrSkip(this);
    });
    after(() => server?.[Symbol.asyncDispose]());
    it(TITLE, () => survives(() => server.url));
  });

  describe('over SQLite', () => {
    it(TITLE, () => overSqlite);
  });
});
