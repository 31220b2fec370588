import assert from 'node:assert/strict';
import { z } from 'zod';
import { SEARCH_PROVIDER_NAMES } from '../../../src/config/search-providers.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { createSearchProvider } from '../../../src/tools/web-search/create-provider.ts';
import {
  SearchFailure,
  type SearchFailureKind,
  type SearchQuery,
} from '../../../src/tools/web-search/search-provider.ts';
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
  { url: 'https://bank.example@evil.example/', title: 'Bad', snippet: 'x' },
  { url: 'https://example.org/b', title: '', snippet: 'if a < b and b > c' },
];

type Provider = keyof typeof shapes;
/** Tuesday, 26 March 2024. */
const NOW = Date.UTC(2024, 2, 26, 12);

const braveError = (status: number, code: string, meta = {}) => ({
  type: 'ErrorResponse',
  error: { id: 'x', status, code, detail: `Request rejected: ${KEY}`, meta },
  time: 1773685964,
});

const kagiError = (code: string, message: string) => ({
  meta: { trace: '69c3f5c4168f66b860e951c585550f1c', node: 'us-central1', ms: 213 },
  data: null,
  error: [{ code, url: `https://help.kagi.com/api/errors#${code}`, message, location: null }],
});

const FAILURES: [
  provider: Provider,
  name: string,
  answer: ScriptedAnswer,
  kind: SearchFailureKind,
  retryAfterMs?: number,
][] = [
  [
    'searxng',
    'a 403 because JSON is not enabled',
    { status: 403, body: '<!doctype html><title>403 Forbidden</title>' },
    'unauthorized',
  ],
  ['searxng', 'its rate limiter', { status: 429, body: 'Too Many Requests' }, 'rate_limited'],
  ['searxng', 'HTML in a 200', { status: 200, body: '<html>login</html>' }, 'unavailable'],
  ['searxng', 'a 500', { status: 500, body: 'Internal Server Error' }, 'unavailable'],
  [
    'searxng',
    'refusals of all engines',
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
    'timeouts of all engines',
    { status: 200, body: shapes.searxng([], [['google', 'timeout']]) },
    'unavailable',
  ],
  [
    'brave',
    'its per-second limit',
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
    'its monthly limit',
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
  ...['0', '-5', 'Tue, 05 Mar 2024 08:00:00 GMT'].map((wait): (typeof FAILURES)[number] => [
    'tavily',
    `too many requests, with a wait of ${wait}`,
    { status: 429, headers: { 'retry-after': wait }, body: { detail: { error: 'blocked' } } },
    'rate_limited',
  ]),
  [
    'tavily',
    'the limit of the plan',
    { status: 432, body: { detail: { error: "exceeds your plan's set usage limit" } } },
    'quota_exceeded',
  ],
  ['tavily', 'the pay-as-you-go limit', { status: 433, body: { detail: { error: 'limit' } } }, 'quota_exceeded'],
  ['tavily', 'an unknown response shape', { status: 200, body: { result: [] } }, 'unavailable'],
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
  [
    'exa',
    'a wrong key',
    { status: 401, body: { requestId: 'x', error: `Invalid API key ${KEY}`, tag: 'INVALID_API_KEY' } },
    'unauthorized',
  ],
  [
    'exa',
    'an empty account',
    { status: 402, body: { requestId: 'x', error: 'No more credits', tag: 'NO_MORE_CREDITS' } },
    'quota_exceeded',
  ],
  [
    'exa',
    'too many requests',
    { status: 429, headers: { 'retry-after': '3' }, body: { error: 'You have exceeded your rate limit' } },
    'rate_limited',
    3000,
  ],
  ['exa', 'an unknown response shape', { status: 200, body: { autopromptString: 'x' } }, 'unavailable'],
  [
    'google',
    'a wrong key',
    {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          errors: [{ message: 'API key not valid.', domain: 'global', reason: 'badRequest' }],
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    },
    'unauthorized',
  ],
  [
    'google',
    'a bad query',
    { status: 400, body: { error: { code: 400, message: 'Invalid Value', errors: [{ reason: 'invalid' }] } } },
    'rejected',
  ],
  [
    'google',
    'the daily limit',
    {
      status: 429,
      body: { error: { code: 429, message: 'Quota exceeded', errors: [{ reason: 'dailyLimitExceeded' }] } },
    },
    'quota_exceeded',
  ],
  [
    'google',
    'the per-minute limit',
    {
      status: 429,
      body: { error: { code: 429, message: 'Quota exceeded', errors: [{ reason: 'rateLimitExceeded' }] } },
    },
    'rate_limited',
  ],
  [
    'jina',
    'a wrong key',
    {
      status: 401,
      body: { data: null, code: 401, name: 'AuthenticationFailedError', status: 40101, message: `Invalid ${KEY}` },
    },
    'unauthorized',
  ],
  [
    'jina',
    'an empty account',
    { status: 402, body: { data: null, code: 402, name: 'InsufficientBalanceError', message: 'Balance not enough' } },
    'quota_exceeded',
  ],
  ['jina', 'too many requests', { status: 429, body: { code: 429, name: 'RateLimitTriggeredError' } }, 'rate_limited'],
  ['kagi', 'a wrong key', { status: 401, body: kagiError('2', `Unauthorized ${KEY}`) }, 'unauthorized'],
  ['kagi', 'a forbidden client address', { status: 403, body: kagiError('3', 'Forbidden') }, 'unauthorized'],
  ['kagi', 'a bad query', { status: 400, body: kagiError('search.invalid', 'query is empty') }, 'rejected'],
  ['kagi', 'too many requests', { status: 429, body: kagiError('4', 'Rate limited') }, 'rate_limited'],
  ['kagi', 'an exhausted limit', { status: 429, body: kagiError('4', 'Usage limit exhausted') }, 'quota_exceeded'],
  [
    'kagi',
    'an empty account, in a 200',
    { status: 200, body: { meta: {}, data: null, error: [{ code: 101, msg: 'Insufficient credit', ref: null }] } },
    'quota_exceeded',
  ],
  ['kagi', 'an unknown response shape', { status: 200, body: { meta: {}, data: [{ t: 0 }] } }, 'unavailable'],
  ['you', 'a wrong key', { status: 403, body: { detail: `Invalid key ${KEY}` } }, 'unauthorized'],
  ['you', 'too many requests', { status: 429, body: { detail: 'Too many requests' } }, 'rate_limited'],
  ['you', 'an empty account', { status: 402, body: { message: 'Free quota exceeded' } }, 'quota_exceeded'],
];

describe('search services', () => {
  let safeFetch: SafeFetch;
  before(() => {
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
  });
  after(() => safeFetch[Symbol.asyncDispose]());

  async function ask(provider: Provider, answer: ScriptedAnswer, query: Partial<SearchQuery> = {}) {
    await using service = await startScriptedSearch(() => answer);
    const backend = { provider, url: service.origin, api_key: KEY, engine_id: 'engine-1' };
    await using search = createSearchProvider(backend, { fetch: safeFetch.fetch, now: () => NOW });
    const filters = { allowedDomains: [], blockedDomains: [] };
    const { signal } = new AbortController();
    const found = search.search({ text: 'heat pump', limit: 10, filters, ...query }, { signal });
    const settled = await Promise.allSettled([found]);
    const [request] = service.requests;
    assert.ok(request);
    return { settled: settled[0], request };
  }

  for (const [provider, body] of [
    ['brave', { web: { results: [{ title: 'A', url: 'https://a.example/', description: 'b' }] } }],
    ['google', { items: [{ title: 'A', link: 'https://a.example/', snippet: 'b' }] }],
    ['serper', { organic: [{ title: 'A', link: 'https://a.example/', snippet: 'b' }] }],
  ] as const) {
    it(`need no more than results: ${provider}`, async () => {
      const { settled } = await ask(provider, { status: 200, body });
      assert.equal(settled.status, 'fulfilled');
      assert.equal(settled.value.hits[0]?.url, 'https://a.example/');
    });
  }

  const isScripted = (name: string): name is Provider => Object.hasOwn(shapes, name);
  const providers = SEARCH_PROVIDER_NAMES.filter((name) => name !== 'local').filter(isScripted);

  it('are all scripted here', () => {
    assert.deepEqual(
      SEARCH_PROVIDER_NAMES.filter((name) => !isScripted(name)),
      ['local'],
    );
  });

  for (const provider of providers) {
    it(`${provider}: reads results without markup, and drops URLs that are no pages`, async () => {
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

    it(`${provider}: hides a key that the service echoes`, async () => {
      const found = [
        { url: `https://example.org/?k=${KEY}`, title: `A ${KEY}`, snippet: KEY.replace('c', '\\u0063'), date: '' },
      ];
      const { settled } = await ask(provider, { status: 200, body: shapes[provider](found) });
      assert.equal(settled.status, 'fulfilled');
      assert.equal(settled.value.hits.length, 1);
      assert.doesNotMatch(JSON.stringify(settled.value), /0123456789/);
    });

    it(`${provider}: returns the publication date, if there is one`, async () => {
      for (const date of [
        '2024-03-05T08:00:00.000Z',
        '2024-03-05T08:00:00',
        'Mar 5, 2024',
        'Tue, 05 Mar 2024 08:00:00 GMT',
        '21 days ago',
      ]) {
        const found = [{ url: 'https://example.org/a', title: 'A', snippet: 'x', date }];
        const { settled } = await ask(provider, { status: 200, body: shapes[provider](found) });
        assert.equal(settled.status === 'fulfilled' && settled.value.hits[0]?.published, '2024-03-05', date);
      }
      const { settled } = await ask(provider, { status: 200, body: shapes[provider](FOUND) });
      assert.deepEqual(settled.status === 'fulfilled' && settled.value.hits.map(({ published }) => published), [
        undefined,
        undefined,
      ]);
    });

    it(`${provider}: returns an empty list if nothing is found`, async () => {
      const { settled } = await ask(provider, { status: 200, body: shapes[provider]([]) });
      assert.deepEqual(settled.status === 'fulfilled' && settled.value.hits, []);
    });
  }

  it('get the country if they support it, and have private answers marked as such', async () => {
    const asked: Partial<Record<Provider, [name: string, value: string]>> = {
      brave: ['country', 'DE'],
      exa: ['userLocation', 'DE'],
      google: ['gl', 'de'],
      jina: ['gl', 'de'],
      serper: ['gl', 'de'],
      tavily: ['country', 'germany'],
      you: ['country', 'DE'],
    };
    for (const provider of providers) {
      const answer = { status: 200, headers: { 'cache-control': 'private, max-age=0' }, body: shapes[provider](FOUND) };
      for (const country of ['DE', 'AQ']) {
        const { request, settled } = await ask(provider, answer, { country });
        const sent = JSON.stringify([Object.fromEntries(request.parameters), request.json]);
        const [name, value] = asked[provider] ?? [];
        const isListed = country === 'DE' || !['brave', 'tavily', 'you'].includes(provider);
        if (name && isListed)
          assert.ok(sent.includes(`"${name}":"${country === 'DE' ? value : value === 'de' ? 'aq' : 'AQ'}"`), sent);
        else assert.doesNotMatch(sent, /"(?:country|gl|region|userLocation)"/, provider);
        assert.equal(settled.status === 'fulfilled' && settled.value.private, true, provider);
      }
    }
  });

  it('get country names as Tavily documents them', async () => {
    for (const [country, name] of [
      ['US', 'united states'],
      ['BA', 'bosnia and herzegovina'],
      ['CZ', 'czech republic'],
      ['CG', 'congo'],
      ['MM', 'myanmar'],
      ['TR', 'turkey'],
    ] as const) {
      const { request } = await ask('tavily', { status: 200, body: shapes.tavily(FOUND) }, { country });
      assert.ok(JSON.stringify(request.json).includes(`"country":"${name}"`), country);
    }
  });

  it('get the parameters they document', async () => {
    const query: Partial<SearchQuery> = {
      filters: { allowedDomains: ['a.test', 'b.test'], blockedDomains: ['c.test'] },
      timeRange: 'week',
    };
    const sent = async (provider: Provider): Promise<ScriptedRequest> =>
      (await ask(provider, { status: 200, body: shapes[provider](FOUND) }, query)).request;
    const parametersOf = ({ parameters }: ScriptedRequest) => Object.fromEntries(parameters);
    const sites = 'heat pump (site:a.test OR site:b.test) -site:c.test';

    const searxng = await sent('searxng');
    assert.deepEqual([searxng.method, searxng.path], ['GET', '/search']);
    assert.deepEqual(parametersOf(searxng), { format: 'json', q: sites, time_range: 'month' });

    const brave = await sent('brave');
    assert.deepEqual([brave.method, brave.path], ['GET', '/res/v1/web/search']);
    assert.equal(brave.headers['x-subscription-token'], KEY);
    assert.deepEqual(parametersOf(brave), { q: sites, count: '10', text_decorations: 'false', freshness: 'pw' });

    const tavily = await sent('tavily');
    assert.deepEqual([tavily.method, tavily.path], ['POST', '/search']);
    assert.equal(tavily.headers.authorization, `Bearer ${KEY}`);
    assert.deepEqual(tavily.json, {
      query: 'heat pump',
      max_results: 10,
      time_range: 'week',
      include_domains: ['a.test', 'b.test'],
      exclude_domains: ['c.test'],
    });

    const serper = await sent('serper');
    assert.deepEqual([serper.method, serper.path], ['POST', '/search']);
    assert.equal(serper.headers['x-api-key'], KEY);
    assert.deepEqual(serper.json, { q: sites, num: 10, tbs: 'qdr:w' });

    const exa = await sent('exa');
    assert.deepEqual([exa.method, exa.path, exa.headers['x-api-key']], ['POST', '/search', KEY]);
    assert.deepEqual(exa.json, {
      query: 'heat pump',
      type: 'auto',
      numResults: 10,
      includeDomains: ['a.test', 'b.test'],
      excludeDomains: ['c.test'],
      startPublishedDate: '2024-03-19T00:00:00.000Z',
      contents: { highlights: { maxCharacters: 500, query: 'heat pump' } },
    });

    const google = await sent('google');
    assert.deepEqual([google.method, google.path, google.headers['x-goog-api-key']], ['GET', '/customsearch/v1', KEY]);
    assert.deepEqual(parametersOf(google), { cx: 'engine-1', q: sites, num: '10', dateRestrict: 'w1' });

    const jina = await sent('jina');
    assert.deepEqual([jina.method, jina.path, jina.headers.authorization], ['GET', '/', `Bearer ${KEY}`]);
    assert.equal(jina.headers['x-respond-with'], 'no-content');
    assert.deepEqual(parametersOf(jina), { q: sites, num: '10' });

    const kagi = await sent('kagi');
    assert.deepEqual([kagi.method, kagi.path, kagi.headers.authorization], ['POST', '/api/v1/search', `Bearer ${KEY}`]);
    assert.deepEqual(kagi.json, {
      query: 'heat pump',
      workflow: 'search',
      limit: 10,
      filters: { after: '2024-03-19' },
      lens: { sites_included: ['a.test', 'b.test'], sites_excluded: ['c.test'] },
    });

    const you = await sent('you');
    assert.deepEqual([you.method, you.path, you.headers['x-api-key']], ['POST', '/v1/search', KEY]);
    assert.deepEqual(you.json, {
      query: 'heat pump',
      count: 10,
      freshness: 'week',
      include_domains: ['a.test', 'b.test'],
    });
  });

  it('are filtered by date, with a note, if they do not support the time range', async () => {
    const now = Date.parse('2024-03-26T12:00:00Z');
    const results = ['2024-03-25', '2024-03-02', undefined].map((date, at) => ({
      ...FOUND[0],
      url: `https://a.test/${at}`,
      date,
    }));
    for (const [provider, key, note] of [
      [
        'searxng',
        'publishedDate',
        'SearXNG cannot search the past week alone: results without a date may be of the past month.',
      ],
      ['jina', 'date', 'Jina cannot search the past week alone: results without a date may be of any age.'],
    ] as const) {
      const found = results.map(({ url, date }) => ({ url, title: 'T', content: 'C', description: 'C', [key]: date }));
      const body = provider === 'searxng' ? { results: found } : { data: found };
      await using service = await startScriptedSearch(() => ({ status: 200, body }));
      const backend = { provider, url: service.origin, api_key: KEY };
      await using search = createSearchProvider(backend, { ...safeFetch, now: () => now });
      const query = {
        text: 'x',
        limit: 2,
        filters: { allowedDomains: [], blockedDomains: [] },
        timeRange: 'week',
      } as const;
      const answer = await search.search(query, { signal: new AbortController().signal });
      assert.deepEqual(
        answer.hits.map(({ url }) => url),
        ['https://a.test/0', 'https://a.test/2'],
        provider,
      );
      assert.equal(answer.note, note);
    }
  });

  it('get the configured engines and language (SearXNG)', async () => {
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(FOUND) }));
    const asked = { url: service.origin, engines: ['duckduckgo'], language: 'de' };
    await using search = createSearchProvider({ provider: 'searxng', ...asked }, safeFetch);
    const query = { text: 'x', limit: 3, filters: { allowedDomains: [], blockedDomains: [] } };
    await search.search(query, { signal: new AbortController().signal });
    const { engines, language } = Object.fromEntries(service.requests[0]?.parameters ?? []);
    assert.deepEqual([engines, language], ['duckduckgo', 'de']);
  });

  it('get no query that would be redirected (SearXNG)', async () => {
    await using service = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(FOUND) }));
    await using search = createSearchProvider({ provider: 'searxng', url: service.origin }, safeFetch);
    for (const text of ['!!wiki tea', 'tea !!', '!news tea! C!!']) {
      const query = { text, limit: 3, filters: { allowedDomains: [], blockedDomains: [] } };
      await search.search(query, { signal: new AbortController().signal });
    }
    const sent = service.requests.map(({ parameters }) => parameters.get('q'));
    assert.deepEqual(sent, ['wiki tea', 'tea ', '!news tea! C!!']);
  });

  it('get the language as they document it, or none if they would refuse it', async () => {
    const sent = async (provider: Provider, language: string) => {
      await using service = await startScriptedSearch(() => ({ status: 200, body: shapes[provider](FOUND) }));
      const backend = { provider, url: service.origin, api_key: KEY, engine_id: 'engine-1', language };
      await using search = createSearchProvider(backend, safeFetch);
      const query = { text: 'x', limit: 3, filters: { allowedDomains: [], blockedDomains: [] } };
      await search.search(query, { signal: new AbortController().signal });
      const [request] = service.requests;
      const json = z.object({ language: z.string().optional() }).safeParse(request?.json).data;
      return request?.parameters.get('search_lang') ?? request?.parameters.get('hl') ?? json?.language;
    };
    const languages = ['ja', 'zh', 'zh-TW', 'pt', 'pt-PT', 'de-AT', 'en-GB', 'fa'];
    const sentTo = (provider: Provider) => Promise.all(languages.map((language) => sent(provider, language)));
    const codes = ['jp', 'zh-hans', 'zh-hant', 'pt-br', 'pt-pt', 'de', 'en-gb', undefined];
    assert.deepEqual(await sentTo('brave'), codes);
    assert.deepEqual(
      await sentTo('you'),
      codes.map((code) => code?.toUpperCase()),
    );
    assert.deepEqual(await sentTo('jina'), ['ja', 'zh-cn', 'zh-tw', 'pt', 'pt', 'de', 'en', 'fa']);
  });

  for (const [provider, name, answer, kind, retryAfterMs] of FAILURES) {
    it(`${provider}: fails with ${kind} on ${name}`, async () => {
      const { settled } = await ask(provider, answer);
      assert.equal(settled.status, 'rejected');
      const failure: unknown = settled.reason;
      assert.ok(failure instanceof SearchFailure, String(failure));
      assert.equal(failure.kind, kind);
      assert.equal(failure.retryAfterMs, retryAfterMs);
      assert.ok(!failure.message.includes(KEY), failure.message);
      // The model reads it after the name of the provider.
      assert.match(failure.message, /^[a-z]+ /);
    });
  }

  it('do not follow redirects with a key', async () => {
    for (const provider of providers) {
      await using service = await startScriptedSearch((_, at) =>
        at === 0
          ? { status: 307, headers: { location: '/' }, body: '' }
          : { status: 200, body: shapes[provider](FOUND) },
      );
      const backend = { provider, url: service.origin, api_key: KEY, engine_id: 'engine-1' };
      await using search = createSearchProvider(backend, safeFetch);
      const query = { text: 'x', limit: 3, filters: { allowedDomains: [], blockedDomains: [] } };
      await assert.rejects(search.search(query, { signal: new AbortController().signal }), /redirect/, provider);
      assert.equal(service.requests.length, 1, provider);
    }
  });

  it('name what is missing in their configuration', () => {
    assert.throws(() => createSearchProvider({ provider: 'brave' }, safeFetch), /brave needs api_key/);
    assert.throws(() => createSearchProvider({ provider: 'searxng' }, safeFetch), /searxng needs url/);
    const half = { provider: 'google', api_key: KEY } as const;
    assert.throws(() => createSearchProvider(half, safeFetch), /google needs engine_id/);
  });
});
