import assert from 'node:assert/strict';
import { join } from 'node:path';
import { isObject } from '../../src/base/json.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { hang, type ProviderRequest, startScriptedProvider } from '../support/scripted-provider.ts';
import { type CalledTool, strictMessages, strictResponses } from '../support/strict-wires.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-crash-test';
const TURNS = 40;
const WORDS = 'failover provider stream reasoning citation budget gateway redis sqlite console'.split(' ');
const OTHERS = 'limits routes tokens events'.split(' ');
const search: CalledTool = (turn) => ({
  name: 'web_search',
  arguments: JSON.stringify({ queries: [`${WORDS[turn % 10]} ${OTHERS[Math.floor(turn / 10) % 4]}`] }),
});
const SERVERS = {
  responses: () => strictResponses(TURNS, search),
  messages: () => strictMessages(TURNS, { thinks: 'adaptive', tool: search }),
};
/** The instance dies while it asks with so many results: amid the research, and for the answer. */
const DEATHS = [17, TURNS];
const resultsIn = ({ bytes }: ProviderRequest) =>
  bytes.toString().split(/"type":"(?:function_call_output|tool_result)"/).length - 1;

function configOf(options: { folder: string; provider: string; wire: string }) {
  return {
    server: { port: 0 },
    store: { url: `file:${join(options.folder, 'data')}` },
    providers: { strict: { base_url: options.provider, api_key: 'sk-strict', wire: options.wire } },
    models: {
      long: {
        kind: 'research',
        routes: [{ provider: 'strict', model: 'm', price: { input: 1, output: 2 } }],
        research: { tools: ['web_search'], effort: 'high', budgets: { high: { turns: 80, tool_calls: 200 } } },
      },
    },
    keys: [{ id: 'ann', secret: KEY }],
    tools: { web_search: { provider: 'local', folder: './docs' } },
  };
}

async function call(gateway: GatewayProcess, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${gateway.url}/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  });
  const value: unknown = await answer.json();
  assert.ok(isObject(value));
  return value;
}

describe(`a run of ${TURNS} turns over another wire`, function () {
  // Gateways are killed and come back.
  this.timeout(patience(60));
  for (const [wire, make] of Object.entries(SERVERS)) {
    it(`is taken up after kill -9 by a provider that refuses what the real one refuses (${wire})`, async () => {
      const strict = make();
      let dies = Promise.withResolvers<void>();
      const left = new Set(DEATHS);
      const respond = (request: ProviderRequest) => {
        if (!left.delete(resultsIn(request))) return strict.respond(request);
        dies.resolve();
        return hang();
      };
      await using provider = await startScriptedProvider({ respond });
      await using folder = await gatewayFolder();
      const config = configOf({ folder: folder.path, provider: provider.url, wire });
      let gateway = await startGatewayProcess(config, { folder: folder.path });
      try {
        const body = { model: 'long', input: 'What is it?', background: true };
        const { id } = await call(gateway, '/responses', body);
        for (const _ of DEATHS) {
          await dies.promise;
          dies = Promise.withResolvers();
          await gateway.kill();
          gateway = await startGatewayProcess(config, { folder: folder.path });
        }
        let run = await call(gateway, `/responses/${id}`);
        while (run.status === 'in_progress') {
          await new Promise((resolve) => setTimeout(resolve, 50));
          run = await call(gateway, `/responses/${id}`);
        }
        assert.equal(run.status, 'completed', JSON.stringify(run.error));
        assert.equal(run.output_text, 'All found.');
        assert.ok(isObject(run.usage));
        assert.equal(run.usage.num_tool_calls, TURNS, 'finished calls are not made again');
        // How to ask is learned by each instance; what goes back is not refused because another one asked before.
        const wrong = strict.refusals.filter((reason) =>
          /required|signature|not found|encrypted|Duplicate/.test(reason),
        );
        assert.deepEqual(wrong, []);
      } finally {
        await gateway.kill();
      }
    });
  }
});
