import assert from 'node:assert/strict';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import {
  mayCallTools,
  type ProviderRequest,
  refusedUrl,
  type ScriptedProvider,
  type ScriptedToolCall,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { startScriptedSearch } from '../support/scripted-search.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';

const ANSWER = 'The range is three metres [1].';
const PAGE = 'The tidal range at the northern coast is three to five metres.';
/** The headers of pages, by path. */
const PAGES: Record<string, Record<string, string>> = {
  '/open': {},
  '/cached': { 'cache-control': 'public, max-age=60' },
  '/private': { 'cache-control': 'Private="set-cookie", max-age=60' },
  '/no-store': { 'cache-control': 'max-age=60,No-Store' },
  '/no-cache': { 'cache-control': 'no-cache' },
  '/cookie': { 'set-cookie': 'session=1' },
  '/vary': { vary: 'accept, *' },
};

describe('research tools', () => {
  const stack = new AsyncDisposableStack();
  let provider: ScriptedProvider;
  let web: WebServer;
  let url: string;

  before(async () => {
    provider = stack.use(await startScriptedProvider());
    web = stack.use(
      await startWebServer((request, response) => {
        const path = request.url ?? '';
        if (path === '/leaves') {
          response.writeHead(302, { location: `http://localhost:${web.port}/open` }).end();
        } else if (path === '/personal') {
          response.writeHead(302, { location: '/open?of=personal', 'cache-control': 'private' }).end();
        } else {
          const headers = PAGES[path.split('?', 1)[0] ?? ''] ?? {};
          response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(PAGE);
        }
      }),
    );
    const search = stack.use(
      await startScriptedSearch(() => ({ status: 200, body: { searchParameters: {}, organic: [] } })),
    );
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { only: { base_url: provider.url } },
      models: { deep: { kind: 'research', routes: [{ provider: 'only', model: 'm' }] } },
      keys: ['ann', 'bob'].map((id) => ({ id, secret: `sk-${id}`, mcp_servers: true })),
      tools: {
        web_search: { provider: 'serper', url: search.origin, api_key: 'k' },
        fetch_url_content: { allow_private_addresses: true },
      },
    });
    const gateway = stack.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
    url = gateway.url;
  });
  after(() => stack.disposeAsync());

  /** A run whose model makes these calls, one a turn. */
  async function run(
    calls: ScriptedToolCall[],
    body: object = {},
    key = 'ann',
    write = (_: ProviderRequest) => ANSWER,
  ) {
    provider.respond = (request) => {
      const done = request.body.messages?.filter(({ role }) => role === 'tool').length ?? 0;
      const next = calls[done];
      if (!mayCallTools(request)) return turn({ text: write(request) });
      return next ? turn({ toolCalls: [{ ...next, id: `call_${done}` }] }) : turn({ text: 'ready' });
    };
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'deep', input: 'Read.', stream: false, ...body }),
    });
    const response = (await answer.json()) as ResponseObject & { error: { code: string; param: string } | null };
    const results = (response.output ?? []).flatMap((item) =>
      item.type === 'tool_call' ? [JSON.parse(item.result ?? 'null')] : [],
    );
    return { status: answer.status, response, results, ignored: answer.headers.get('x-ignored-parameters') };
  }

  const reading = (address: string): ScriptedToolCall => ({ name: 'fetch_url_content', arguments: { url: address } });
  const asked = (path: string) => web.requests.filter((each) => each === path).length;

  it('are not called in an answer, and what is written as a call is not shown', async () => {
    const call = '<tool_call>{"name": "web_search", "arguments": {"queries": ["more"]}}</tool_call>';
    const outline = JSON.stringify(['Range', 'Coast'].map((heading) => ({ heading, aim: '', records: [1] })));
    let attempts = 0;
    const write = ({ body }: ProviderRequest) => {
      const messages = JSON.stringify(body.messages);
      if (/plan its sections/.test(messages)) return outline;
      // The first section is only ever a call; so are the first two attempts at a short answer.
      const isCall = /Write section/.test(messages) ? /Write section 1/.test(messages) : attempts++ < 2;
      return isCall ? call : ANSWER;
    };
    const full = await run([reading(`${web.origin}/open?1`)], { research: { report: 'full' } }, 'ann', write);
    assert.equal(full.response.output_text, `## Coast\n\n${ANSWER}`);
    const short = await run([reading(`${web.origin}/open?2`)], { research: { report: 'short' } }, 'ann', write);
    assert.doesNotMatch(short.response.output_text, /tool_call/);
  });

  it('add a warning if an MCP server cannot be reached', async () => {
    const server = { type: 'mcp', server_label: 'gone', server_url: `${await refusedUrl()}/mcp` };
    const { response } = await run([], { tools: [server] });
    assert.ok(
      response.warnings.some(({ code }) => code === 'mcp_server_unavailable'),
      JSON.stringify(response.warnings),
    );
  });

  for (const [path, shared] of [
    ['/open', true],
    ['/cached', true],
    ...['/private', '/no-store', '/no-cache', '/cookie', '/vary', '/personal'].map((each) => [each, false] as const),
  ] as const) {
    it(`fetch ${path} once for ${shared ? 'all users' : 'each run'}`, async () => {
      const page = `${web.origin}${path}`;
      for (const key of ['ann', 'bob']) {
        // A different call for the same page: a repeated call would be answered without the tool.
        const again = { name: 'fetch_url_content', arguments: { url: page, find: 'northern' } };
        const { results } = await run([reading(page), again], {}, key);
        assert.equal(results[0].content, PAGE);
        assert.match(results[1].content, /northern/);
      }
      assert.equal(asked(path), shared ? 1 : 2);
    });
  }

  it("read only the user's own files, whatever address the model names", async () => {
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new File([PAGE], 'mine.txt', { type: 'text/plain' }));
    const headers = { authorization: 'Bearer sk-ann' };
    const made = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form });
    const { id } = (await made.json()) as { id: string };
    const address = `file:///${id}/mine.txt`;
    const [mine, others] = [await run([reading(address)]), await run([reading(address)], {}, 'bob')];
    assert.equal(mine.results[0].content, PAGE);
    assert.equal(others.results[0].error.code, 'not_found');
    assert.ok(!JSON.stringify(others.response).includes(PAGE));
  });

  it('read only the domains that a request allows, redirects included', async () => {
    const tools = [{ type: 'web_search', filters: { allowed_domains: ['https://127.0.0.1/', '*.example.org'] } }];
    const before = web.requests.length;
    const pages = [
      `http://localhost:${web.port}/open`,
      `${web.origin}/within`,
      `${web.origin}/leaves`,
      'corpus:///a.md',
    ];
    const { results } = await run(pages.map(reading), { tools });
    const [elsewhere, within, leaving, document] = results;
    for (const refused of [elsewhere, leaving, document]) assert.equal(refused.error.code, 'blocked_host');
    assert.match(elsewhere.error.message, /localhost is not among the domains .*: 127\.0\.0\.1, example\.org\./);
    assert.equal(within.content, PAGE);
    assert.deepEqual(web.requests.slice(before), ['/within', '/leaves']);
  });

  it('refuse invalid domains', async () => {
    for (const domain of ['', 'example.org/blog', 'a b', 'example.org:81', 'ftp://example.org', '*']) {
      const tools = [{ type: 'web_search', filters: { allowed_domains: ['example.org', domain] } }];
      const { status, response } = await run([], { tools });
      assert.deepEqual([status, response.error?.code], [400, 'invalid_parameter'], domain);
      assert.equal(response.error?.param, 'tools[0].filters.allowed_domains[1]');
    }
  });

  it('list ignored fields in x-ignored-parameters', async () => {
    const known = { type: 'web_search', search_context_size: 'low', filters: null };
    for (const [tool, ignored] of [
      [known, null],
      [{ ...known, user_location: { type: 'approximate', country: 'at' } }, null],
      [
        { ...known, user_location: { type: 'approximate', country: 'AT', city: 'Graz', timezone: 'Europe/Vienna' } },
        'tools[0].user_location.city, tools[0].user_location.timezone',
      ],
      [{ ...known, user_location: { city: 'Graz' } }, 'tools[0].user_location'],
      [{ ...known, user_location: { country: 'Austria' } }, 'tools[0].user_location'],
      [
        { ...known, filters: { denied_domains: ['a.test'] }, max_uses: 3 },
        'tools[0].max_uses, tools[0].filters.denied_domains',
      ],
      [{ type: 'code_interpreter', container: { type: 'auto' } }, 'tools[0].container'],
    ] as const) {
      const { ignored: named, status } = await run([], { tools: [tool] });
      assert.deepEqual([status, named], [200, ignored], JSON.stringify(tool));
    }
  });
});
