import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonValue } from '../../../src/base/json.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { corpusFolder, createConfiguredSearch } from '../../../src/tools/web-search/configured-search.ts';
import { shapes, startScriptedSearch } from '../../support/scripted-search.ts';
import { callTool, searchResults } from '../../support/tool-calls.ts';

const FOUND = [{ url: 'https://example.org/a', title: 'A', snippet: 'text' }];

function searchConfig(given: unknown) {
  const config = {
    providers: { demo: { builtin: 'demo' } },
    models: {},
    keys: [{ id: 'k', user: 'k', secret: 'secret-1' }],
  };
  return configSchema.parse({ ...config, tools: { web_search: given } }).tools.web_search;
}

function cacheOf(entries: Map<string, JsonValue>) {
  return {
    get: async (key: string) => entries.get(key),
    set: async (key: string, value: JsonValue) => entries.set(key, value),
  };
}

describe('web_search as configured', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    await writeFile(join(folder, 'pumps.md'), '# Heat pumps\n\nThey move warmth.');
  });
  after(() => rm(folder, { recursive: true }));

  it('falls back in configured order, from a failing service to the local folder', async () => {
    await using down = await startScriptedSearch(() => ({ status: 503, body: 'down' }));
    const config = searchConfig({ provider: 'searxng', url: down.origin, fallbacks: [{ provider: 'local', folder }] });
    assert.equal(corpusFolder(config), folder);
    await using tool = createConfiguredSearch(config, { cache: cacheOf(new Map()) });
    const found = searchResults(await callTool(tool, { queries: ['heat pumps'] }));
    assert.deepEqual(
      found.map(({ url }) => url),
      ['corpus:///pumps.md'],
    );
    assert.equal(down.requests.length, 1);
  });

  it('asks a service once for the same query, unless the cache is off', async () => {
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.tavily(FOUND) }));
    for (const [cacheMinutes, expected] of [
      [60, 1],
      [0, 2],
    ] as const) {
      service.requests.length = 0;
      const config = searchConfig({
        provider: 'tavily',
        url: service.origin,
        api_key: 'key-123456',
        cache_minutes: cacheMinutes,
      });
      const cache = cacheOf(new Map());
      await using tool = createConfiguredSearch(config, { cache });
      for (let call = 0; call < 2; call++) await callTool(tool, { queries: ['heat pumps'] });
      assert.equal(service.requests.length, expected);
    }
  });

  it('does not reuse results of the same service at another address, engine or language', async () => {
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(FOUND) }));
    await using other = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(FOUND) }));
    const cache = cacheOf(new Map());
    const search = async (given: object) => {
      await using tool = createConfiguredSearch(searchConfig({ provider: 'searxng', ...given }), { cache });
      await callTool(tool, { queries: ['heat pumps'] });
    };
    await search({ url: service.origin });
    await search({ url: service.origin, language: 'de' });
    await search({ url: service.origin, engines: ['duckduckgo'] });
    await search({ url: other.origin });
    assert.deepEqual([service.requests.length, other.requests.length], [3, 1]);
    await search({ url: other.origin, api_key: 'key-of-a-new-month' });
    assert.equal(other.requests.length, 1, 'the credential does not matter');
  });

  it('tells the note about results again when they come from the cache', async () => {
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(FOUND) }));
    const config = searchConfig({ provider: 'searxng', url: service.origin });
    await using tool = createConfiguredSearch(config, { cache: cacheOf(new Map()) });
    for (const call of [1, 2]) {
      const { result } = await callTool(tool, { queries: ['heat pumps'], time_range: 'week' });
      assert.match(String(result.note), /cannot search the past week alone/, `call ${call}`);
    }
    assert.equal(service.requests.length, 1);
  });

  it('never caches the local folder', async () => {
    const entries = new Map<string, JsonValue>();
    await using tool = createConfiguredSearch(searchConfig({ provider: 'local', folder }), { cache: cacheOf(entries) });
    await callTool(tool, { queries: ['heat pumps'] });
    assert.equal(entries.size, 0);
  });

  it('applies the configured allow and deny lists', async () => {
    const found = ['https://a.test/', 'https://b.a.test/', 'https://c.test/'].map((url) => ({
      url,
      title: 't',
      snippet: 's',
    }));
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.serper(found) }));
    const config = searchConfig({
      provider: 'serper',
      url: service.origin,
      api_key: 'key-123456',
      allow_domains: ['a.test'],
      deny_domains: ['b.a.test'],
    });
    await using tool = createConfiguredSearch(config, { cache: cacheOf(new Map()) });
    assert.deepEqual(
      searchResults(await callTool(tool, { queries: ['x'] })).map(({ url }) => url),
      ['https://a.test/'],
    );
  });
});
