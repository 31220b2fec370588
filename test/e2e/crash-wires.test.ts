import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isObject } from '../../src/base/json.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { hang, type ProviderRequest, startScriptedProvider } from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { type CalledTool, strictMessages, strictResponses } from '../support/strict-wires.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-crash-test';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const TURNS = 40;
const WORDS = 'failover provider stream reasoning citation budget gateway redis sqlite console'.split(' ');
const SECOND_WORDS = 'limits routes tokens events'.split(' ');
const search: CalledTool = (turn) => ({
  name: 'web_search',
  arguments: JSON.stringify({ queries: [`${WORDS[turn % 10]} ${SECOND_WORDS[Math.floor(turn / 10) % 4]}`] }),
});
const SERVERS = {
  responses: () => strictResponses(TURNS, search),
  messages: () => strictMessages(TURNS, { thinks: 'adaptive', tool: search }),
};
/** The instance is killed while it sends a request with this many tool results: amid the research, and for the answer. */
const DEATHS = [17, TURNS];
const resultsIn = ({ bytes }: ProviderRequest) =>
  bytes.toString().split(/"type":"(?:function_call_output|tool_result)"/).length - 1;

/** One model for each wire, named after it. */
function configOf({ folder, providers }: { folder: string; providers: Readonly<Record<string, string>> }) {
  const byWire = <T>(of: (wire: string, url: string) => T) =>
    Object.fromEntries(Object.entries(providers).map(([wire, url]) => [wire, of(wire, url)]));
  return {
    server: { port: 0 },
    store: { url: `file:${join(folder, 'data')}` },
    providers: byWire((wire, url) => ({ base_url: url, api_key: 'sk-strict', wire })),
    models: byWire((wire) => ({
      kind: 'research',
      routes: [{ provider: wire, model: 'm', price: { input: 1, output: 2 } }],
      research: { tools: ['web_search'], effort: 'high', budgets: { high: { turns: 80, tool_calls: 200 } } },
    })),
    keys: [{ id: 'ann', secret: KEY }],
    tools: { web_search: { provider: 'local', folder: './docs' } },
  };
}

async function call(gateway: GatewayProcess, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.url}/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: HEADERS,
    body: body ? JSON.stringify(body) : null,
  });
  const value: unknown = await answer.json();
  assert.ok(isObject(value));
  return value;
}

describe(`a run of ${TURNS} turns over a wire other than chat completions`, function () {
  // One gateway is killed under both runs twice, and comes back.
  this.timeout(patience(60));
  const stack = new AsyncDisposableStack();
  const wires = Object.entries(SERVERS).map(([wire, make]) => ({
    wire,
    strict: make(),
    dies: Promise.withResolvers<void>(),
  }));
  const ended = new Map<string, Record<string, unknown>>();
  before(async () => {
    const providers: Record<string, string> = {};
    for (const each of wires) {
      const remaining = new Set(DEATHS);
      const respond = (request: ProviderRequest) => {
        if (!remaining.delete(resultsIn(request))) return each.strict.respond(request);
        each.dies.resolve();
        return hang();
      };
      providers[each.wire] = stack.use(await startScriptedProvider({ respond })).url;
    }
    const folder = stack.use(await gatewayFolder());
    const config = configOf({ folder: folder.path, providers });
    let gateway = await startGatewayProcess(config, { folder: folder.path });
    stack.defer(() => gateway.kill());
    const submit = (model: string) => call(gateway, '/responses', { model, input: 'What is it?', background: true });
    const submitted = await Promise.all(wires.map(({ wire }) => submit(wire)));
    for (const _ of DEATHS) {
      await Promise.all(wires.map(({ dies }) => dies.promise));
      for (const each of wires) each.dies = Promise.withResolvers();
      await gateway.kill();
      gateway = await startGatewayProcess(config, { folder: folder.path });
    }
    for (const [at, { wire }] of wires.entries()) {
      const path = `/responses/${submitted[at]?.id}`;
      await (await SseReader.open(`${gateway.url}/v1${path}?stream=true`, { headers: HEADERS })).end();
      ended.set(wire, await call(gateway, path));
    }
  });
  after(() => stack.disposeAsync());

  for (const { wire, strict } of wires) {
    it(`completes after kill -9, with a provider as strict as the real one (${wire})`, () => {
      const run = ended.get(wire);
      assert.equal(run?.status, 'completed', JSON.stringify(run?.error));
      assert.equal(run.output_text, 'All found.');
      assert.ok(isObject(run.usage));
      assert.equal(run.usage.num_tool_calls, TURNS, 'finished calls are not made again');
      // A new instance may have to learn which parameters are accepted, but what it replays to the provider must not be refused.
      const wrong = strict.refusals.filter((reason) => /required|signature|not found|encrypted|Duplicate/.test(reason));
      assert.deepEqual(wrong, []);
    });
  }
});
