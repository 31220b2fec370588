import assert from 'node:assert/strict';
import type { JsonObject } from '../../src/base/json.ts';
import { isSlow } from '../support/fair-time.ts';
import { type GatewayProcess, gatewayFolder, probe, startGatewayProcess } from '../support/gateway-process.ts';
import { type ScriptedCall, startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import {
  chunk,
  frames,
  mayCallTools,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';

const KEY = 'sk-of-the-attacker';
/** The longest that a step of the event loop may take, in milliseconds of CPU time. */
const MAX_STEP_MS = 200;

const fill = (item: string, bytes: number) => item.repeat(Math.floor(bytes / item.length));
const call = (name: string, args: string, id = 'call_1') => turn({ toolCalls: [{ id, name, arguments: args }] });
const calls = (count: number, of: (at: number) => { id: string; name: string; arguments: string }) =>
  turn({ toolCalls: Array.from({ length: count }, (_, at) => of(at)) });
const queries = (inner: string) => `{"queries":[${inner}]}`;
const searching = (count: number) =>
  calls(count, (at) => ({ id: `c${at}`, name: 'web_search', arguments: queries(`"${at}"`) }));

/** Hostile tool calls of a model. */
const CALLS: [name: string, script: () => Script][] = [
  ['deeply nested arguments', () => call('web_search', queries(`${'['.repeat(100_000)}${']'.repeat(100_000)}`))],
  ['arguments of opening brackets only', () => call('s.t', `{"a":${'['.repeat(200_000)}`)],
  ['arguments of many objects', () => call('web_search', queries(`${fill('{},', 2e6)}{}`))],
  ['arguments of many numbers', () => call('web_search', queries(`${fill('1,', 2e6)}1`))],
  [
    'arguments of many members',
    () => call('s.t', `{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join()}}`),
  ],
  ['a long argument', () => call('web_search', queries(`"${'a '.repeat(1e6)}"`))],
  ['an argument of combining marks', () => call('s.t', `{"a":"${'a\u0301\u0323'.repeat(150_000)}"}`)],
  ['long arguments that need repair', () => call('web_search', `{"queries":[${fill('"a" "b" ', 1e6)}`)],
  ['a thousand calls', () => searching(1000)],
  [
    'a thousand calls with the same id',
    () => calls(1000, (at) => ({ id: 'c', name: `unknown_${at}`, arguments: '{}' })),
  ],
  ['a long id', () => call('web_search', queries('"a"'), 'c'.repeat(2_000_000))],
  ['a long name', () => call('w'.repeat(2_000_000), '{}')],
  [
    'arguments in fifty thousand SSE events',
    () =>
      frames([
        chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'web_search', arguments: '{"queries":["' } }] }),
        ...Array.from({ length: 50_000 }, () => chunk({ tool_calls: [{ index: 0, function: { arguments: 'a' } }] })),
        chunk({}, 'tool_calls'),
      ]),
  ],
];

const result = (id: unknown, inner: string) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${inner}}}`;
const json =
  (inner: () => string): ScriptedCall =>
  ({ id, response }) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(result(id, inner()));
    return undefined;
  };

/** Hostile results of an MCP server. */
const RESULTS: [name: string, call: ScriptedCall][] = [
  ['many objects', json(() => `"content":[],"structuredContent":{"a":[${fill('{},', 5e6)}{}]}`)],
  ['many numbers', json(() => `"content":[],"structuredContent":{"a":[${fill('1,', 5e6)}1]}`)],
  ['many parts', json(() => `"content":[${fill('{"type":"text","text":"x"},', 5e6)}{"type":"text","text":"x"}]`)],
  ['deep nesting', json(() => `"content":[],"structuredContent":{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`)],
  ['a long text', json(() => `"content":[{"type":"text","text":"${'a\u0301 '.repeat(1e6)}"}]`)],
  [
    'thirty thousand requests of its own',
    ({ id, response }) => {
      const ask = (n: number) => `data: {"jsonrpc":"2.0","id":"q${n}","method":"ping"}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(Array.from({ length: 30_000 }, (_, n) => ask(n)).join(''));
      response.end(`data: ${result(id, '"content":[]')}\n\n`);
      return undefined;
    },
  ],
  [
    'a stream of objects',
    ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${result(id, `"content":[],"structuredContent":{"a":[${fill('{},', 5e6)}{}]}`)}\n\n`);
      return undefined;
    },
  ],
];

/** Hostile answers of a search service. */
const ANSWERS: [name: string, body: () => string][] = [
  ['many hits', () => `{"results":[${fill('{"url":"https://a.example/1","title":"a","content":"b"},', 8e6)}{}]}`],
  [
    'a long hit',
    () => JSON.stringify({ results: [{ url: 'https://a.example', title: 'a', content: '&lt;<b>'.repeat(1e6) }] }),
  ],
  // Last, because it fails: the service is then paused for a while.
  ['many objects', () => `{"results":[${fill('{},', 9e6)}{}]}`],
];

describe('a gateway with hostile models and tools', () => {
  const stack = new AsyncDisposableStack();
  let gateway: GatewayProcess;
  let provider: ScriptedProvider;
  let onCall: ScriptedCall = () => ({ content: [{ type: 'text', text: 'x' }] }) as JsonObject;
  let answer: (typeof ANSWERS)[number] = ['none', () => '{"results":[]}'];
  let searches = 0;

  before(async () => {
    const mcp = stack.use(await startScriptedMcpServer({ tools: { t: { call: (made) => onCall(made) } } }));
    const search = stack.use(
      await startWebServer((request, response) => {
        request.resume();
        searches += 1;
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer[1]());
      }),
    );
    provider = stack.use(await startScriptedProvider());
    const folder = stack.use(await gatewayFolder());
    gateway = stack.use(
      await startGatewayProcess(
        {
          server: { port: 0 },
          store: { url: 'memory:' },
          providers: { only: { base_url: provider.url, max_retries: 0 } },
          models: {
            deep: { kind: 'research', routes: [{ provider: 'only', model: 'm' }], research: { tools: ['web_search'] } },
          },
          keys: [{ id: 'attacker', secret: KEY }],
          tools: {
            web_search: { provider: 'searxng', url: search.origin },
            mcp_servers: [{ name: 's', url: mcp.url }],
          },
        },
        { folder: folder.path, probed: true },
      ),
    );
    await research(call('web_search', queries('"warm"')));
  });
  after(() => stack.disposeAsync());

  /** A run whose first turn is `script`. Returns the gateway's longest step during it, in milliseconds. */
  async function research(script: Script, { status = 200 } = {}): Promise<number> {
    provider.respond = (request) => {
      const isFirst = !request.body.messages?.some(({ role }) => role === 'tool');
      return mayCallTools(request) && isFirst ? script : turn();
    };
    await probe(gateway, 'step');
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'deep', messages: [{ role: 'user', content: 'Where is it?' }] }),
      signal: AbortSignal.timeout(patience(10)),
    });
    const text = await response.text();
    assert.equal(response.status, status, text.slice(0, 500));
    return (await probe(gateway, 'step')).stepMs;
  }

  async function survives(script: Script, answer?: { status: number }): Promise<void> {
    const stepMs = await research(script, answer);
    assert.ok(!isSlow(stepMs, MAX_STEP_MS), `a step took ${Math.round(stepMs)} ms`);
  }

  for (const [name, script] of CALLS) {
    it(`stays responsive when a model makes calls with ${name}`, () => survives(script()));
  }
  it('stays responsive when a model makes five thousand calls, which fail its turn', () =>
    survives(searching(5000), { status: 502 }));
  for (const [name, made] of RESULTS) {
    it(`stays responsive when an MCP server returns ${name}`, async () => {
      onCall = made;
      await survives(call('s.t', '{}'));
    });
  }
  for (const some of ANSWERS) {
    it(`stays responsive when a search service returns ${some[0]}`, async () => {
      answer = some;
      const before = searches;
      await survives(call('web_search', queries(`"${some[0]}"`)));
      assert.ok(searches > before, 'the service was called');
    });
  }
});
