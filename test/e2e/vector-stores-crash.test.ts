import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { answerPart } from '../../src/protocol/items.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { type InterruptionTest, KILLED_KEY, testInterruptions } from '../support/killed-gateway.ts';
import { type ProviderRequest, stallAfter, turn } from '../support/scripted-provider.ts';
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

describe('vector stores after kill -9', () => {
  it('index a batch to its end, and can be searched on another machine', async function () {
    // A gateway is killed and comes back; the files it was indexing become free after half a minute.
    this.timeout(patience(90));
    await using folder = await gatewayFolder();
    const at = { storeUrl: `file:${join(folder.path, 'data')}`, folder: folder.path };
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

    // Another machine has none of the indexes.
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
  });
});

describe('a vector store whose files cannot be read for a while', () => {
  it('returns 503 on a machine without an index, instead of an empty result', async () => {
    await using folder = await gatewayFolder();
    const at = { storeUrl: `file:${join(folder.path, 'data')}`, folder: folder.path };
    const open = ({ url }: GatewayProcess, maxRetries = 0) =>
      new OpenAI({ apiKey: KILLED_KEY, baseURL: `${url}/v1`, maxRetries });
    await using one = await startGatewayProcess(configOf({ ...at, index: 'one' }), { folder: folder.path });
    const file = await toFile(Buffer.from('The lake is 1642 metres deep.'), 'lake.txt');
    const { id } = await open(one).vectorStores.create({});
    await open(one).vectorStores.files.uploadAndPoll(id, file, { pollIntervalMs: 20 });
    await one.kill();
    await using two = await startGatewayProcess(configOf({ ...at, index: 'two' }), { folder: folder.path });
    const search = (retries = 0) => open(two, retries).vectorStores.search(id, { query: 'lake' });
    // A file in place of the folder fails as a missing disk does.
    await rename(join(folder.path, 'files'), join(folder.path, 'away'));
    await writeFile(join(folder.path, 'files'), '');
    await assert.rejects(search(), (thrown) => thrown instanceof OpenAI.APIError && thrown.status === 503);
    await rm(join(folder.path, 'files'));
    await rename(join(folder.path, 'away'), join(folder.path, 'files'));
    // On a busy machine it is still indexed for a while, which is a 503 that says when to ask again.
    assert.equal((await search(20)).data[0]?.filename, 'lake.txt');
  });
});

/** Far more than a quarter of a context window, with the answer in the middle. */
const LONG = Array.from({ length: 6000 }, (_, n) =>
  n === 4321 ? '## Deposits\n\nThe deposit is 48 250 crowns.' : `Paragraph ${n} tells of quays and cranes.`,
).join('\n\n');
const toolResults = ({ body }: ProviderRequest) => body.messages?.filter(({ role }) => role === 'tool') ?? [];

/** Asks about a long document, and is killed in its answer or in the turn after its search. */
function askingLongFile(model: string, cutAt: 'answer' | 'turn'): InterruptionTest {
  const turns = (model === 'deep' ? 3 : 2) - (cutAt === 'turn' ? 1 : 0);
  const content = [
    { type: 'input_text', text: 'What is the deposit?' },
    { type: 'input_file', filename: 'harbour.md', file_data: Buffer.from(LONG).toString('base64') },
  ];
  return {
    seen: cutAt === 'answer' ? 'response.output_text.delta' : 'response.reasoning_text.delta',
    body: { model, input: [{ role: 'user', content }] },
    respond(request, n) {
      if (n === 0)
        return turn({ toolCalls: [{ id: 'c1', name: 'file_search', arguments: '{"queries":["deposit crowns"]}' }] });
      assert.match(JSON.stringify(toolResults(request)), /48 250 crowns/);
      const isAnswer = !request.body.tools?.length || request.body.tool_choice === 'none';
      if (n === turns - 1)
        return stallAfter(4, cutAt === 'answer' ? { text: 'The deposit is 48 250' } : { reasoning: 'one two three' });
      if (model === 'deep' && !isAnswer) return turn({ text: 'I am ready.' });
      return turn({
        text: n >= turns && cutAt === 'answer' ? ' 48 250 crowns [1].' : 'The deposit is 48 250 crowns [1].',
      });
    },
    check({ response, requests }) {
      assert.match(response.output_text, /^The deposit is 48 250 crowns/);
      const [annotation] = response.output.flatMap((item) =>
        item.type === 'message' ? (answerPart(item)?.annotations ?? []) : [],
      );
      assert.match(JSON.stringify(annotation), /harbour\.md/);
      // All later turns have the result of the first search, so there was only one.
      const searches = new Set(requests.slice(1).map((request) => JSON.stringify(toolResults(request))));
      assert.deepEqual([searches.size, toolResults(requests.at(-1) as ProviderRequest).length], [1, 1]);
      assert.ok(requests.length <= turns + 2, `${requests.length}`);
    },
  };
}

describe('a run with a long file, after kill -9', function () {
  // A gateway is killed and comes back; a claim has to run out.
  this.timeout(patience(60));
  testInterruptions(
    {
      storeUrl: (folder) => `file:${join(folder, 'data')}`,
      configOf: (provider, { storeUrl, folder }) => {
        const routes = [{ provider: 'scripted', model: 'm' }];
        return {
          ...configOf({ storeUrl, folder, index: 'index' }),
          providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
          models: {
            deep: { kind: 'research', routes, research: { plan: 'off' } },
            plain: { kind: 'proxy', apis: ['responses'], routes },
          },
        };
      },
    },
    {
      'continues in its answer, and searches once (research)': askingLongFile('deep', 'answer'),
      'continues in its answer, and searches once (plain)': askingLongFile('plain', 'answer'),
      'continues in the turn after its search, and searches once': askingLongFile('deep', 'turn'),
    },
  );
});
