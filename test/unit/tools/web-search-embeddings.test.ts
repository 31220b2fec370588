import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import type { Logger } from '../../../src/base/logger.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { runInTrace } from '../../../src/base/telemetry/trace-context.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { createConfiguredSearch } from '../../../src/tools/web-search/configured-search.ts';
import { fuseByRank } from '../../../src/tools/web-search/local/ranking.ts';
import { mayBeRefusal } from '../../../src/upstream/embeddings.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { callTool, searchResults } from '../../support/tool-calls.ts';
import { startWebServer } from '../../support/web-server.ts';

/** Words that the scripted model treats as synonyms; each line is one direction of its vectors. */
const MEANINGS = [
  ['physician', 'doctor', 'surgeon'],
  ['car', 'automobile', 'vehicle'],
  ['bread', 'loaf', 'baker'],
  ['storm', 'hurricane', 'gale'],
];

function embeddingOf(text: string): number[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  return [...MEANINGS.map((same) => words.filter((word) => same.includes(word)).length + 0.01), 0.02, 0, 0, 0];
}

const FILES = {
  'medicine.md': '# Medicine\n\nThe surgeon works at night.',
  'roads.md': '# Roads\n\nAn automobile stands in the yard.',
  'food.md': '# Food\n\nThe baker sells what she made.',
};

/** A provider of embeddings that can be made to fail. */
async function startEmbeddings() {
  const asked: string[][] = [];
  const traces: [text: string | undefined, trace: unknown][] = [];
  const state = { status: 200, base64: false, refuses: '', refusal: 400 };
  const server = await startWebServer(async (request, response) => {
    const { input, model }: { input: string[]; model: string } = JSON.parse(await readText(request));
    assert.equal(request.headers.authorization, 'Bearer key-of-provider');
    assert.equal(model, 'meaning-1');
    asked.push(input);
    traces.push([input[0], request.headers.traceparent]);
    const isRefused = state.refuses !== '' && input.some((each) => each.includes(state.refuses));
    response.writeHead(isRefused ? state.refusal : state.status, {
      'content-type': 'application/json',
      'retry-after-ms': '1',
    });
    const data = input.map((each, index) => {
      const vector = embeddingOf(each);
      const embedding = state.base64 ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
      return { object: 'embedding', index, embedding };
    });
    response.end(JSON.stringify({ object: 'list', data: data.reverse(), model }));
  });
  return { server, asked, traces, state, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('the local search with embeddings', () => {
  let folder: string;
  let indexFolder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    indexFolder = await mkdtemp(join(tmpdir(), 'index-'));
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
    await rm(indexFolder, { recursive: true });
  });

  async function open(origin: string, options: { log?: Logger } = {}) {
    const resources = new AsyncDisposableStack();
    const config = configSchema.parse({
      providers: { meaning: { base_url: `${origin}/v1`, api_key: 'key-of-provider', max_retries: 0 } },
      models: {},
      keys: [{ id: 'k', secret: 'secret-1' }],
      tools: {
        web_search: {
          provider: 'local',
          folder,
          index_folder: indexFolder,
          embeddings: { routes: [{ provider: 'meaning', model: 'meaning-1' }] },
        },
      },
    });
    const upstream = resources.use(createUpstream(config.providers, { log: silentLogger }));
    const observed: string[] = [];
    const tool = resources.use(
      createConfiguredSearch(config.tools.web_search, {
        cache: { get: async () => undefined, set: async () => {} },
        log: options.log ?? silentLogger,
        embeddings: {
          embed: (request, call) => upstream.embed(request, call),
          mayBeRefusal,
          observe: (purpose, outcome) => observed.push(`${purpose} ${outcome}`),
        },
      }),
    );
    const find = async (query: string) =>
      searchResults(await callTool(tool, { queries: [query] })).map(({ url }) => url);
    return { tool, find, observed, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  }

  for (const base64 of [false, true]) {
    it(`finds texts that say the same in other words (${base64 ? 'base64' : 'numbers'})`, async () => {
      await using provider = await startEmbeddings();
      provider.state.base64 = base64;
      await using search = await open(provider.server.origin);
      await eventually('what is embedded', async () => (await search.find('physician'))[0] === 'corpus:///medicine.md');
      assert.deepEqual((await search.find('which vehicle'))[0], 'corpus:///roads.md');
      // Matching words still count.
      assert.equal((await search.find('baker'))[0], 'corpus:///food.md');
      assert.ok(search.observed.includes('query ok'));
    });
  }

  it("sends a run's trace with query embeddings, but not with document embeddings", async () => {
    await using provider = await startEmbeddings();
    await using search = await open(provider.server.origin);
    await eventually('what is embedded', async () => (await search.find('physician')).length > 0);
    const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    await runInTrace(trace, () => callTool(search.tool, { queries: ['which vehicle'] }));
    const sent = provider.traces.map(([text, traceparent]) => traceparent && [text, traceparent]).filter(Boolean);
    assert.deepEqual(sent, [['which vehicle', trace.traceparent]]);
  });

  it('embeds a document once across restarts, and again when it changes', async () => {
    await using provider = await startEmbeddings();
    {
      await using first = await open(provider.server.origin);
      await eventually('what is embedded', async () => (await first.find('physician')).length > 0);
    }
    const documents = () => provider.asked.flat().filter((text) => text.includes('\n'));
    assert.equal(documents().length, 3);
    await writeFile(join(folder, 'food.md'), '# Food\n\nA hurricane took the shop.');
    await using second = await open(provider.server.origin);
    await eventually('what is embedded', async () => (await second.find('storm'))[0] === 'corpus:///food.md');
    assert.equal(documents().length, 4);
  });

  it('searches by words alone while the provider fails, and logs and counts that', async () => {
    await using provider = await startEmbeddings();
    const lines: string[] = [];
    const log: Logger = { ...silentLogger, warn: (...args: unknown[]) => void lines.push(String(args.at(-1))) };
    await using search = await open(provider.server.origin, { log });
    await eventually('what is embedded', async () => (await search.find('physician')).length > 0);
    provider.state.status = 401;
    assert.deepEqual(await search.find('surgeon'), ['corpus:///medicine.md']);
    assert.deepEqual(await search.find('doctor'), []);
    assert.ok(search.observed.includes('query failed'));
    assert.match(lines.join('\n'), /words alone/);
    assert.doesNotMatch(lines.join('\n'), /key-of-provider/);
  });

  it('gives up a passage that the model refuses, but not its neighbours', async () => {
    await using provider = await startEmbeddings();
    provider.state.refuses = 'baker';
    await using search = await open(provider.server.origin);
    await eventually('what is embedded', async () => (await search.find('physician')).length > 0);
    assert.deepEqual(await search.find('loaf'), []);
    assert.equal((await search.find('baker'))[0], 'corpus:///food.md');
  });

  it('gives up any number of passages in a row that the model refuses', async () => {
    await using provider = await startEmbeddings();
    provider.state.refuses = 'baker';
    for (const name of ['a.md', 'b.md', 'c.md', 'd.md']) await writeFile(join(folder, name), 'Another baker.');
    await using search = await open(provider.server.origin);
    await eventually('what is embedded', async () => (await search.find('physician')).length > 0);
  });

  for (const [what, failing, working] of [
    ['limited it', { refuses: 'baker', refusal: 429 }, { refuses: '' }],
    ['was away', { status: 503 }, { status: 200 }],
  ] as const) {
    it(`embeds a passage later if the provider ${what} for a while`, async () => {
      await using provider = await startEmbeddings();
      Object.assign(provider.state, failing);
      await using search = await open(provider.server.origin);
      await search.find('physician');
      // Queries that fail meanwhile would make the pause longer.
      await eventually('what is embedded', async () => provider.asked.some(({ length }) => length === 1));
      Object.assign(provider.state, working);
      await eventually('what is embedded', async () => (await search.find('loaf'))[0] === 'corpus:///food.md');
    });
  }
});

describe('fuseByRank', () => {
  it('ranks documents by their positions in all lists', () => {
    const fused = (...lists: string[][]) => fuseByRank(lists, { nameOf: (name) => name });
    assert.deepEqual(fused(['a', 'b'], ['b', 'c']), ['b', 'a', 'c']);
    assert.deepEqual(fused(['a'], []), ['a']);
  });
});
