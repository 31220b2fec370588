import assert from 'node:assert/strict';
import { answerPart } from '../../../src/protocol/items.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { lookups, runResearch } from '../../support/research-run.ts';
import { openHarness, question, runToEnd, testConfig, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';

const PLAN = {
  name: 'update_plan',
  arguments: {
    items: [
      { text: 'Depth', status: 'open' },
      { text: 'Age', status: 'open' },
    ],
  },
};
const ASK = { name: 'ask_user', arguments: { question: 'Which lake do you mean?' } };
const offered = (tools: readonly { name: string }[] | undefined) => tools?.map(({ name }) => name) ?? [];

describe('a proposed plan', () => {
  it('is the answer as a numbered list, and nothing is looked up', async () => {
    const { response, message, chat } = await runResearch({ turns: [{ calls: [PLAN] }], request: { plan: 'propose' } });
    assert.equal(answerPart(message)?.text, '1. Depth\n2. Age');
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.plan, PLAN.arguments);
    assert.deepEqual(response.warnings, []);
    assert.equal(response.incomplete_details, null);
    assert.equal(response.usage.num_tool_calls, 0);
    assert.equal(chat.requests.length, 1);
    assert.deepEqual(offered(chat.requests[0]?.tools), ['update_plan']);
  });

  it('fails with the limit that was reached before it was written', async () => {
    const { response } = await runResearch({
      turns: () => ({ calls: [{ name: 'google', arguments: {} }] }),
      config: testConfig({ research: { budgets: { medium: { turns: 1 } } } }),
      request: { plan: 'propose' },
    });
    assert.match(response.error?.message ?? '', /^The model proposed no plan: the budget of 1 research turn is used/);
  });

  it('is requested once more if the model writes text, and the run fails without one', async () => {
    const { message, chat } = await runResearch({
      turns: [{ text: ['I would look at depth.'] }, { calls: [PLAN] }],
      request: { plan: 'propose' },
    });
    assert.equal(answerPart(message)?.text, '1. Depth\n2. Age');
    assert.match(JSON.stringify(chat.requests[1]?.messages), /Call update_plan now/);
    const { response } = await runResearch({ turns: () => ({ text: ['No.'] }), request: { plan: 'propose' } });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
  });
});

describe('a question to the user', () => {
  it('is the answer if the model asks first, and costs no tool call', async () => {
    const { response, message, chat, calls } = await runResearch({
      turns: [{ calls: [ASK] }],
      request: { clarify: true },
    });
    assert.equal(answerPart(message)?.text, 'Which lake do you mean?');
    assert.equal(response.status, 'completed');
    assert.deepEqual(calls, []);
    assert.deepEqual(response.warnings, []);
    assert.equal(response.incomplete_details, null);
    assert.equal(response.usage.num_tool_calls, 0);
    assert.equal(chat.requests.length, 1);
  });

  it('is refused once the research has begun, and offered only if it may be asked', async () => {
    const { message, asked } = await runResearch({
      turns: [{ calls: lookups('a') }, { calls: [ASK] }],
      request: { clarify: true },
    });
    assert.equal(answerPart(message)?.text, 'This is the answer.');
    assert.match(JSON.stringify(asked.research.at(-1)?.messages), /The research has begun/);
    for (const request of [{}, { clarify: true, toolChoice: 'none' }, { clarify: true, plan: 'propose' }] as const) {
      const { chat } = await runResearch({ turns: [{ calls: [PLAN] }], request });
      for (const each of chat.requests) {
        assert.ok(!offered(each.tools).includes('ask_user'));
        assert.doesNotMatch(JSON.stringify(each.messages), /ask_user/);
      }
    }
  });

  it('does not shift the results of later calls if it is refused', async () => {
    // Asked too late: the call has a number and no item.
    const script = (request: TurnRequest): ScriptedTurn => {
      if (isAnswerTurn(request)) return { text: ['So it is.'] };
      const results = request.messages.filter(({ role }) => role === 'tool').length;
      return results === 0 ? { calls: [ASK, ...lookups('a', 'b')] } : { text: ['Ready.'] };
    };
    const found = testTool('lookup', ({ q }) => ({ result: `Found ${q}.` }));
    await using harness = await openHarness({ chat: new ScriptedModel(script), tools: [found] });
    const { response } = await runToEnd(harness, question({ research: { clarify: true } }));
    assert.deepEqual(
      response.output.map((item) => (item.type === 'tool_call' ? item.result : item.type)),
      ['Found a.', 'Found b.', 'reasoning', 'message'],
    );
  });
});
