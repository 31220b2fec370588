import assert from 'node:assert/strict';
import { RunView } from '../../../src/cli/ask/run-view.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { SourceRegistry } from '../../../src/research/run/sources.ts';
import { toReasoningStep } from '../../../src/runs/projections/chat-steps.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { TurnError } from '../../../src/upstream/turn.ts';
import { assertItemsInOrder } from '../../support/lane-items.ts';
import { attemptOf, laneModel, partsOf, turnsIn } from '../../support/lane-model.ts';
import { lookup, lookups, runResearch, textOf } from '../../support/research-run.ts';
import { openHarness, question, testConfig } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';

const PARTS = Array.from({ length: 8 }, (_, n) => `part${n}`);

const lookedUp = ({ output }: ResponseObject) =>
  output
    .flatMap((item) => (item.type === 'tool_call' && item.name === 'lookup' ? [String(item.arguments)] : []))
    .sort();

describe('lanes', () => {
  it('research the parts of a plan in parallel: eight take a quarter of the turns, with the same findings', async () => {
    const model = laneModel(PARTS, { times: 3 });
    const turns = (request: TurnRequest) => model(request);
    const one = await runResearch({ turns, answers: turns, request: { effort: 'high' } });
    // Each turn of a lane waits until all lanes request it, so lanes that ran one after another would wait for ever.
    const waiting = new Map<number, (() => void)[]>();
    const gate = (request: TurnRequest): ScriptedTurn => {
      const turn = model(request);
      if (!partsOf(request)) return turn;
      const { promise, resolve } = Promise.withResolvers<void>();
      const round = [...(waiting.get(turnsIn(request)) ?? []), resolve];
      waiting.set(turnsIn(request), round);
      if (round.length === PARTS.length) for (const open of round) open();
      return { ...turn, gate: promise };
    };
    const many = await runResearch({ turns: gate, answers: turns, request: { effort: 'high', lanes: 8 } });
    assert.deepEqual(lookedUp(many.response), lookedUp(one.response));
    assert.equal(lookedUp(many.response).length, 24);
    // In sequence: the plan, the rounds of the lanes, and the turn after them.
    const path = 1 + waiting.size + 1;
    assert.ok(path * 4 <= one.asked.research.length, `${path} of ${one.asked.research.length} turns`);
    for (const part of PARTS) assert.match(textOf(many.asked.answer[0]), new RegExp(`All about ${part}-2`), part);
    assert.equal(many.response.incomplete_details, null);
  });

  it('are reported in batches: a thought, its calls as added, then as done, each with its lane', async () => {
    const model = laneModel(['depth', 'age'], { times: 1 });
    const twice = (request: TurnRequest) => {
      const turn = model(request);
      return partsOf(request) && turn.calls
        ? { ...turn, calls: [...turn.calls, ...lookups(`${partsOf(request)}-b`)] }
        : turn;
    };
    for (const profile of [undefined, 'openai'] as const) {
      const { events, response } = await runResearch({
        turns: twice,
        answers: model,
        request: { lanes: 2, ...(profile && { profile }) },
      });
      assertItemsInOrder(events);
      const reported = events.flatMap((event) =>
        (event.type === 'response.output_item.added' || event.type === 'response.output_item.done') &&
        'lane' in event.item
          ? [`${event.item.lane} ${event.item.type} ${event.type.slice(21)}`]
          : [],
      );
      const call = profile ? 'mcp_call' : 'tool_call';
      const batch = (lane: number) =>
        ['reasoning added', 'reasoning done', `${call} added`, `${call} added`, `${call} done`, `${call} done`].map(
          (each) => `${lane} ${each}`,
        );
      const [first] = reported;
      const order = first?.startsWith('1') ? [1, 2] : [2, 1];
      assert.deepEqual(reported.slice(0, 12), order.flatMap(batch));
      assert.equal(
        response.plan?.items.every(({ status }) => status === 'done'),
        true,
      );
      const view = new RunView();
      const lines = events.map((event) => view.update(event) ?? '');
      assert.equal(lines.filter((line) => /^lane [12]: \S*lookup: /.test(line)).length, 8);
      const steps = response.output.map(toReasoningStep).filter((step) => step !== undefined);
      assert.equal(steps.filter(({ type }) => type === 'tool_call').length, 4);
    }
  });

  it('are not used without a plan, with low effort or with plan: off', async () => {
    for (const request of [{ lanes: 4 }, { lanes: 4, effort: 'low' as const }, { lanes: 4, plan: 'off' as const }]) {
      const { asked, response } = await runResearch({ turns: [{ calls: lookups('a') }], request });
      assert.equal(asked.research.length, 2);
      assert.ok(!JSON.stringify(response.output).includes('"lane"'));
    }
  });

  describe('share one budget', () => {
    const greedy =
      (parts: readonly string[]) =>
      (request: TurnRequest): ScriptedTurn => {
        const own = partsOf(request);
        if (!own) return laneModel(parts)(request);
        return { calls: lookups(`${own}-${turnsIn(request)}-a`, `${own}-${turnsIn(request)}-b`) };
      };
    const medium = (budget: object) => testConfig({ research: { budgets: { medium: budget } } });

    it('of tool calls to the last one, and the response says what ended it', async () => {
      for (const [request, config, reason] of [
        [{ maxToolCalls: 11 }, medium({}), 'max_tool_calls'],
        [{}, medium({ tool_calls: 11 }), 'budget'],
      ] as const) {
        const turns = greedy(['a', 'b', 'c']);
        const { response } = await runResearch({ turns, config, request: { lanes: 3, ...request } });
        assert.equal(response.usage.num_tool_calls, 11);
        assert.deepEqual(response.incomplete_details, { reason });
        assert.equal(response.status, 'completed');
      }
    });

    it('of turns: what one does not use goes to others, and the total is never exceeded', async () => {
      const parts = ['short', 'long'];
      const turns = (request: TurnRequest): ScriptedTurn =>
        partsOf(request)?.[0] === 'short' ? { text: ['Ready.'] } : greedy(parts)(request);
      const { asked, response } = await runResearch({ turns, config: medium({ turns: 10 }), request: { lanes: 2 } });
      const long = asked.research.filter((request) => partsOf(request)?.[0] === 'long').length;
      assert.equal(long, 10 - 1 - 1 - 3, 'all but the plan, the turn of the other, and a share for what follows');
      assert.ok(asked.research.length <= 10);
      assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    });

    it('of tokens and of cost, however many ask at the same time', async () => {
      const usage = { inputTokens: 600, outputTokens: 400 };
      const price = { input: 2, output: 10 };
      const config = testConfig({
        model: { routes: [{ provider: 'demo', model: 'demo', price }], max_completion_tokens: 1000 },
        research: { budgets: { medium: { tokens: 40_000, turns: 200, tool_calls: 400 } } },
      });
      const parts = PARTS.slice(0, 6);
      const asks = greedy(parts);
      const turns = (request: TurnRequest) => ({ ...asks(request), usage: { ...usage, cost: 0.0052 } });
      const answers = [{ text: ['So it is.'], usage: { ...usage, cost: 0.0052 } }];
      const byTokens = await runResearch({ turns, answers, config, request: { lanes: 6 } });
      assert.ok(byTokens.response.usage.total_tokens <= 40_000, `${byTokens.response.usage.total_tokens}`);
      assert.ok(byTokens.response.usage.total_tokens > 15_000);
      assert.deepEqual(byTokens.response.incomplete_details, { reason: 'budget' });
      const byCost = await runResearch({ turns, answers, config, request: { lanes: 6, maxCost: 0.12 } });
      assert.ok((byCost.response.usage.cost?.total ?? 1) <= 0.12, `${byCost.response.usage.cost?.total}`);
      assert.deepEqual(byCost.response.incomplete_details, { reason: 'budget' });
      assert.equal(byCost.response.status, 'completed');
      for (const [maxCost, calls] of [
        [0.05, 8],
        [0.03, 2],
      ] as const) {
        const little = await runResearch({ turns, answers, config, request: { lanes: 6, maxCost } });
        const { cost, num_tool_calls } = little.response.usage;
        assert.ok((cost?.total ?? 1) <= maxCost, `${cost?.total}`);
        assert.ok(num_tool_calls >= calls, `${maxCost}: ${num_tool_calls} calls, ${cost?.total}`);
      }
    });

    it('of parallel calls', async () => {
      let running = 0;
      let peak = 0;
      const tool = {
        ...lookup(),
        async call() {
          peak = Math.max(peak, ++running);
          for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setImmediate(resolve));
          running--;
          return { sources: [], result: () => 'Found.' };
        },
      };
      await runResearch({
        turns: greedy(['a', 'b', 'c', 'd']),
        tools: [tool],
        config: medium({ parallel_tool_calls: 3, turns: 12 }),
        request: { lanes: 4 },
      });
      assert.equal(peak, 3);
    });
  });

  it('fail alone: what the others found stays, and the failed part is named', async () => {
    const parts = ['depth', 'age', 'width'];
    const model = laneModel(parts, { times: 1 });
    const turns = (request: TurnRequest): ScriptedTurn =>
      partsOf(request)?.[0] === 'age'
        ? { breaks: new TurnError('failed', 'the provider is on fire', { started: false }) }
        : model(request);
    const { response, asked } = await runResearch({ turns, answers: model, request: { lanes: 3 } });
    assert.equal(response.status, 'completed');
    assert.deepEqual(lookedUp(response).length, 2);
    const behind = textOf(asked.research.find((request) => /were researched at the same time/.test(textOf(request))));
    assert.match(behind, /These parts ended early:.*- age: the provider is on fire/);
    assert.match(textOf(asked.research.at(-1)), /are still open.*- age/);
    const all = await runResearch({
      turns: (request) =>
        partsOf(request) ? { breaks: new TurnError('failed', 'all is on fire', { started: false }) } : model(request),
      request: { lanes: 3 },
    });
    assert.equal(all.response.status, 'failed');
    assert.match(all.response.error?.message ?? '', /all is on fire/);
  });

  it('are all aborted if the run is cancelled', async () => {
    const parts = ['depth', 'age', 'width'];
    const begun = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    const model = laneModel(parts);
    class Watched extends ScriptedModel {
      override turn(request: TurnRequest, options: { signal: AbortSignal }) {
        if (partsOf(request)) signals.push(options.signal);
        if (signals.length === parts.length) begun.resolve();
        return super.turn(request, options);
      }
    }
    const chat = new Watched((request) => (partsOf(request) ? { gate: new Promise(() => {}) } : model(request)));
    await using harness = await openHarness({ chat, tools: [lookup()] });
    const { run } = await harness.runs.submit(question({ research: { lanes: 3 } }));
    await begun.promise;
    const cancelled = await harness.runs.cancel(run);
    assert.ok(cancelled);
    await Promise.all(
      signals.map((signal) => signal.aborted || new Promise((resolve) => signal.addEventListener('abort', resolve))),
    );
  });

  it('share one number for a source that two of them find at once, and note it once', () => {
    const sources = new SourceRegistry();
    const found = [{ url: 'https://a.example/', title: 'A', snippet: '', kind: 'listed' as const }];
    const first = sources.add(found);
    const second = sources.add(found);
    assert.deepEqual(second, first);
    sources.note(second);
    assert.deepEqual(sources.add(found), []);
  });
});

describe('attempts', () => {
  const ANSWERS = [
    'The lake is 1642 metres deep [1].',
    'The lake is 812 metres deep [2].',
    'The lake is 1642 metres deep [1].',
  ];
  const pages: Record<string, string> = {
    survey: 'The lake is 1642 metres deep, says the survey.',
    forum: 'Some say the lake was dug by giants.',
  };

  /** One of three attempts is wrong: its answer is not in the page that it reads. */
  const model =
    (wrong: number) =>
    (request: TurnRequest): ScriptedTurn => {
      const attempt = attemptOf(request);
      if (attempt !== undefined) {
        const isWrong = attempt === wrong;
        if (turnsIn(request) === 0) return { calls: lookups(isWrong ? 'forum' : 'survey') };
        return { text: [ANSWERS[isWrong ? 1 : 0] ?? ''] };
      }
      const prompt = textOf(request);
      if (!isAnswerTurn(request)) {
        const again = /not carried by|by no source/.test(prompt) && !/All about again/.test(prompt);
        return again ? { text: ['They disagree on the depth.'], calls: lookups('again') } : { text: ['I am ready.'] };
      }
      // The model believes the answer that a source carries according to the gateway.
      const [, carried = 'Nobody knows.'] = /- (The lake is \d+ metres deep)[^(]*\(carried by \[/.exec(prompt) ?? [];
      return { text: [`${carried} [1].`] };
    };
  const tool = {
    ...lookup(),
    async call({ q }: Record<string, unknown>) {
      const url = `https://pages.example/${q}`;
      const content = pages[String(q)] ?? `All about ${q}.`;
      return {
        sources: [{ url, title: String(q), snippet: content, kind: 'read' as const }],
        result: (idOf: (url: string) => number) => ({ source_id: idOf(url), url, content }),
      };
    },
  };

  for (const wrong of [1, 2, 3]) {
    it(`find the right answer if attempt ${wrong} of three is wrong, and search once more where they disagree`, async () => {
      const respond = model(wrong);
      const { response, asked, events } = await runResearch({
        turns: respond,
        answers: respond,
        tools: [tool],
        request: { attempts: 3 },
      });
      assert.match(response.output_text, /1642 metres/);
      assertItemsInOrder(events);
      const beginnings = asked.research.flatMap((request) => /Begin [^"]+/.exec(textOf(request))?.[0] ?? []);
      assert.equal(new Set(beginnings).size, 3);
      const compared = asked.research.filter((request) => /What each attempt came to/.test(textOf(request)));
      assert.equal(compared.length, 2, 'one turn compares, one says that it is ready');
      assert.equal(response.output.filter((item) => item.type === 'tool_call').length, 4);
    });
  }

  it('answer in the requested format after at most one repair, or fail', async () => {
    const schema = { type: 'object', properties: { metres: { type: 'integer' } }, required: ['metres'] };
    const format = { type: 'json_schema' as const, name: 'depth', schema, strict: true, description: undefined };
    const respond = model(2);
    const said = async (...answers: string[]) => {
      const { response, events } = await runResearch({
        turns: respond,
        answers: answers.map((text) => ({ text: [text] })),
        tools: [tool],
        request: { attempts: 3, format },
      });
      const shown = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
      return { code: response.error?.code, text: response.output_text, shown };
    };
    const right = '{"metres":1642}';
    const mended = await said('The lake is 1642 metres deep [1].', right);
    assert.deepEqual(mended, { code: undefined, text: right, shown: right });
    const broken = await said('{"metres":"1642"}');
    assert.deepEqual(broken, { code: 'invalid_output', text: '', shown: '' });
  });

  it('are compared by what sources support, even against the majority', async () => {
    const respond = model(0);
    const { asked } = await runResearch({
      turns: (request) =>
        attemptOf(request) !== 2 && attemptOf(request) !== undefined && turnsIn(request) > 0
          ? { text: ['The lake is 812 metres deep [1].'] }
          : respond(request),
      answers: respond,
      tools: [tool],
      request: { attempts: 3 },
    });
    const prompt = textOf(asked.answer[0]);
    assert.match(prompt, /812 metres deep \[1\]\. \((?:not carried by|carried by no source)/);
    assert.match(prompt, /1642 metres deep \[1\]\. \(carried by \[1\]\)/);
  });
});
