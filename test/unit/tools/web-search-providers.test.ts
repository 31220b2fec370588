import assert from 'node:assert/strict';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { createSearchProvider } from '../../../src/tools/web-search/create-provider.ts';
import { SearchFailure, type SearchFailureKind } from '../../../src/tools/web-search/search-provider.ts';
import {
  type ScriptedAnswer,
  type ScriptedRequest,
  shapes,
  startScriptedSearch,
} from '../../support/scripted-search.ts';

const KEY = 'canary-key-0123456789';

const FOUND = [
  {
    url: 'https://example.org/a',
    title: 'Heat &amp; <b>pumps</b>',
    snippet: 'A <strong>heat pump</strong> moves&nbsp;warmth &#39;in&#x27;.',
  },
  { url: 'javascript:alert(1)', title: 'Bad', snippet: 'x' },
  { url: 'https://example.org/b', title: '', snippet: 'if a < b and b > c' },
];

type Provider = 'searxng' | 'brave' | 'tavily' | 'serper';

const braveError = (status: number, code: string, meta = {}) => ({
  type: 'ErrorResponse',
  error: { id: 'x', status, code, detail: `Request rejected: ${KEY}`, meta },
  time: 1773685964,
});

const FAILURES: [
  provider: Provider,
  name: string,
  answer: ScriptedAnswer,
  kind: SearchFailureKind,
  retryAfterMs?: number,
][] = [
  ['searxng', 'JSON not enabled', { status: 403, body: '<!doctype html><title>403 Forbidden</title>' }, 'unauthorized'],
  ['searxng', 'its limiter', { status: 429, body: 'Too Many Requests' }, 'rate_limited'],
  ['searxng', 'HTML in a 200', { status: 200, body: '<html>login</html>' }, 'unavailable'],
  ['searxng', 'a 500', { status: 500, body: 'Internal Server Error' }, 'unavailable'],
  [
    'searxng',
    'engines that all refuse',
    {
      status: 200,
      body: shapes.searxng(
        [],
        [
          ['google', 'Suspended: CAPTCHA'],
          ['bing', 'too many requests'],
        ],
      ),
    },
    'rate_limited',
  ],
  [
    'searxng',
    'engines that all time out',
    { status: 200, body: shapes.searxng([], [['google', 'timeout']]) },
    'unavailable',
  ],
  [
    'brave',
    'its limit per second',
    {
      status: 429,
      headers: {
        'x-ratelimit-limit': '1, 2000',
        'x-ratelimit-remaining': '0, 1985',
        'x-ratelimit-reset': '1, 1419704',
      },
      body: braveError(429, 'RATE_LIMITED', {
        plan: 'Free',
        rate_limit: 1,
        rate_current: 1,
        quota_limit: 2000,
        quota_current: 15,
      }),
    },
    'rate_limited',
    1000,
  ],
  [
    'brave',
    'its limit per month',
    { status: 429, body: braveError(429, 'RATE_LIMITED', { plan: 'Free', quota_limit: 2000, quota_current: 2000 }) },
    'quota_exceeded',
  ],
  ['brave', 'a wrong key', { status: 422, body: braveError(422, 'SUBSCRIPTION_TOKEN_INVALID') }, 'unauthorized'],
  ['brave', 'a bad query', { status: 422, body: braveError(422, 'VALIDATION') }, 'rejected'],
  [
    'tavily',
    'a wrong key',
    { status: 401, body: { detail: { error: `Unauthorized: invalid API key ${KEY}` } } },
    'unauthorized',
  ],
  [
    'tavily',
    'too many requests',
    { status: 429, headers: { 'retry-after': '7' }, body: { detail: { error: 'blocked' } } },
    'rate_limited',
    7000,
  ],
  [
    'tavily',
    'the limit of its plan',
    { status: 432, body: { detail: { error: "exceeds your plan's set usage limit" } } },
    'quota_exceeded',
  ],
  ['tavily', 'the limit of pay-as-you-go', { status: 433, body: { detail: { error: 'limit' } } }, 'quota_exceeded'],
  ['tavily', 'a shape of its own', { status: 200, body: { result: [] } }, 'unavailable'],
  ['serper', 'a wrong key', { status: 403, body: { message: 'Unauthorized.', statusCode: 403 } }, 'unauthorized'],
  [
    'serper',
    'an empty account',
    { status: 400, body: { message: 'Not enough credits', statusCode: 400 } },
    'quota_exceeded',
  ],
  [
    'serper',
    'a bad query',
    { status: 400, body: { message: 'Query pattern not allowed', statusCode: 400 } },
    'rejected',
  ],
  [
    'serper',
    'too many requests',
    { status: 429, body: { message: 'Too many requests', statusCode: 429 } },
    'rate_limited',
  ],
  ['serper', 'an empty 200', { status: 200, body: {} }, 'unavailable'],
];

describe('search services', () => {
  let safeFetch: SafeFetch;
  before(() => {
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
  });
  after(() => safeFetch[Symbol.asyncDispose]());

  async function ask(
    provider: Provider,
    answer: ScriptedAnswer,
    filters = { allowedDomains: [] as string[], blockedDomains: [] as string[] },
  ) {
    await using service = await startScriptedSearch(() => answer);
    const search = createSearchProvider({ provider, url: service.origin, apiKey: KEY }, safeFetch);
    const found = search.search({ text: 'heat pump', limit: 10, filters }, { signal: new AbortController().signal });
    const settled = await Promise.allSettled([found]);
    const [request] = service.requests;
    assert.ok(request);
    return { settled: settled[0], request };
  }

  const providers: Provider[] = ['searxng', 'brave', 'tavily', 'serper'];
  for (const provider of providers) {
    it(`${provider}: reads its results, clean of markup and of addresses that are no pages`, async () => {
      const { settled } = await ask(provider, { status: 200, body: shapes[provider](FOUND) });
      assert.equal(settled.status, 'fulfilled');
      const { hits } = settled.value;
      assert.deepEqual(
        hits.map(({ url }) => url),
        ['https://example.org/a', 'https://example.org/b'],
      );
      assert.equal(hits[0]?.title, 'Heat & pumps');
      assert.ok(hits[0]?.snippet.startsWith("A heat pump moves warmth 'in'."), hits[0]?.snippet);
      assert.equal(hits[1]?.title, 'example.org');
      assert.ok(hits[1]?.snippet.startsWith('if a < b and b > c'), hits[1]?.snippet);
    });

    it(`${provider}: nothing found is an empty list`, async () => {
      const { settled } = await ask(provider, { status: 200, body: shapes[provider]([]) });
      assert.deepEqual(settled.status === 'fulfilled' && settled.value.hits, []);
    });
  }

  it('sends each service what it documents', async () => {
    const filters = { allowedDomains: ['a.test', 'b.test'], blockedDomains: ['c.test'] };
    const sent = async (provider: Provider): Promise<ScriptedRequest> =>
      (await ask(provider, { status: 200, body: shapes[provider](FOUND) }, filters)).request;
    const sites = 'heat pump (site:a.test OR site:b.test) -site:c.test';

    const searxng = await sent('searxng');
    assert.deepEqual([searxng.method, searxng.path], ['GET', '/search']);
    assert.equal(searxng.parameters.get('format'), 'json');
    assert.equal(searxng.parameters.get('q'), sites);

    const brave = await sent('brave');
    assert.deepEqual([brave.method, brave.path], ['GET', '/res/v1/web/search']);
    assert.equal(brave.headers['x-subscription-token'], KEY);
    assert.equal(brave.parameters.get('q'), sites);

    const tavily = await sent('tavily');
    assert.deepEqual([tavily.method, tavily.path], ['POST', '/search']);
    assert.equal(tavily.headers.authorization, `Bearer ${KEY}`);
    assert.deepEqual(tavily.json, {
      query: 'heat pump',
      max_results: 10,
      include_domains: ['a.test', 'b.test'],
      exclude_domains: ['c.test'],
    });

    const serper = await sent('serper');
    assert.deepEqual([serper.method, serper.path], ['POST', '/search']);
    assert.equal(serper.headers['x-api-key'], KEY);
    assert.deepEqual(serper.json, { q: sites, num: 10 });
  });

  for (const [provider, name, answer, kind, retryAfterMs] of FAILURES) {
    it(`${provider}: ${name} is a failure (${kind}), never an empty result`, async () => {
      const { settled } = await ask(provider, answer);
      assert.equal(settled.status, 'rejected');
      const failure: unknown = settled.reason;
      assert.ok(failure instanceof SearchFailure, String(failure));
      assert.equal(failure.kind, kind);
      assert.equal(failure.retryAfterMs, retryAfterMs);
      assert.ok(!failure.message.includes(KEY), failure.message);
    });
  }

  it('does not follow redirects with a key', async () => {
    const { settled } = await ask('serper', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' });
    assert.equal(settled.status, 'rejected');
  });

  it('says what is missing in the configuration', () => {
    assert.throws(() => createSearchProvider({ provider: 'brave' }, safeFetch), /brave needs api_key/);
    assert.throws(() => createSearchProvider({ provider: 'searxng' }, safeFetch), /searxng needs url/);
    assert.throws(() => createSearchProvider({ provider: 'local' }, safeFetch), /local needs folder/);
  });
});
