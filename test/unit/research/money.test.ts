import assert from 'node:assert/strict';
import { interruptedStep } from '../../../src/research/interrupted-step.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { stoppedUsage } from '../../../src/research/turns.ts';
import { estimateRequest } from '../../../src/upstream/decoding/estimate.ts';
import { noUsage, type TurnRequest } from '../../../src/upstream/turn.ts';
import { handbook } from '../../support/handbook.ts';
import { longRun } from '../../support/long-run.ts';
import { reportModel, requestKind } from '../../support/report-model.ts';
import { lookups, runResearch } from '../../support/research-run.ts';
import { testConfig } from '../../support/run-harness.ts';
import { cutTurn, type ScriptedTurn } from '../../support/scripted-model.ts';

const PRICE = { input: 2, cached_input: 0.2, output: 10 };
const MAX_COST = 0.2;
const book = handbook({ chapters: 60, length: 5000 });

describe('the cost of a run', () => {
  it('is reported to the last token if its routes have a price', async () => {
    const { response, narrow } = await longRun({ book, turns: 8, price: PRICE });
    const { input, output } = narrow.counted;
    assert.deepEqual(response.usage.cost, {
      total: Number(((input * PRICE.input + output * PRICE.output) / 1_000_000).toFixed(10)),
      currency: 'USD',
    });
  });

  it('is absent if they have none', async () => {
    const { response } = await longRun({ book, turns: 2 });
    assert.equal('cost' in response.usage, false);
  });

  it('includes cut turns, at an estimate if nobody counted them', async () => {
    const priced = (cost: number) => ({ inputTokens: 1000, outputTokens: 100, cost });
    const config = testConfig({ model: { routes: [{ provider: 'demo', model: 'demo', price: PRICE }] } });
    const { response } = await runResearch({
      config,
      turns: [
        { calls: lookups('a'), usage: priced(0.5) },
        { reasoning: ['Hm.'], breaks: cutTurn() },
        { calls: lookups('b'), usage: priced(0.25) },
        { text: ['Ready.'], usage: priced(0.125) },
      ],
      answers: [{ text: ['It is known.'], usage: priced(1) }],
    });
    // The cut turn has an estimated usage without a cost, so the price of the route applies.
    const cut = (10 * PRICE.input - 2 * (PRICE.input - PRICE.cached_input) + 5 * PRICE.output) / 1_000_000;
    assert.equal(response.usage.cost?.total, Number((1.875 + cut).toFixed(10)));
  });
});

describe('a turn that the gateway stopped', () => {
  it('counts at once as it was metered, also if it wrote nothing', () => {
    const state = new ResearchState();
    assert.equal(stoppedUsage({ state }, { estimate: 100, text: '' }), undefined);
    assert.equal(stoppedUsage({ state }, { estimate: 100, text: 'Hm.' })?.inputTokens, 100);
    state.spending.observe({ ...noUsage(), inputTokens: 50_000, cost: 0.5 });
    const usage = stoppedUsage({ state }, { estimate: 100, text: '' });
    assert.deepEqual([usage?.inputTokens, usage?.cost], [50_000, 0.5]);
    assert.ok(usage);
    state.apply({ t: 'spent', usage });
    assert.deepEqual([state.totalCost, state.spending.unreported()], [0.5, undefined]);
  });
});

describe('a turn that a crash cut', () => {
  it('is charged its prompt, also behind calls that the client approved', () => {
    const message = { role: 'assistant' as const, content: '' };
    const turn = { t: 'turn' as const, message, calls: [], cut: false, invented: false, estimate: 0, elapsedMs: 0 };
    const open = { type: 'reasoning' as const, text: 'Hm.', firstTokens: 100 };
    for (const inputTokens of [0, 40]) {
      const state = ResearchState.of([{ ...turn, usage: { ...noUsage(), inputTokens } }]);
      assert.equal(interruptedStep(state, open)?.usage.inputTokens, inputTokens || 100);
    }
  });
});

describe('max_cost', () => {
  it('counts a text that a content filter stopped before any of it was sent', async () => {
    const usage = { inputTokens: 1000, outputTokens: 100, cost: 0.5 };
    const config = testConfig({ model: { routes: [{ provider: 'demo', model: 'demo', price: PRICE }] } });
    const { response } = await runResearch({
      config,
      turns: [{ text: ['Ready.'], usage }],
      answers: [{ text: ['{"a":'], finish: 'content_filter', usage }],
      request: { format: { type: 'json_object' } },
    });
    assert.deepEqual([response.status, response.usage.cost?.total], ['failed', 1]);
  });

  for (const maxCost of [0.012, 0.03, 0.1, 0.3]) {
    it(`of ${maxCost} is not exceeded, and the answer is written from what was found`, async () => {
      const { response, told } = await longRun({ book, turns: 60, price: PRICE, request: { maxCost } });
      assert.equal(response.status, 'completed');
      assert.ok((response.usage.cost?.total ?? Infinity) <= maxCost, JSON.stringify(response.usage));
      assert.deepEqual(response.incomplete_details, { reason: 'budget' });
      assert.notEqual(response.output_text, '');
      if (maxCost >= 0.1) assert.ok(told.size >= 4, `${told.size} facts are told`);
    });
  }

  it('is not exceeded if the provider counts tools for nothing, and pages as they are estimated', async () => {
    const { tools } = handbook({ chapters: 3, length: 24_000 });
    const config = testConfig({ model: { routes: [{ provider: 'demo', model: 'demo', price: PRICE }] } });
    const charged = (request: TurnRequest, turn: ScriptedTurn): ScriptedTurn => {
      const inputTokens = estimateRequest(request.messages);
      const cost = (inputTokens * PRICE.input + 100 * PRICE.output) / 1_000_000;
      return { ...turn, usage: { inputTokens, outputTokens: 100, cost } };
    };
    const maxCost = 0.04;
    const urls = [1, 2, 3].map((n) => `https://handbook.example/chapter-${n}`);
    const { response, calls } = await runResearch({
      ...{ config, tools },
      turns: (request, n) =>
        charged(
          request,
          n === 0 ? { calls: urls.map((url) => ({ name: 'fetch_url_content', arguments: { url } })) } : {},
        ),
      answers: (request) => charged(request, { text: ['Chapter 1 has the code ZEBRA-1 [1].'] }),
      request: { maxCost },
    });
    assert.equal(calls.length, 3);
    assert.equal(response.status, 'completed');
    assert.ok((response.usage.cost?.total ?? Infinity) <= maxCost, JSON.stringify(response.usage));
  });

  it('is kept by the check and the repair of an answer, and by the sections of a report', async () => {
    const cost = (request: TurnRequest) => (estimateRequest(request.messages, request.tools) * PRICE.input) / 1_000_000;
    const config = testConfig({ model: { routes: [{ provider: 'demo', model: 'demo', price: PRICE }] } });
    for (const kind of ['check', 'section', 'repair']) {
      let spent = 0;
      const respond = reportModel({
        outline: ['One', 'Two', 'Three'].map((heading) => ({ heading, records: [1] })),
        section: () => ({ text: ['It had 1.9 million visitors in 2019 [1].'] }),
      });
      const say = (request: TurnRequest): ScriptedTurn => {
        const rest = MAX_COST - spent - 0.0002;
        // The first part of the answer costs nearly all that is left.
        const isFirst = spent < 0.1 && ['answer', 'section'].includes(requestKind(request));
        const own = isFirst ? rest : cost(request);
        spent += own;
        const turn =
          requestKind(request) === 'answer' ? { text: ['All about a of 1.9 million in 2019 [1].'] } : respond(request);
        return { ...turn, usage: { inputTokens: 1000, outputTokens: 100, cost: own } };
      };
      const report = kind === 'check' ? ('short' as const) : ('full' as const);
      const { response } = await runResearch({
        ...{ config, turns: say, answers: say },
        request: {
          ...{ report, verify: kind === 'check', maxCost: MAX_COST },
          format: kind === 'repair' ? { type: 'json_object' } : null,
        },
      });
      assert.ok((response.usage.cost?.total ?? 1) <= MAX_COST, `${kind}: ${response.usage.cost?.total}`);
      assert.equal(response.status, kind === 'repair' ? 'failed' : 'completed');
      if (kind !== 'repair') assert.match(response.output_text, /1\.9 million/);
      assert.equal(response.incomplete_details?.reason, kind === 'section' ? 'budget' : undefined);
    }
  });

  it('leaves enough for the answer, however long the outline of a report is', async () => {
    const maxCost = 0.08;
    const routes = [{ provider: 'demo', model: 'demo', price: PRICE }];
    const config = testConfig({ model: { routes, context_length: 32_000, max_completion_tokens: 8000 } });
    const respond = reportModel({
      outline: [],
      section: () => ({ text: ['It had 1.9 million visitors in 2019 [1].'] }),
    });
    const limits: number[] = [];
    const say = (request: TurnRequest): ScriptedTurn => {
      const { messages, tools, maxOutputTokens = 0 } = request;
      const isOutline = requestKind(request) === 'outline';
      if (requestKind(request) === 'section') limits.push(maxOutputTokens);
      const inputTokens = Math.round(estimateRequest(messages, tools));
      const outputTokens = isOutline ? maxOutputTokens : 20;
      const cost = (inputTokens * PRICE.input + outputTokens * PRICE.output) / 1_000_000;
      const outline = '{"heading": "One", "records": [1]} {"heading": "Two", "records": [1]}';
      const turn = isOutline ? { text: [outline], finish: 'length' as const } : respond(request);
      return { ...turn, usage: { ...noUsage(), inputTokens, outputTokens, cost } };
    };
    const { response } = await runResearch({ config, turns: say, answers: say, request: { report: 'full', maxCost } });
    assert.ok((response.usage.cost?.total ?? 1) <= maxCost, `${response.usage.cost?.total}`);
    assert.ok((limits[0] ?? 0) >= 700, `${limits[0]} tokens for the first section`);
  });

  it('changes nothing if it is not reached', async () => {
    const { response, told } = await longRun({ book, turns: 10, price: PRICE, request: { maxCost: 50 } });
    assert.equal(response.incomplete_details, null);
    assert.equal(told.size, 10);
  });

  it('can also be set for an effort in the configuration', async () => {
    const model = { research: { budgets: { medium: { cost: 0.05, turns: 60, tokens: 100_000_000 } } } };
    const { response } = await longRun({ book, turns: 60, price: PRICE, model });
    assert.ok((response.usage.cost?.total ?? Infinity) <= 0.05);
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
  });
});
