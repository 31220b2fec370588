import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { type CalledTool, strictMessages, strictResponses } from '../support/strict-wires.ts';

const TURNS = 40;
const WORDS = 'failover provider stream reasoning citation budget gateway redis sqlite console'.split(' ');
const OTHERS = 'limits routes tokens events'.split(' ');

/** Forty different searches. */
const search: CalledTool = (turn) => ({
  name: 'web_search',
  arguments: JSON.stringify({ queries: [`${WORDS[turn % 10]} ${OTHERS[Math.floor(turn / 10) % 4]}`] }),
});

const SERVERS = {
  responses: () => strictResponses(TURNS, search),
  messages: () => strictMessages(TURNS, { thinks: 'adaptive', tool: search }),
};

describe('research over other wires', () => {
  for (const [wire, make] of Object.entries(SERVERS)) {
    it(`runs ${TURNS} turns with a server as strict as the real one (${wire})`, async () => {
      const strict = make();
      await using provider = await startScriptedProvider({ respond: (request) => strict.respond(request) });
      await using gateway = await startProxyGateway({
        providers: { strict: { url: provider.url, apiKey: 'sk-strict', wire } },
        models: {
          long: {
            kind: 'research',
            routes: [{ provider: 'strict', model: 'm', price: { input: 1, output: 2 } }],
            research: { tools: ['web_search'], effort: 'high', budgets: { high: { turns: 80, tool_calls: 200 } } },
          },
        },
        tools: { web_search: { provider: 'local', folder: './docs' } },
      });
      const answer = await send(gateway, '/responses', {
        body: { model: 'long', input: 'What is it?', stream: false },
      });
      const run: unknown = await answer.json();
      assert.ok(isObject(run) && isObject(run.usage), JSON.stringify(run));
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.equal(run.output_text, 'All found.');
      assert.equal(run.usage.num_tool_calls, TURNS);
      assert.equal(run.usage.estimated, undefined);
      // What a refusal teaches is learned once; a history that changes would cost a refusal each time.
      assert.ok(strict.refusals.length <= 6, strict.refusals.join('\n'));
    });
  }
});
