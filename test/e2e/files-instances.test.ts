import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import OpenAI, { toFile } from 'openai';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { S3Server } from '../support/s3/s3-server.ts';
import { type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-files-instances';
const LAKE = '# The lake\n\n## Depth\n\nThe lake is 1642 metres deep, says the canaryfish.\n';
/** Takes a while to index; its last line can be searched for. */
const LONG = `${Array.from({ length: 30_000 }, (_, n) => `Paragraph ${n} tells of quays, cranes and weather.`).join('\n\n')}\n\nThe deposit is 48 250 crowns.\n`;

describe('files of two instances over Redis and S3', () => {
  let redis: RedisServer;
  let s3: S3Server;
  let provider: ScriptedProvider;
  before(async function () {
    redis = await redisOrSkip(this);
    s3 = await S3Server.start();
    provider = await startScriptedProvider({
      respond: ({ body }) =>
        body.messages?.some(({ role }) => role === 'tool')
          ? turn({ text: 'It is 1642 metres deep [1].' })
          : turn({ toolCalls: [{ id: 'c1', name: 'file_search', arguments: '{"queries":["depth of the lake"]}' }] }),
    });
  });
  after(async () => {
    await provider?.[Symbol.asyncDispose]();
    await s3?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  const configOf = (folder: string) => ({
    server: { port: 0 },
    store: { url: redis.url },
    files: {
      url: `s3://${s3.bucket}/users`,
      endpoint: s3.endpoint,
      region: s3.region,
      access_key_id: s3.credentials.accessKeyId,
      secret_access_key: s3.credentials.secretAccessKey,
      index_folder: folder,
    },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
    models: { plain: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'scripted', model: 'm' }] } },
    keys: [{ id: 'ann', secret: KEY }],
  });
  // While a busy machine has not started an index, searches get a 503, which the client retries.
  const clientOf = ({ url }: GatewayProcess) => new OpenAI({ apiKey: KEY, baseURL: `${url}/v1`, maxRetries: 5 });
  const upload = async (client: OpenAI, name: string, text: string) =>
    (await client.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'assistants' })).id;

  it('can be found, cited and deleted through either, and indexing continues on one if the other is killed', async function () {
    // The files that the killed instance was indexing become free after half a minute.
    this.timeout(patience(90));
    await using folder = await gatewayFolder();
    const [placeA, placeB] = [join(folder.path, 'a'), join(folder.path, 'b')];
    await using stack = new AsyncDisposableStack();
    const start = async (place: string) =>
      stack.use(await startGatewayProcess(configOf(place), { folder: folder.path }));
    const [a, b] = await Promise.all([start(placeA), start(placeB)]);
    const [ann, bea] = [clientOf(a), clientOf(b)];

    const lake = await upload(ann, 'lake.md', LAKE);
    const { id: store } = await ann.vectorStores.create({ file_ids: [lake] });
    await until(async () => (await bea.vectorStores.retrieve(store)).status === 'completed' || undefined);
    const hitsOf = async (client: OpenAI, query: string) =>
      (await client.vectorStores.search(store, { query, max_num_results: 1 })).data;
    for (const client of [ann, bea]) assert.equal((await hitsOf(client, 'depth of the lake'))[0]?.file_id, lake);
    assert.equal(await (await bea.files.content(lake)).text(), LAKE);
    const answer = await bea.responses.create({
      model: 'plain',
      input: 'How deep is the lake?',
      tools: [{ type: 'file_search', vector_store_ids: [store] }],
    });
    assert.match(JSON.stringify(answer.output), new RegExp(`"file_id":"${lake}"`));

    // A is killed in the middle of writing its index.
    const long = await upload(ann, 'long.md', LONG);
    const batch = await ann.vectorStores.fileBatches.create(store, { file_ids: [long] });
    const indexOf = (place: string) => new DatabaseSync(join(place, `${store}.db`), { readOnly: true });
    {
      using index = indexOf(placeA);
      const half = index.prepare(`SELECT 1 FROM documents WHERE signature = ''`);
      await until(() => {
        // Stopped, it stays where it was found.
        a.child.kill('SIGSTOP');
        if (half.get()) return true;
        a.child.kill('SIGCONT');
        return undefined;
      });
    }
    await a.kill();
    await bea.files.delete(lake);
    assert.deepEqual(await hitsOf(bea, 'canaryfish'), []);
    const counts = async () =>
      (await bea.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: store })).file_counts;
    assert.equal((await counts()).in_progress, 1);
    await until(async () => (await counts()).in_progress === 0 || undefined);
    assert.equal((await counts()).completed, 1);
    assert.match((await hitsOf(bea, 'deposit crowns'))[0]?.content[0]?.text ?? '', /48 250/);

    // A comes back with half of one file in its index, and with another that was deleted meanwhile.
    const again = clientOf(await start(placeA));
    await until(async () => (await hitsOf(again, 'deposit crowns')).length > 0 || undefined);
    assert.deepEqual(await hitsOf(again, 'canaryfish'), []);
    await assert.rejects(again.files.retrieve(lake), { status: 404 });
    const passagesIn = (place: string) => {
      using index = indexOf(place);
      return index.prepare('SELECT count(*) AS count FROM chunks').get()?.count;
    };
    await until(() => passagesIn(placeA) === passagesIn(placeB) || undefined);
    assert.equal(s3.objects.size, 1);
    for (const place of [placeA, placeB]) {
      await until(async () => {
        const names = (await readdir(place)).filter((name) => name.startsWith(store));
        const texts = await Promise.all(names.map((name) => readFile(join(place, name), 'latin1')));
        return !texts.join('').includes('canaryfish') || undefined;
      });
    }
  });
});
