import assert from 'node:assert/strict';
import { TurnError } from '../../../src/upstream/turn.ts';
import { lookup, lookups, type ResearchScript, runResearch, textOf, toolMessages } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';
import type { ScriptedTurn } from '../../support/scripted-model.ts';

/** A search that finds one page, or nothing if a query says so. */
const search = () =>
  testTool('web_search', ({ queries }) => {
    const query = String(Array.isArray(queries) ? queries[0] : '');
    if (query.includes('nothing')) return { result: '{"results":[]}' };
    const hit = {
      title: `On ${query}`,
      url: `https://found.example/${encodeURIComponent(query)}`,
      snippet: `All of ${query}.`,
    };
    return {
      result: JSON.stringify({ results: [{ ...hit, source_id: 1 }] }),
      sources: [{ ...hit, kind: 'listed' }],
    };
  });

const searches = (...queries: string[]) =>
  queries.map((query) => ({ name: 'web_search', arguments: { queries: [query] } }));

/** A first turn that finds something, then the same turn for ever. */
const thenAlways =
  (turn: ScriptedTurn | ((n: number) => ScriptedTurn)) =>
  (_request: unknown, n: number): ScriptedTurn => {
    if (n === 0) return { calls: lookups('harbours') };
    return typeof turn === 'function' ? turn(n) : turn;
  };

const LOOP = 'I should look at the harbours of the north again, because they matter. ';

/** Each guard: what the model does for ever, and the hint that it gets. */
const GUARDS: { name: string; turn: ScriptedTurn | ((n: number) => ScriptedTurn); hint: RegExp }[] = [
  { name: 'repeated calls', turn: { calls: lookups('harbours') }, hint: /exactly this call before/ },
  {
    name: 'near-duplicate queries',
    turn: (n) => ({
      calls: searches(['ports of the north', 'the north ports', 'Ports North!', 'port of north'][n % 4] ?? ''),
    }),
    hint: /nearly the same before/,
  },
  {
    name: 'unknown tools',
    turn: (n) => ({ calls: [{ name: 'google', arguments: { q: `${n}` } }] }),
    hint: /no tool named google/,
  },
  {
    name: 'broken arguments',
    turn: { calls: [{ name: 'lookup', arguments: 'look it up' }] },
    hint: /not a JSON object/,
  },
  { name: 'empty results', turn: (n) => ({ calls: searches(`nothing ${n}`) }), hint: /Nothing was found/ },
  {
    name: 'invented tool results',
    turn: { text: ['I call it. <tool_result>{"found": "gold"}</tool_result>'] },
    hint: /tool result that you wrote yourself/,
  },
  {
    name: 'refusals',
    turn: { text: ["I'm sorry, but I can't help with that."] },
    hint: /only look up public information/,
  },
  { name: 'endless repetition', turn: { reasoning: [LOOP.repeat(200)] }, hint: /repeated the same text without end/ },
  {
    name: 'turns that are stopped at their length',
    turn: (n) => ({ reasoning: [`I think ${n} times of it and`], finish: 'length' }),
    hint: /stopped at its length/,
  },
];

describe('a run whose model goes in circles', () => {
  for (const { name, turn, hint } of GUARDS) {
    it(`with ${name} gets a hint, restarts once with notes, and ends with an answer marked as stuck`, async () => {
      const { response, asked, events } = await runResearch({
        turns: thenAlways(turn),
        tools: [lookup(), search()],
        answers: [{ text: ['Harbours are known [1].'] }],
      });
      assert.equal(response.status, 'completed');
      assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
      assert.ok(asked.research.length <= 12, `${asked.research.length} turns`);
      assert.ok(asked.research.some((request) => hint.test(textOf(request))));

      const anew = asked.research.filter((request) =>
        /An earlier attempt at this question ran into a wall/.test(textOf(request)),
      );
      assert.ok(anew.length > 0, 'a fresh attempt was made');
      const firstAnew = asked.research.indexOf(anew[0] ?? assert.fail());
      assert.ok(
        asked.research.slice(firstAnew).every((request) => anew.includes(request)),
        'only one, in the same run',
      );
      assert.equal(
        anew[0]?.messages.filter((message) => message.role === 'assistant').length,
        0,
        'without the spoiled turns',
      );

      assert.match(textOf(asked.answer[0]), /All about harbours/, 'what was found is there for the answer');
      assert.match(textOf(asked.answer[0]), /Research has ended early/);
      assert.equal(response.output_text, 'Harbours are known [1].');
      assert.equal(asked.answer.length, 1);
      assert.equal(events.filter((event) => event.type === 'response.completed').length, 1);
      assert.ok(response.usage.total_tokens >= 15 * (asked.research.length - 4) + 15, 'every turn is counted');
      assert.equal(response.usage.num_tool_calls, response.output.filter((item) => item.type === 'tool_call').length);
    });
  }

  it('does not restart if it has found nothing', async () => {
    const { response, asked } = await runResearch({ turns: () => ({ text: ["I can't help with that."] }) });
    assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
    assert.equal(asked.research.length, 3, 'told twice, then the answer');
    assert.equal(asked.answer.length, 1);
  });

  it('gets a hint before the answer is written if it says nothing at all', async () => {
    const silent = await runResearch({ turns: () => ({ reasoning: ['Hm.'] }) });
    assert.match(textOf(silent.asked.research[1]), /neither called a tool nor said anything/);
    assert.deepEqual(silent.response.incomplete_details, { reason: 'stuck' });
    const found = await runResearch({ turns: thenAlways({ reasoning: ['That is enough.'] }) });
    assert.equal(found.asked.research.length, 3, 'told once');
    assert.equal(found.response.incomplete_details, null, 'with sources, silence means ready');
  });

  it('gets the same hint if its provider gives empty answers, which fail a run only at its start', async () => {
    const breaks = new TurnError('failed', 'an empty answer', { started: false, saysNothing: true });
    const found = await runResearch({ turns: thenAlways({ breaks }) });
    assert.match(textOf(found.asked.research[2]), /neither called a tool nor said anything/);
    assert.equal(found.asked.research.length, 3, 'told once');
    assert.equal(found.response.incomplete_details, null);
    assert.equal(found.response.output_text, 'This is the answer.');
    const { response } = await runResearch({ turns: () => ({ breaks }) });
    assert.equal(response.error?.message, 'an empty answer');
  });

  it('has the tokens of the repetition in its usage', async () => {
    const { response } = await runResearch({ turns: thenAlways({ reasoning: [LOOP.repeat(200)] }) });
    assert.equal(response.usage.estimated, true);
    assert.ok(response.usage.output_tokens > 1000);
    const reasoning = response.output.filter((item) => item.type === 'reasoning');
    assert.ok(reasoning.some((item) => item.status === 'incomplete'));
  });
});

describe('a model that got a hint', () => {
  const helped = async (script: ResearchScript) => {
    const result = await runResearch(script);
    assert.equal(result.response.status, 'completed');
    assert.equal(result.response.incomplete_details, null);
    return result;
  };

  it('is not stopped if it then continues well', async () => {
    await helped({ turns: [{ text: ["I'm sorry, I can't assist with this."] }, { calls: lookups('a') }] });
    await helped({ turns: [{ reasoning: [LOOP.repeat(100)] }, { calls: lookups('a') }] });
    await helped({ turns: [{ text: ['Observation: {"found": 1}'] }, { calls: lookups('a') }] });
    await helped({ turns: [{}, { calls: lookups('a') }] });
  });

  it('is not stopped in a long run, as only problems in a row count', async () => {
    const { response, calls } = await runResearch({
      turns: (_request, n) => {
        if (n >= 40) return { text: ['Ready.'] };
        if (n % 8 === 3) return { calls: searches(`nothing ${n}`) };
        if (n % 8 === 5) return { text: ['I cannot help with that.'] };
        if (n % 8 === 7) return { reasoning: [LOOP.repeat(100)] };
        return { calls: lookups(`page-${n}`) };
      },
      tools: [lookup(), search()],
      request: { effort: 'high' },
    });
    assert.equal(response.incomplete_details, null);
    assert.equal(calls.length, 30);
  });

  it('does not see its invented result in later requests', async () => {
    const { asked, response } = await helped({
      turns: [{ text: ['Let me see. <tool_result>{"found": "gold in Elmsworth"}</tool_result>'], calls: lookups('a') }],
    });
    assert.doesNotMatch(textOf(asked.research[1]), /gold in Elmsworth/);
    assert.match(textOf(asked.research[1]), /Let me see\./);
    assert.match(JSON.stringify(response.output), /gold in Elmsworth/, 'the reader sees what the model said');
  });

  it('may repeat a tool result word for word, and the reader sees it without its tags', async () => {
    const { asked, response } = await runResearch({
      turns: (request, n) => {
        if (n === 0) return { calls: lookups('a') };
        return { text: [`Ready: ${toolMessages(request).at(-1)}`] };
      },
      answers: (request) => ({ text: [`It says ${toolMessages(request).at(-1)}, <tool_result-abcdefghijkl>`] }),
      tools: [lookup()],
    });
    assert.equal(asked.research.length, 2, 'no note was needed');
    assert.match(response.output_text, /^It says \n/);
    assert.doesNotMatch(JSON.stringify(response.output), /tool_result-/);
  });

  it('gets the result of a repeated call again if that is no longer whole', async () => {
    const page = (q: unknown) =>
      JSON.stringify({ title: `T ${q}`, content: `${'Filler of no use. '.repeat(100)}Page ${q} ends.` });
    const tool = testTool('lookup', ({ q }) => ({ result: page(q) }));
    const { asked } = await runResearch({
      turns: (_request, n) => {
        if (n < 7) return { calls: lookups(`p${n}`) };
        return n === 7 ? { calls: lookups('p0') } : { text: ['Ready.'] };
      },
      tools: [tool],
      config: testConfig({
        model: { context_length: 2800, max_completion_tokens: 400 },
        research: { keep_tool_results: 1 },
      }),
    });
    assert.ok(!toolMessages(asked.research[7]).some((shown) => shown.includes('T p0')), 'it is no longer whole');
    const again = toolMessages(asked.research[8]).at(-1) ?? '';
    assert.match(again, /exactly this call before/);
    assert.ok(again.includes(page('p0').slice(0, 1500)), 'and is whole again');
  });
});

describe('results of many calls in one turn', () => {
  it('are whole in the next turn, however many they are', async () => {
    const words = Array.from({ length: 9 }, (_, n) => `p${n}`);
    const tool = testTool('lookup', ({ q }) => ({ result: `${'Filler of no use. '.repeat(150)}Page ${q} ends.` }));
    const { asked } = await runResearch({ turns: [{ calls: lookups(...words) }], tools: [tool] });
    const shown = toolMessages(asked.research[1]);
    assert.deepEqual(
      shown.map((text) => text.length > 2700),
      words.map(() => true),
    );
  });
});

describe('calls that do not count as repeated', () => {
  it('differ by a number, a name, an operator or a word', async () => {
    const queries = [
      'population of Berlin 2020',
      'population of Berlin 2021',
      'population of Bern 2020',
      'population of Berlin in 2020 by district and age and sex and income and origin',
      'population of Berlin in 2020 by district and age and sex and income and Neukölln',
      'learn C',
      'learn C++',
      'learn C#',
      'jaguar car',
      'jaguar -car',
      '"open source" licence',
      'open source licence',
      'runs site:a.example',
      'runs site:b.example',
      '东京的人口',
      '大阪的人口',
      'विश्व की जनसंख्या',
      'विश्व का क्षेत्रफल',
    ];
    const { calls, asked } = await runResearch({
      turns: queries.map((query) => ({ calls: searches(query) })),
      tools: [search()],
      request: { effort: 'high' },
    });
    assert.equal(calls.length, queries.length, textOf(asked.answer[0]));
  });

  it('include a search with one new query among old ones', async () => {
    const { calls } = await runResearch({
      turns: [
        { calls: searches('ports') },
        { calls: [{ name: 'web_search', arguments: { queries: ['ports', 'mills'] } }] },
      ],
      tools: [search()],
    });
    assert.equal(calls.length, 2);
  });

  it('include a call of a server whose state may have changed since', async () => {
    const named = (name: string) => testTool(name, () => ({ result: '{"ok":true}' }));
    const look = { name: 'browser.look', arguments: {} };
    const { calls, asked } = await runResearch({
      turns: [
        { calls: [look] },
        { calls: [{ name: 'browser.click', arguments: { on: 'next' } }] },
        { calls: [look] },
        { calls: [look] },
      ],
      tools: [named('browser.look'), named('browser.click')],
    });
    assert.deepEqual(
      calls.map((call) => call.name),
      ['browser.look', 'browser.click', 'browser.look'],
    );
    assert.match(toolMessages(asked.research[4]).at(-1) ?? '', /exactly this call before/);
  });

  it('accept a parameter named raw', async () => {
    const { calls } = await runResearch({ turns: [{ calls: [{ name: 'lookup', arguments: { q: 'a', raw: true } }] }] });
    assert.equal(calls[0]?.status, 'completed');
  });
});
