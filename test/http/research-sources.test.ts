import assert from 'node:assert/strict';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { startScriptedMcpServer, textResult } from '../support/scripted-mcp-server.ts';
import {
  mayCallTools,
  type ScriptedProvider,
  type ScriptedToolCall,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { startScriptedSearch } from '../support/scripted-search.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';

/** The publication dates of pages, by path. */
const DATED: Record<string, string | undefined> = {
  '/old': '2019-12-31',
  '/first': '2020-01-01',
  '/last': '2020-12-31',
  '/late': '2021-01-01',
  '/undated': undefined,
};

describe('research.sources', () => {
  const stack = new AsyncDisposableStack();
  let provider: ScriptedProvider;
  let web: WebServer;
  let url: string;

  before(async () => {
    provider = stack.use(await startScriptedProvider());
    web = stack.use(
      await startWebServer((request, response) => {
        const path = request.url ?? '';
        if (path === '/leaves') return void response.writeHead(302, { location: elsewhere('/undated') }).end();
        const date = DATED[path];
        const meta = date ? `<meta property="article:published_time" content="${date}T10:00:00Z">` : '';
        const links = `<a href="${web.origin}/linked">a link</a>`;
        const headers = { 'content-type': 'text/html', 'last-modified': new Date().toUTCString() };
        response.writeHead(200, headers);
        const text =
          '<p>The tidal range at the northern coast is three to five metres, as the harbour office writes.</p>';
        response.end(
          `<html><head><title>Tides</title>${meta}</head><body>${text.repeat(3)}<p>${links}</p></body></html>`,
        );
      }),
    );
    const search = stack.use(
      await startScriptedSearch(() => {
        const found = Object.entries(DATED).map(([path, date]) => ({
          title: path,
          link: `${web.origin}${path}`,
          snippet: 'Tides.',
          date,
        }));
        const organic = [...found, { title: 'elsewhere', link: elsewhere('/undated'), snippet: 'Tides.' }];
        return { status: 200, body: { searchParameters: {}, organic } };
      }),
    );
    const kept: string[] = [];
    const echo = stack.use(
      await startScriptedMcpServer({
        tools: {
          // Repeats what it was told, between two words.
          echo: { call: ({ args }) => textResult(`${args.before ?? ''}${args.text}${args.after ?? ''}`) },
          // Cuts the last characters off.
          cut: { call: ({ args }) => textResult(`${String(args.text).slice(0, -3)}[truncated]`) },
          link: {
            call: ({ args }) => ({ content: [{ type: 'resource_link', uri: String(args.text), name: 'a page' }] }),
          },
          keep: { call: ({ args }) => textResult(`kept as number ${kept.push(String(args.text))}`) },
          recall: { call: () => textResult(kept.join('\n')) },
          find: { call: () => textResult(`See ${web.origin}/found-by-a-tool for the rest.`) },
        },
      }),
    );
    const routes = [{ provider: 'only', model: 'm' }];
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { only: { base_url: provider.url } },
      models: {
        deep: { kind: 'research', routes },
        narrow: { kind: 'research', routes, research: { sources: { blocked_domains: ['localhost'] } } },
      },
      keys: [{ id: 'ann', secret: 'sk-ann' }],
      tools: {
        web_search: { provider: 'serper', url: search.origin, api_key: 'k' },
        fetch_url_content: { allow_private_addresses: true },
        mcp_servers: [{ name: 's', url: echo.url }],
      },
    });
    const gateway = stack.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
    url = gateway.url;
  });
  after(() => stack.disposeAsync());

  /** The address of a page on the same server under another host name. */
  const elsewhere = (path: string) => `http://localhost:${web.port}${path}`;
  const here = (path: string) => `${web.origin}${path}`;
  const reading = (address: string): ScriptedToolCall => ({ name: 'fetch_url_content', arguments: { url: address } });
  const searching: ScriptedToolCall = { name: 'web_search', arguments: { queries: ['tides'] } };

  async function run(calls: ScriptedToolCall[], body: object, path = '/v1/responses') {
    provider.respond = (request) => {
      const done = request.body.messages?.filter(({ role }) => role === 'tool').length ?? 0;
      const next = calls[done];
      if (!mayCallTools(request)) return turn({ text: 'The range is three metres [1].' });
      return next ? turn({ toolCalls: [{ ...next, id: `call_${done}` }] }) : turn({ text: 'ready' });
    };
    const asked = path === '/v1/responses' ? { input: 'Read.' } : { messages: [{ role: 'user', content: 'Read.' }] };
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-ann', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'deep', stream: false, ...asked, ...body }),
    });
    const response = (await answer.json()) as ResponseObject & { error: { code: string; param: string } | null };
    const results = (response.output ?? []).flatMap((item) =>
      item.type === 'tool_call' ? [item.result?.startsWith('{') ? JSON.parse(item.result) : item.result] : [],
    );
    return { status: answer.status, response, results };
  }
  const found = (result: { results: { url: string }[] }) => result.results.map((hit) => hit.url);

  for (const [what, body] of [
    ['research.sources', { research: { sources: { allowed_domains: ['127.0.0.1'] } } }],
    ['research.sources with blocked_domains', { research: { sources: { blocked_domains: ['LOCALHOST.'] } } }],
    ['the default of a model', { model: 'narrow' }],
    [
      'web_search filters with blocked_domains',
      { tools: [{ type: 'web_search', filters: { blocked_domains: ['localhost'] } }] },
    ],
    [
      'filters and research.sources combined',
      {
        tools: [{ type: 'web_search', filters: { allowed_domains: ['127.0.0.1', 'localhost'] } }],
        research: { sources: { allowed_domains: ['127.0.0.1', 'example.org'] } },
      },
    ],
  ] as const) {
    it(`restricts searching, reading and redirects to the domains of ${what}`, async () => {
      const before = web.requests.length;
      const calls = [searching, reading(elsewhere('/undated')), reading(here('/leaves')), reading(here('/undated'))];
      const { results, response } = await run(calls, body);
      assert.equal(response.status, 'completed');
      const [hits, away, leaving, within] = results;
      assert.deepEqual(found(hits), Object.keys(DATED).map(here));
      assert.deepEqual([away.error.code, leaving.error.code], ['blocked_host', 'blocked_host']);
      assert.match(within.content, /tidal range/);
      assert.ok(!web.requests.slice(before).includes('/undated') || web.requests.slice(before).at(-1) === '/undated');
    });
  }

  it('keeps pages within the dates, inclusive, and pages without a date', async () => {
    const research = { sources: { after: '2020-01-01', before: '2020-12-31T23:00:00Z' } };
    const pages = Object.keys(DATED);
    const { results } = await run([searching, ...pages.map((path) => reading(here(path)))], { research });
    const [hits, ...read] = results;
    assert.deepEqual(found(hits), [...['/first', '/last', '/undated'].map(here), elsewhere('/undated')]);
    assert.deepEqual(
      read.map((page) => page.error?.code),
      ['outside_dates', undefined, undefined, 'outside_dates', undefined],
    );
    assert.match(read[0].error.message, /2019-12-31.* from 2020-01-01 until 2020-12-31 /);
  });

  it('met_only allows reading only addresses from the input, search results and links', async () => {
    const calls = [
      reading(here('/made-up')),
      reading(here('/asked-for')),
      reading(here('/old')),
      searching,
      reading(here('/old')),
      reading(here('/linked')),
      reading(`${here('/old')}?secret=1`),
    ];
    const before = web.requests.length;
    const input = `Read ${here('/asked-for')}.`;
    const { results } = await run(calls, { input, research: { sources: { met_only: true } } });
    const codes = results.map((result) => result.error?.code);
    assert.deepEqual(codes, ['not_met', undefined, 'not_met', undefined, undefined, undefined, 'not_met']);
    const asked = web.requests.slice(before);
    assert.ok(asked.includes('/asked-for') && asked.includes('/linked'));
    assert.ok(!asked.some((path) => /made-up|secret/.test(path)), asked.join(' '));
  });

  it('met_only does not take words of the model that a tool repeats for an address that it met', async () => {
    const secret = (n: number) => here(`/x?secret=${n}-abcdef`);
    const tool = (name: string, fields: Record<string, string>): ScriptedToolCall => ({
      name: `s.${name}`,
      arguments: fields,
    });
    const calls = [
      tool('echo', { text: `${secret(0)}  `, before: '  ' }),
      reading(secret(0)),
      tool('echo', { text: secret(1), before: '«', after: '»' }),
      reading(secret(1)),
      reading(`${secret(1)}»`),
      tool('echo', { text: secret(2), before: '[', after: '](x)' }),
      reading(secret(2)),
      reading(`${secret(2)}](x)`),
      tool('echo', { text: secret(3).replace('&', '&amp;').replace('http://', ''), before: 'http://' }),
      reading(secret(3)),
      tool('cut', { text: secret(4) }),
      reading(secret(4).slice(0, -3)),
      tool('link', { text: secret(5) }),
      reading(secret(5)),
      tool('keep', { text: secret(6) }),
      tool('recall', {}),
      reading(secret(6)),
      tool('find', {}),
      reading(here('/found-by-a-tool')),
    ];
    const before = web.requests.length;
    const { results } = await run(calls, { input: 'Read.', research: { sources: { met_only: true } } });
    assert.equal(results.length, calls.length, JSON.stringify(results));
    assert.deepEqual(web.requests.slice(before), ['/found-by-a-tool']);
  });

  for (const path of ['/v1/responses', '/v1/chat/completions', '/v1/async']) {
    it(`validates research parameters of ${path}`, async () => {
      for (const [research, param, code] of [
        [{ source: {} }, 'research.source', 'invalid_parameter'],
        [{ sources: { allowed: [] } }, 'research.sources.allowed', 'invalid_parameter'],
        [{ sources: { allowed_domains: ['a b'] } }, 'research.sources.allowed_domains[0]', 'invalid_parameter'],
        [{ sources: { after: '2024-02-30' } }, 'research.sources.after', 'invalid_parameter'],
        [{ sources: { after: '2024-02-02', before: '2024-02-01' } }, 'research.sources.after', 'invalid_parameter'],
        [{ lanes: 9 }, 'research.lanes', 'invalid_parameter'],
        [{ lanes: 1.5 }, 'research.lanes', 'invalid_parameter'],
        [{ report: 'long' }, 'research.report', 'invalid_parameter'],
        [{ verify: 'yes' }, 'research.verify', 'invalid_parameter'],
        [{ plan: 'maybe' }, 'research.plan', 'invalid_parameter'],
        [{ attempts: 0 }, 'research.attempts', 'invalid_parameter'],
        [{ lanes: 2, attempts: 3 }, 'research.attempts', 'conflicting_parameters'],
        [{ charts: 'yes' }, 'research.charts', 'invalid_parameter'],
        ['deep', 'research', 'invalid_parameter'],
      ] as const) {
        const { status, response } = await run([], { research }, path);
        assert.deepEqual([status, response.error?.code, response.error?.param], [400, code, param]);
      }
    });
  }

  it('refuses filters and sources that together allow nothing', async () => {
    const tools = [{ type: 'web_search', filters: { allowed_domains: ['a.test'] } }];
    const { status, response } = await run([], { tools, research: { sources: { allowed_domains: ['b.test'] } } });
    assert.deepEqual([status, response.error?.code], [400, 'conflicting_parameters']);
  });
});
