import assert from 'node:assert/strict';
import { withTimeout } from '../../../src/base/abort.ts';
import type { JsonValue } from '../../../src/base/json.ts';
import type { ToolCache } from '../../../src/tools/tool-cache.ts';
import { canonicalUrl, mergeByRank } from '../../../src/tools/web-search/merge.ts';
import { ProviderGate } from '../../../src/tools/web-search/provider-gate.ts';
import {
  type SearchAnswer,
  SearchFailure,
  type SearchProvider,
  type SearchQuery,
} from '../../../src/tools/web-search/search-provider.ts';
import { createWebSearchTool } from '../../../src/tools/web-search/web-search.ts';
import { callTool, searchResults } from '../../support/tool-calls.ts';

const hit = (url: string, snippet = 'text') => ({ url, title: `Title of ${url}`, snippet });

interface Scripted extends SearchProvider {
  readonly asked: SearchQuery[];
}

/** A provider that answers each call by the script, whose last entry repeats. */
function scripted(name: string, ...script: (SearchAnswer | SearchFailure | 'silent')[]): Scripted {
  const asked: SearchQuery[] = [];
  return {
    name,
    cacheKey: name,
    asked,
    async search(query, { signal }) {
      asked.push(query);
      const answer = script[Math.min(asked.length, script.length) - 1];
      if (answer === 'silent') {
        const { promise, reject } = Promise.withResolvers<never>();
        signal.addEventListener('abort', () => reject(signal.reason));
        return await promise;
      }
      if (answer instanceof SearchFailure) throw answer;
      return answer ?? { hits: [] };
    },
  };
}

function memoryCache(): ToolCache & { entries: Map<string, { value: JsonValue; ttlMs: number }> } {
  const entries = new Map<string, { value: JsonValue; ttlMs: number }>();
  return {
    entries,
    get: async (key) => entries.get(key)?.value,
    set: async (key, value, ttlMs) => entries.set(key, { value, ttlMs }),
  };
}

const good = (name: string) => scripted(name, { hits: [hit(`https://${name}.test/`)] });
const limited = (retryAfterMs?: number) =>
  new SearchFailure('rate_limited', 'refuses more searches', retryAfterMs === undefined ? {} : { retryAfterMs });

describe('web_search: several providers', () => {
  for (const kind of ['rate_limited', 'quota_exceeded', 'unauthorized', 'rejected', 'unavailable'] as const) {
    it(`asks the next provider if one is ${kind}`, async () => {
      const tool = createWebSearchTool({
        providers: [scripted('first', new SearchFailure(kind, 'no')), good('second')],
      });
      assert.equal(searchResults(await callTool(tool, { queries: ['x'] }))[0]?.url, 'https://second.test/');
    });
  }

  it('asks a provider again some minutes after its quota was spent: an operator may have bought more', () => {
    let now = 0;
    const gate = new ProviderGate({ maxConcurrent: 1, now: () => now });
    gate.failed(new SearchFailure('quota_exceeded', 'has no searches left'));
    assert.notEqual(gate.closedForMs(), 0);
    now = 5 * 60_000;
    assert.equal(gate.closedForMs(), 0);
    gate.failed(new SearchFailure('quota_exceeded', 'has no searches left', { retryAfterMs: 3_600_000 }));
    assert.equal(gate.closedForMs(), 3_600_000, 'as long as it asked for');
  });

  it('asks the next provider if one does not answer in time', async () => {
    const tool = createWebSearchTool({
      providers: [scripted('first', 'silent'), good('second')],
      attemptTimeoutMs: 30,
    });
    assert.equal(searchResults(await callTool(tool, { queries: ['x'] }))[0]?.url, 'https://second.test/');
  });

  it('gives a provider the time that it needs, if that is longer than usual', async () => {
    const search = () => new Promise<SearchAnswer>((resolve) => void setTimeout(resolve, 30, { hits: [] }));
    const slow: SearchProvider = { name: 'slow', cacheKey: undefined, timeoutMs: 60_000, search };
    const tool = createWebSearchTool({ providers: [slow, good('second')], attemptTimeoutMs: 1 });
    assert.deepEqual(searchResults(await callTool(tool, { queries: ['x'] })), []);
  });

  it('does not ask a provider again that has no quota left', async () => {
    const first = scripted('first', new SearchFailure('quota_exceeded', 'has none left'));
    const tool = createWebSearchTool({ providers: [first, good('second')] });
    for (const query of ['a', 'b', 'c']) await callTool(tool, { queries: [query] });
    assert.equal(first.asked.length, 1);
  });

  it('keeps asking a provider that rejected queries and failed once', async () => {
    const rejected = new SearchFailure('rejected', 'rejects it');
    const first = scripted('first', rejected, rejected, new SearchFailure('unavailable', 'is down'), { hits: [] });
    const tool = createWebSearchTool({ providers: [first, good('second')] });
    for (const query of ['a', 'b', 'c', 'd']) await callTool(tool, { queries: [query] });
    assert.equal(first.asked.length, 4);
  });

  it('waits for the only provider if it asks for a short delay', async () => {
    const only = scripted('only', limited(30), { hits: [hit('https://late.test/')] });
    const tool = createWebSearchTool({ providers: [only] });
    assert.equal(searchResults(await callTool(tool, { queries: ['x'] }))[0]?.url, 'https://late.test/');
    assert.equal(only.asked.length, 2);
  });

  it('does not wait for a provider that asks for an hour', async () => {
    const only = scripted('only', limited(3_600_000));
    const tool = createWebSearchTool({ providers: [only] });
    await assert.rejects(callTool(tool, { queries: ['x'] }), {
      code: 'search_failed',
      message: /only refuses more searches/,
    });
    await assert.rejects(callTool(tool, { queries: ['y'] }), {
      code: 'search_failed',
      message: /left alone for 3600 s/,
    });
    assert.equal(only.asked.length, 1);
  });

  it('fails with every reason if all searches fail, else lists the failures beside the results', async () => {
    const broken = createWebSearchTool({
      providers: [
        scripted('one', new SearchFailure('unauthorized', 'does not accept the key')),
        scripted('two', new SearchFailure('unavailable', 'is down')),
      ],
    });
    await assert.rejects(callTool(broken, { queries: ['x', 'y'] }), {
      code: 'search_failed',
      message: /does not mean that there are no results.*one does not accept the key; two is down/,
    });
    const partly = createWebSearchTool({
      providers: [scripted('one', { hits: [hit('https://a.test/')] }, new SearchFailure('rejected', 'rejects it'))],
    });
    const { result } = await callTool(partly, { queries: ['x', 'y'] });
    assert.deepEqual(result.errors, [{ query: 'y', message: 'one rejects it' }]);
    assert.equal(Array.isArray(result.results) && result.results.length, 1);
  });

  it('gives what it has when its time is over, and says which queries found no answer', async () => {
    const slow = { ...scripted('slow', { hits: [hit('https://a.test/')] }, 'silent'), maxConcurrent: 1 };
    const tool = createWebSearchTool({ providers: [slow], timeoutMs: 500 });
    const inTime = (signal: AbortSignal) => callTool(tool, { queries: ['x', 'y', 'z'] }, { signal });
    const found = await withTimeout(tool.name, tool.timeoutMs, inTime);
    assert.equal(searchResults(found)[0]?.url, 'https://a.test/');
    assert.match(JSON.stringify(found.result.errors), /"query":"y".*"query":"z"/);
  });

  it('limits concurrent searches at a provider', async () => {
    let running = 0;
    let most = 0;
    const slow: SearchProvider = {
      name: 'slow',
      cacheKey: 'slow',
      maxConcurrent: 2,
      async search() {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return { hits: [hit('https://a.test/')] };
      },
    };
    const tool = createWebSearchTool({ providers: [slow] });
    await Promise.all([1, 2, 3].map((call) => callTool(tool, { queries: [`${call}a`, `${call}b`, `${call}c`] })));
    assert.equal(most, 2);
  });

  it('pauses between searches if a provider asks for it, without failures', async () => {
    const resting = scripted('resting', { hits: [hit('https://a.test/')], restMs: 20 });
    const tool = createWebSearchTool({ providers: [resting], maxConcurrent: 1 });
    const { result } = await callTool(tool, { queries: ['a', 'b', 'c', 'd'] });
    assert.equal(result.errors, undefined);
    assert.equal(resting.asked.length, 4);
  });

  it('caches answers for other calls, but no failures', async () => {
    const provider = scripted('p', new SearchFailure('rejected', 'no'), { hits: [hit('https://a.test/')] });
    const store = memoryCache();
    const tool = createWebSearchTool({ providers: [provider], cache: { store, ttlMs: 5000 } });
    await assert.rejects(callTool(tool, { queries: ['x'] }));
    assert.equal(store.entries.size, 0);
    await callTool(tool, { queries: ['x'] });
    await callTool(tool, { queries: ['X'] });
    assert.equal(provider.asked.length, 2);
    assert.deepEqual(
      [...store.entries.values()].map(({ ttlMs }) => ttlMs),
      [5000],
    );
    await callTool(tool.forRun({ allowedDomains: ['a.test'] }), { queries: ['x'] });
    assert.equal(provider.asked.length, 3, 'other filters are another question');
  });

  it('shares private answers only within a run', async () => {
    const provider = scripted('p', { hits: [hit('https://a.test/')], private: true });
    const store = memoryCache();
    const tool = createWebSearchTool({ providers: [provider], cache: { store, ttlMs: 5000 } });
    const run = tool.forRun({ allowedDomains: [] });
    for (const some of [run, run, tool.forRun({ allowedDomains: [] })]) {
      const { result } = await callTool(some, { queries: ['x'] });
      assert.equal(Array.isArray(result.results) && result.results.length, 1);
    }
    assert.equal(provider.asked.length, 2);
    assert.equal(store.entries.size, 0);
  });

  it('halves or doubles the results by context size, and passes on the country', async () => {
    const hits = Array.from({ length: 40 }, (_, at) => hit(`https://a.test/${at}`));
    const provider = scripted('p', { hits });
    const tool = createWebSearchTool({ providers: [provider], maxResults: 8 });
    for (const [contextSize, shown] of [
      ['low', 4],
      ['medium', 8],
      ['high', 16],
      [undefined, 8],
    ] as const) {
      const run = tool.forRun({ allowedDomains: [], contextSize, country: 'AT' });
      const { result } = await callTool(run, { queries: [`for ${contextSize}`] });
      assert.equal(Array.isArray(result.results) && result.results.length, shown);
      assert.deepEqual([provider.asked.at(-1)?.limit, provider.asked.at(-1)?.country], [shown * 2, 'AT']);
    }
  });

  it('searches even if the cache is down or holds nonsense', async () => {
    const down: ToolCache = {
      get: () => Promise.reject(new Error('down')),
      set: () => Promise.reject(new Error('down')),
    };
    const odd: ToolCache = { get: async () => ['nonsense'], set: async () => {} };
    for (const store of [down, odd]) {
      const tool = createWebSearchTool({ providers: [good('p')], cache: { store, ttlMs: 1 } });
      assert.equal(searchResults(await callTool(tool, { queries: ['x'] })).length, 1);
    }
  });

  it('shows only domains that the operator and the request allow', async () => {
    const urls = [
      'https://a.test/',
      'https://www.a.test/x',
      'https://b.test/',
      'https://evil.b.test/',
      'https://nota.test/',
    ];
    const provider = scripted('p', { hits: urls.map((url) => hit(url)) });
    const tool = createWebSearchTool({
      providers: [provider],
      filters: { allowedDomains: ['a.test', 'b.test'], blockedDomains: ['evil.b.test'] },
    });
    const found = async (some: typeof tool | ReturnType<typeof tool.forRun>) =>
      searchResults(await callTool(some, { queries: [String(Math.random())] })).map(({ url }) => url);
    assert.deepEqual(await found(tool), urls.slice(0, 3));
    const narrowed = tool.forRun({ allowedDomains: ['b.test', 'other.test'] });
    assert.deepEqual(await found(narrowed), ['https://b.test/']);
    assert.deepEqual(provider.asked.at(-1)?.filters.blockedDomains, ['evil.b.test']);
  });

  it('says how many queries were left out', async () => {
    const provider = good('p');
    const { result } = await callTool(createWebSearchTool({ providers: [provider] }), { queries: [...'abcdefghij'] });
    assert.equal(provider.asked.length, 8);
    assert.match(String(result.note), /first 8 queries/);
  });

  it('ends at once when cancelled while waiting for a place, a delay or an answer', async () => {
    const cases: [SearchProvider, number][] = [
      [scripted('silent', 'silent'), 1],
      [scripted('patience', limited(9000)), 1],
    ];
    for (const [provider, maxConcurrent] of cases) {
      const controller = new AbortController();
      const reason = new Error('cancelled');
      const tool = createWebSearchTool({ providers: [provider], maxConcurrent, attemptTimeoutMs: 60_000 });
      const call = callTool(tool, { queries: ['a', 'b'] }, { signal: controller.signal });
      await new Promise(setImmediate);
      controller.abort(reason);
      await assert.rejects(call, reason);
    }
  });
});

describe('web_search: merging', () => {
  const same: [string, string][] = [
    ['https://example.org', 'https://example.org/'],
    ['http://example.org/a', 'https://www.example.org/a/'],
    ['https://EXAMPLE.org:443/a#part', 'https://example.org/a'],
    ['https://example.org/a?utm_source=x&id=1', 'https://example.org/a?id=1&fbclid=2'],
    ['https://example.org/a?b=1&a=2', 'https://example.org/a?a=2&b=1'],
    ['https://example.org/index.html', 'https://example.org/'],
    ['https://m.example.org/a', 'https://example.org/a'],
  ];
  for (const [one, other] of same) {
    it(`treats ${one} and ${other} as the same page`, () => assert.equal(canonicalUrl(one), canonicalUrl(other)));
  }
  const different: [string, string][] = [
    ['https://example.org/a?id=1', 'https://example.org/a?id=2'],
    ['https://example.org/a', 'https://example.org/A'],
    ['https://a.example.org/', 'https://example.org/'],
    ['corpus:///a.md', 'corpus:///b.md'],
  ];
  for (const [one, other] of different) {
    it(`treats ${one} and ${other} as different pages`, () => assert.notEqual(canonicalUrl(one), canonicalUrl(other)));
  }

  it('ranks first what several queries found, and keeps the URL of its best position', () => {
    const merged = mergeByRank(
      [
        [hit('https://a.test/'), hit('https://both.test/?utm_source=x')],
        [hit('https://b.test/'), hit('https://c.test/'), hit('https://both.test/')],
      ],
      3,
    );
    assert.deepEqual(
      merged.map(({ url }) => url),
      ['https://both.test/?utm_source=x', 'https://a.test/', 'https://b.test/'],
    );
  });
});

describe('web_search: filters of a call', () => {
  const NOW = Date.UTC(2024, 2, 26, 12);
  const found = {
    hits: [
      { ...hit('https://a.test/new'), published: '2024-03-22' },
      { ...hit('https://docs.a.test/old'), published: '2023-11-02' },
      hit('https://a.test/undated'),
      { ...hit('https://b.test/new'), published: '2024-03-25' },
    ],
  };

  it('shows publication dates to the model and in the sources', async () => {
    const tool = createWebSearchTool({ providers: [scripted('one', found)], now: () => NOW });
    const { output, result } = await callTool(tool, { queries: ['x'] });
    assert.deepEqual(
      output.sources.map(({ published }) => published),
      ['2024-03-22', '2023-11-02', undefined, '2024-03-25'],
    );
    assert.deepEqual(Array.isArray(result.results) && result.results[0], {
      title: 'Title of https://a.test/new',
      url: 'https://a.test/new',
      snippet: 'text',
      published: '2024-03-22',
      source_id: 1,
    });
  });

  it('passes on the time range, and drops results known to be older', async () => {
    const one = scripted('one', found);
    const tool = createWebSearchTool({ providers: [one], now: () => NOW });
    for (const range of ['week', 'past_week', 'w', 'Last week']) {
      const results = searchResults(await callTool(tool, { queries: ['x'], time_range: range }));
      assert.deepEqual(
        results.map(({ url }) => url),
        ['https://a.test/new', 'https://a.test/undated', 'https://b.test/new'],
      );
      assert.equal(one.asked.at(-1)?.timeRange, 'week');
    }
    assert.equal(searchResults(await callTool(tool, { queries: ['x'], time_range: '' })).length, 4);
    await assert.rejects(callTool(tool, { queries: ['x'], time_range: 'decade' }), {
      code: 'invalid_arguments',
      message: /time_range must be one of day, week, month, year/,
    });
  });

  it('is limited to the given sites, within the allowed ones', async () => {
    const one = scripted('one', found);
    const filters = { allowedDomains: ['a.test'], blockedDomains: ['docs.a.test'] };
    const open = createWebSearchTool({ providers: [one], now: () => NOW });
    for (const site of ['a.test', 'https://a.test/page', 'site:a.test', '*.A.test']) {
      const urls = searchResults(await callTool(open, { queries: ['x'], sites: [site] })).map(({ url }) => url);
      assert.deepEqual(urls, ['https://a.test/new', 'https://docs.a.test/old', 'https://a.test/undated']);
      assert.deepEqual(one.asked.at(-1)?.filters.allowedDomains, ['a.test']);
    }
    const narrow = createWebSearchTool({ providers: [one], filters, now: () => NOW });
    const called = await callTool(narrow, { queries: ['x'], sites: ['docs.a.test', 'b.test'] });
    assert.deepEqual(called.result.results, []);
    assert.match(String(called.result.note), /no time_range and sites/);
    await assert.rejects(callTool(open, { queries: ['x'], sites: ['not a host" OR site:b.test'] }), {
      code: 'invalid_arguments',
      message: /sites must be host names/,
    });
  });

  it('asks only for sites that all lists allow, and for none if there are none', async () => {
    const one = scripted('one', found);
    const filters = { allowedDomains: ['docs.a.test', 'b.test'], blockedDomains: [] };
    const tool = createWebSearchTool({ providers: [one], filters, now: () => NOW });
    await callTool(tool, { queries: ['x'], sites: ['a.test'] });
    assert.deepEqual(
      one.asked.map((query) => query.filters.allowedDomains),
      [['docs.a.test']],
    );
    const none = await callTool(tool, { queries: ['x'], sites: ['c.test'] });
    assert.match(String(none.result.note), /^No results/);
    assert.equal(one.asked.length, 1);
  });

  it('keeps results of which only the year or no readable date is known', async () => {
    const dates = ['2024', '12.5.24', '2022'];
    const hits = dates.map((published) => ({ ...hit(`https://a.test/${published}`), published }));
    const tool = createWebSearchTool({ providers: [scripted('one', { hits })], now: () => NOW });
    const results = searchResults(await callTool(tool, { queries: ['x'], time_range: 'month' }));
    assert.deepEqual(
      results.map(({ url }) => url),
      ['https://a.test/2024', 'https://a.test/12.5.24'],
    );
  });

  it('cuts no character of a long query in half', async () => {
    const one = scripted('one', found);
    await callTool(createWebSearchTool({ providers: [one] }), { queries: [`x${'🌊'.repeat(300)}`] });
    assert.ok(one.asked[0]?.text.isWellFormed());
  });

  it('does not use the cached answer for another time range', async () => {
    const one = scripted('one', found);
    const tool = createWebSearchTool({
      providers: [one],
      now: () => NOW,
      cache: { store: memoryCache(), ttlMs: 1000 },
    });
    for (const time_range of ['week', 'month', 'week']) await callTool(tool, { queries: ['x'], time_range });
    assert.deepEqual(
      one.asked.map(({ timeRange }) => timeRange),
      ['week', 'month'],
    );
  });
});
