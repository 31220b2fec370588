import assert from 'node:assert/strict';
import { lookups, runResearch, textOf } from '../../support/research-run.ts';
import { testConfig } from '../../support/run-harness.ts';

const verifying = (budget: object = {}) => testConfig({ research: { verify: true, budgets: { medium: budget } } });
const checks = (text: string) => /Before the answer is written, check your findings/.test(text);

describe('research.verify', () => {
  it('asks for a check once, before the answer; claims without support are left to be dropped', async () => {
    const { asked, response } = await runResearch({
      config: verifying(),
      turns: [
        { calls: lookups('a') },
        { text: ['I am ready.'] },
        { text: ['It opened in 1871 [1]. It is painted red: UNSUPPORTED.'] },
      ],
    });
    assert.equal(asked.research.length, 3);
    assert.deepEqual(
      asked.research.map((request) => checks(textOf(request))),
      [false, false, true],
    );
    assert.match(textOf(asked.answer[0]), /It is painted red: UNSUPPORTED/);
    assert.match(textOf(asked.answer[0]), /Leave out claims that were found to be UNSUPPORTED/);
    assert.equal(response.incomplete_details, null);
    assert.equal(response.usage.total_tokens, 60);
  });

  it('lets the model search once more', async () => {
    const { asked, calls } = await runResearch({
      config: verifying(),
      turns: [
        { calls: lookups('a') },
        { text: ['I am ready.'] },
        { text: ['The colour is UNSUPPORTED; I look it up.'], calls: lookups('colour') },
        { text: ['I am ready.'] },
      ],
    });
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.arguments).q),
      ['a', 'colour'],
    );
    assert.equal(
      asked.research.filter((request) => checks(textOf(request))).length,
      2,
      'asked once, seen from then on',
    );
    assert.equal(asked.research.length, 4);
    assert.match(textOf(asked.answer[0]), /All about colour/);
  });

  it('is left out where the budget is spent: a run that was ready is not called cut', async () => {
    const { asked, response } = await runResearch({
      config: verifying({ turns: 2 }),
      turns: [{ calls: lookups('a') }, { text: ['I am ready.'] }],
    });
    assert.equal(asked.research.length, 2);
    assert.equal(response.incomplete_details, null);
  });

  it('is off by default', async () => {
    const { asked } = await runResearch({ turns: [{ calls: lookups('a') }] });
    assert.ok(asked.research.every((request) => !checks(textOf(request))));
  });
});

describe('a second attempt', () => {
  const endless = (_request: unknown, n: number) =>
    n % 2 === 0 && n < 6 ? { calls: lookups(`page-${n}`) } : { calls: lookups('page-0') };

  it('is in the same budget: its turns count with those before', async () => {
    const { asked, response } = await runResearch({
      config: testConfig({ research: { budgets: { medium: { turns: 10 } } } }),
      turns: endless,
    });
    assert.equal(asked.research.length, 10);
    assert.deepEqual(response.incomplete_details, { reason: 'budget' });
    assert.match(textOf(asked.research.at(-1)), /An earlier attempt/);
  });

  it('is in the same stream: one response, its items in order, one end', async () => {
    const { events, response } = await runResearch({ turns: endless });
    assert.deepEqual(response.incomplete_details, { reason: 'stuck' });
    assert.equal(events.filter((event) => event.type === 'response.created').length, 1);
    assert.equal(events.at(-1)?.type, 'response.completed');
    const indexes = events.flatMap((event) =>
      event.type === 'response.output_item.added' ? [event.output_index] : [],
    );
    assert.deepEqual(indexes, [...indexes.keys()]);
  });

  it('has notes with what was found and what was searched for', async () => {
    const { asked } = await runResearch({ turns: endless });
    const anew = asked.research.find((request) => /An earlier attempt/.test(textOf(request)));
    const notes = anew?.messages.at(-1);
    assert.ok(notes?.role === 'user' && typeof notes.content === 'string');
    assert.match(notes.content, /<(tool_result-\w+)>[\s\S]*All about page-0[\s\S]*All about page-4[\s\S]*<\/\1>/);
    assert.equal(anew?.messages.length, 3, 'system, question, notes');
  });
});
