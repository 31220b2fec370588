import assert from 'node:assert/strict';
import { newRunId } from '../../../src/base/ids.ts';
import { EventTimes } from '../../../src/runs/executing/log/event-times.ts';
import { timelineOf } from '../../../src/runs/projections/timeline.ts';

const usage = { inputTokens: 10, cachedTokens: 0, outputTokens: 5, reasoningTokens: 1, estimated: false };

describe('event times of a run', () => {
  it('are attached to the next entry of the transcript, with close ones merged', () => {
    const times = new EventTimes();
    for (let at = 0; at <= 1000; at += 20) times.note(at / 20 + 1, at);
    assert.deepEqual(times.attachTo([]), []);
    const [first, last = ''] = times.attachTo(['{"t":"a"}', '{"t":"b"}']);
    assert.equal(first, '{"t":"a"}');
    assert.deepEqual(JSON.parse(last), { t: 'b', times: [1, 11, 21, 31, 41, 51].map((n) => [n, (n - 1) * 20]) });
    assert.deepEqual(times.attachTo(['{"t":"c"}']), ['{"t":"c"}'], 'each is told once');
  });

  it('are bounded, however long a step takes', () => {
    const times = new EventTimes();
    for (let n = 1; n <= 100_000; n += 1) times.note(n, n * 1000);
    const [entry = ''] = times.attachTo(['{"t":"a"}']);
    assert.ok(entry.length < 200_000, `${entry.length}`);
    assert.match(entry, /\[100000,100000000\]\]\}$/);
  });

  it('become milliseconds since submission, and turns with their usage', async () => {
    const run = { id: newRunId(), createdAt: 1000, startedAt: 1100, endedAt: 9000, last: 40 };
    const entries = [
      {
        t: 'turn',
        usage: { ...usage, cost: 0.5 },
        times: [
          [4, 1500],
          [8, 2000],
        ],
      },
      { t: 'result', times: [[9, 5000]] },
      // An end was refused: its events came again, with others.
      { t: 'note', times: [[14, 5000]] },
      // Another instance continued, whose clock is behind.
      { t: 'note', times: [[10, 4000]] },
      { t: 'spent', usage: { ...usage, inputTokens: 0, outputTokens: 0 } },
      { t: 'answered', usage, times: [[30, 8000]] },
    ];
    const { times, turns } = await timelineOf(
      run,
      entries.map((entry) => JSON.stringify(entry)),
    );
    assert.deepEqual(times, [
      [4, 500],
      [8, 1000],
      [9, 4000],
      [10, 4000],
      [30, 7000],
      [40, 8000],
    ]);
    const used = { input_tokens: 10, cached_tokens: 0, output_tokens: 5, reasoning_tokens: 1 };
    assert.deepEqual(turns, [
      { kind: 'research', started_ms: 100, ended_ms: 1000, ...used, cost: 0.5 },
      { kind: 'answer', started_ms: 4000, ended_ms: 7000, ...used, cost: null },
    ]);
  });

  it('are absent in runs of earlier versions; lanes have turns of their own', async () => {
    const run = { id: newRunId(), createdAt: 1000, startedAt: 1000, endedAt: 9000, last: 40 };
    const old = await timelineOf(run, [JSON.stringify({ t: 'turn', usage })]);
    assert.deepEqual([old.times, old.turns], [[], []]);
    const entries = [
      { t: 'turn', lane: 1, usage, times: [[4, 2000]] },
      { t: 'turn', lane: 2, usage, times: [[8, 3000]] },
      { t: 'turn', lane: 1, usage, times: [[9, 4000]] },
    ];
    const { turns } = await timelineOf(
      run,
      entries.map((entry) => JSON.stringify(entry)),
    );
    assert.deepEqual(
      turns.map(({ lane, started_ms, ended_ms }) => [lane, started_ms, ended_ms]),
      [
        [1, 0, 1000],
        [2, 0, 2000],
        [1, 1000, 3000],
      ],
    );
  });
});
