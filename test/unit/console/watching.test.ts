import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { syntheticRun } from '../../support/synthetic-run.ts';

const load = (name: string) => import(fileURLToPath(new URL(`../../../src/console/page/${name}`, import.meta.url)));
const { RunState } = await load('run/fold.js');
const { clockOf } = await load('watching/clock.js');
const { planOf, progressOf } = await load('watching/plan-state.js');
const { play } = await load('watching/replay.js');
const { rowsOf, sharesOf } = await load('watching/waterfall.js');

interface Row {
  key: string;
  start: number;
  end: number;
  wait: number;
}

const call = (at: number, more: object = {}) => ({
  id: `tc_${at}`,
  type: 'tool_call',
  name: 'web_search',
  arguments: '{}',
  result: '{}',
  status: 'completed',
  ...more,
});
const thought = { id: 'rs_1', type: 'reasoning', content: [{ text: 'Hm.' }], status: 'completed' };
const used = { input_tokens: 1, cached_tokens: 0, output_tokens: 1, reasoning_tokens: 0, cost: null };
const turn = (started_ms: number, ended_ms: number, more: object = {}) => ({
  kind: 'research',
  started_ms,
  ended_ms,
  ...used,
  ...more,
});

function stateOf(items: object[]) {
  const state = new RunState();
  const events = syntheticRun({ id: 'resp_1', answer: 'Yes.', items });
  for (const [index, event] of events.entries()) state.apply({ ...event, sequence_number: index + 1 });
  return state;
}

describe("the console's timeline of a run", () => {
  it('gives an event the time of the first batch that can contain it', () => {
    const times = fc.uniqueArray(fc.nat(1000), { minLength: 1 }).map((found) => found.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(times, fc.nat(1100), (numbers, number) => {
        const at = clockOf({ times: numbers.map((each) => [each, each * 10]) });
        assert.equal(at(number), (numbers.find((each) => each >= number) ?? numbers.at(-1) ?? 0) * 10);
      }),
    );
    assert.equal(clockOf({ times: [] }), null);
    assert.equal(clockOf(null), null);
  });

  it('lists turns and calls in the order they began, with the time a turn waited', () => {
    // Events 2 and 3 are the thought, 4 to 7 the calls.
    const { items } = stateOf([thought, call(1), call(2)]);
    const times = [
      [2, 700],
      [3, 1000],
      [5, 1000],
      [6, 1200],
      [7, 4000],
    ];
    const rows: Row[] = rowsOf({ items, timeline: { times, turns: [turn(100, 1000)] }, now: 9000 });
    assert.deepEqual(
      rows.map(({ key, start, end, wait }) => [key, start, end, wait]),
      [
        ['turn 0', 100, 1000, 600],
        ['call 1', 1000, 1000, 0],
        ['call 2', 1200, 4000, 0],
      ],
    );
    assert.deepEqual(sharesOf(rows), { waiting: 600, thinking: 300, tools: 2800 });
  });

  it('ends unfinished calls now, and keeps the waiting times of lanes apart', () => {
    const { items } = stateOf([call(1, { lane: 2 }), call(2, { lane: 1 })]);
    const timeline = {
      times: [
        [2, 500],
        [4, 800],
      ],
      turns: [turn(0, 900, { lane: 1 }), turn(0, 900, { lane: 2 })],
    };
    const rows: Row[] = rowsOf({ items, timeline, now: 2000 });
    assert.deepEqual(
      rows.map(({ key, start, end, wait }) => [key, start, end, wait]),
      [
        ['turn 0', 0, 900, 800],
        ['turn 1', 0, 900, 500],
        ['call 0', 500, 800, 0],
        ['call 1', 800, 2000, 0],
      ],
    );
    assert.equal(rowsOf({ items, timeline: { times: [], turns: [] }, now: 0 }), undefined);
  });

  it('replays at the pace of the run, or at a made-up one if no times are known', () => {
    mock.timers.enable({ apis: ['setInterval'] });
    const steady = mock.method(performance, 'now', () => 0);
    try {
      const events = [1, 2, 3].map((sequence_number) => ({ sequence_number, type: 'x' }));
      const shown: number[] = [];
      const at = clockOf({
        times: [
          [1, 100],
          [2, 5000],
          [3, 5100],
        ],
      });
      const options = {
        events,
        from: 0,
        at,
        speed: () => 2,
        onPosition: (n: number) => shown.push(n),
        onEnd: () => shown.push(-1),
      };
      const passUntil = (ms: number) => {
        steady.mock.mockImplementation(() => ms);
        mock.timers.tick(33);
      };
      play(options);
      passUntil(49);
      assert.deepEqual(shown, []);
      passUntil(50);
      passUntil(2499);
      assert.deepEqual(shown, [1]);
      passUntil(2500);
      passUntil(2551);
      assert.deepEqual(shown, [1, 2, 3, -1]);
      steady.mock.mockImplementation(() => 0);
      play({ ...options, at: null });
      passUntil(100);
      assert.deepEqual(shown.slice(4), [3, -1]);
    } finally {
      mock.timers.reset();
      steady.mock.restore();
    }
  });

  it('takes the plan from the last update_plan call, whatever it contains', () => {
    const plan = (items: unknown) => call(1, { name: 'update_plan', arguments: JSON.stringify({ items }) });
    const state = stateOf([
      plan(['One', 'Two']),
      plan([{ text: 'One', status: 'done', finding: 'Yes' }, { text: 'Two', status: 'dropped' }, { text: 'Three' }]),
    ]);
    assert.deepEqual(state.plan[0], { text: 'One', status: 'done', finding: 'Yes' });
    assert.equal(progressOf(state.plan), '1 of 2 done');
    assert.equal(stateOf([call(1)]).plan, null);
    fc.assert(fc.property(fc.jsonValue(), (items) => void planOf({ items })));
    const long = planOf({
      items: Array.from({ length: 1000 }, () => ({ text: 'x'.repeat(9999), status: {}, finding: 7 })),
    });
    assert.deepEqual([long.length, long[0].text.length, long[0].status], [40, 400, 'open']);
  });

  it('counts lanes that items name, and ignores invalid ones', () => {
    const of = (lane: unknown) => stateOf([call(1, { lane })]);
    assert.deepEqual(
      [1, 3, 0, -1, 1e9, 'x', null, undefined].map((lane) => of(lane).lanes),
      [1, 3, 0, 0, 0, 0, 0, 0],
    );
  });
});
