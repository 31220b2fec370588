import assert from 'node:assert/strict';
import type { Clock } from '../../../src/base/clock.ts';
import type { ResearchModelConfig } from '../../../src/config/schema.ts';
import { budgetOf, exhaustedBudget } from '../../../src/research/run/budget.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { laneModel, partsOf } from '../../support/lane-model.ts';
import { lookup, lookups, runResearch, textOf, toolError, toolMessages } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';

const budget = (medium: object) => testConfig({ research: { budgets: { medium } } });
/** A model that never has enough: a new call in every turn. */
const insatiable = (_request: unknown, n: number) => ({ calls: lookups(`page-${n}`) });

describe('the budget of a research run', () => {
  it('of turns ends the research, and the answer is written from what was found', async () => {
    const { response, asked, calls } = await runResearch({ turns: insatiable, config: budget({ turns: 3 }) });
    assert.equal(asked.research.length, 3);
    assert.equal(calls.length, 3);
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.match(textOf(asked.answer[0]), /page-0.*page-2/);
    assert.match(textOf(asked.answer[0]), /Research has ended early \(the budget of 3 research turns is used\)/);
  });

  it('of tool calls is never exceeded, and calls beyond it get no item', async () => {
    const { response, asked, calls } = await runResearch({
      turns: [{ calls: lookups('a', 'b') }, { calls: lookups('c', 'd', 'e') }],
      config: budget({ tool_calls: 3 }),
    });
    assert.equal(calls.length, 3);
    assert.equal(response.usage.num_tool_calls, 3);
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.equal(asked.research.length, 2);
    const told = toolMessages(asked.answer[0]);
    assert.equal(told.length, 5, 'refused calls are answered too');
    assert.match(told[4] ?? '', /Not made: the budget of 3 tool calls is used/);
  });

  it('of tokens ends the research with a tenth left for the answer', async () => {
    const usage = { inputTokens: 300, outputTokens: 100 };
    const { response, asked } = await runResearch({
      turns: (request, n) => ({ ...insatiable(request, n), usage }),
      config: budget({ tokens: 1000 }),
    });
    assert.equal(asked.research.length, 3, '400 and 800 are below 900 tokens, 1200 are not');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
  });

  it('of minutes is measured by the clock', async () => {
    let now = 1_700_000_000_000;
    const clock: Clock = { now: () => now };
    const slow = testTool('lookup', ({ q }) => {
      now += 4 * 60_000;
      return { result: `{"found":"${q}"}` };
    });
    const { response, asked } = await runResearch({
      turns: insatiable,
      tools: [slow],
      clock,
      config: budget({ minutes: 10 }),
    });
    assert.equal(asked.research.length, 3, 'after 4 and 8 minutes there is time, after 12 there is not');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.match(textOf(asked.answer[0]), /the time budget of 10 minutes is used/);
  });

  it('of minutes counts the calls of lanes once they have ended', async () => {
    let now = 1_700_000_000_000;
    const slow = testTool('lookup', ({ q }) => {
      now += 5 * 60_000;
      return { result: `{"found":"${q}"}` };
    });
    const { response, asked } = await runResearch({
      turns: laneModel(['age', 'depth'], { times: 1 }),
      tools: [slow],
      clock: { now: () => now },
      config: budget({ minutes: 10 }),
      request: { lanes: 2 },
    });
    assert.equal(
      asked.research.filter((request) => !partsOf(request)).length,
      1,
      'the plan, and nothing after the lanes',
    );
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
  });

  it('of minutes ends a hanging tool call as failed', async () => {
    const hanging: Tool = { ...lookup(), call: () => new Promise(() => {}) };
    const { response, calls } = await runResearch({
      turns: [{ calls: lookups('a') }],
      tools: [hanging],
      config: budget({ minutes: 0.002 }),
    });
    assert.equal(toolError(calls[0]).code, 'timeout');
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
  });

  it('of minutes ends a hanging turn, and the run completes', async () => {
    const { response, reasoning } = await runResearch({
      turns: [{ reasoning: ['I look'], calls: lookups('a') }, { gate: new Promise(() => {}) }],
      config: budget({ minutes: 0.002 }),
    });
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.deepEqual(
      reasoning.map((item) => item.status),
      ['completed'],
    );
  });

  it('follows the effort of the request', async () => {
    const config = testConfig({ research: { budgets: { low: { turns: 1 }, high: { turns: 4 } } } });
    for (const [effort, turns] of [
      ['low', 1],
      ['high', 4],
    ] as const) {
      const { asked } = await runResearch({ turns: insatiable, config, request: { effort } });
      assert.equal(asked.research.length, turns, effort);
    }
  });

  it('leaves incomplete_details empty if the model is ready in time', async () => {
    const { response } = await runResearch({ turns: [{ calls: lookups('a') }], config: budget({ turns: 2 }) });
    assert.equal(response.incomplete_details, null);
  });

  it("is the default of the effort with the model's own values, within the gateway's minutes", () => {
    const model = testConfig({ research: { budgets: { high: { turns: 7, minutes: 90 } } } }).models.researcher;
    assert.ok(model?.kind === 'research');
    const own: ResearchModelConfig = model;
    assert.deepEqual(budgetOf(own, 'high', { maxMinutes: 60 }), {
      turns: 7,
      toolCalls: 300,
      tokens: 10_000_000,
      minutes: 60,
      parallelToolCalls: 8,
    });
    assert.equal(budgetOf(own, 'low', { maxMinutes: 60 }).minutes, 5);
  });

  it('names what is used up', () => {
    const bounds = { turns: 5, toolCalls: 10, tokens: 1000, minutes: 10, parallelToolCalls: 2 };
    const nothing = { turns: 0, tokens: 0, elapsedMs: 0 };
    assert.equal(exhaustedBudget(bounds, nothing), undefined);
    assert.match(exhaustedBudget(bounds, { ...nothing, turns: 5 }) ?? '', /turns/);
    assert.match(exhaustedBudget(bounds, { ...nothing, tokens: 900 }) ?? '', /token/);
    assert.match(exhaustedBudget(bounds, { ...nothing, elapsedMs: 540_000 }) ?? '', /time/);
  });
});

describe('max_tool_calls', () => {
  it('limits executed calls; refused ones get no item and are not counted', async () => {
    const { response, calls, asked } = await runResearch({
      turns: [{ calls: lookups('a', 'b', 'c', 'd') }, { calls: lookups('e') }],
      request: { maxToolCalls: 2 },
    });
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.arguments).q),
      ['a', 'b'],
    );
    assert.equal(response.usage.num_tool_calls, 2);
    assert.equal(response.max_tool_calls, 2);
    assert.deepEqual(response.incomplete_details, { reason: 'max_tool_calls' });
    assert.equal(asked.research.length, 1, 'nothing is asked that could not be done');
  });

  it('counts failed calls too', async () => {
    const failing = testTool('lookup', () => ({ result: '{"error":{"message":"no","code":"no"}}', failed: true }));
    const { response, calls } = await runResearch({
      turns: [{ calls: lookups('a') }, { calls: lookups('b') }],
      tools: [failing],
      request: { maxToolCalls: 1 },
    });
    assert.equal(calls.length, 1);
    assert.equal(response.usage.num_tool_calls, 1);
    assert.deepEqual(response.incomplete_details, { reason: 'max_tool_calls' });
  });

  it('leaves incomplete_details empty if it is used up exactly', async () => {
    const { response } = await runResearch({ turns: [{ calls: lookups('a', 'b') }], request: { maxToolCalls: 2 } });
    assert.equal(response.incomplete_details, null);
  });
});
