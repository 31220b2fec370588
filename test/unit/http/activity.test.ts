import assert from 'node:assert/strict';
import { Activity } from '../../../src/http/operator/activity.ts';

const report = {
  provider: 'p',
  model: 'deep',
  status: undefined,
  durationMs: 10,
  opened: false,
} as const;

describe('Activity', () => {
  it('counts failures by code and keeps the latest, bounded', () => {
    const activity = new Activity();
    for (let at = 1; at <= 1000; at++)
      activity.recordFailure({ at, where: 'run', code: at % 4 ? 'upstream_error' : 'other' });
    assert.deepEqual(activity.failuresByCode(), [
      { code: 'upstream_error', where: 'run', count: 150, lastAt: 999 },
      { code: 'other', where: 'run', count: 50, lastAt: 1000 },
    ]);
    assert.deepEqual(
      activity.failures(2).map(({ at }) => at),
      [1000, 999],
    );
  });

  it('counts failures and opened circuits per minute', () => {
    const activity = new Activity();
    for (const [at, opened] of [
      [1000, false],
      [61_000, true],
      [62_000, true],
    ] as const)
      activity.recordAttempt({ ...report, outcome: 'failed', opened }, at);
    assert.deepEqual(
      activity.minutesOf('p', 90_000).map(({ at, failed, opened }) => [at, failed, opened]),
      [
        [0, 1, 0],
        [60_000, 2, 2],
      ],
    );
  });

  it('measures the latencies of successful attempts, and ignores clients that left', () => {
    const activity = new Activity();
    for (let ms = 1; ms <= 100; ms++) activity.recordAttempt({ ...report, outcome: 'ok', durationMs: ms }, ms);
    activity.recordAttempt({ ...report, outcome: 'left', durationMs: 9000 }, 200);
    activity.recordAttempt({ ...report, outcome: 'rate_limit', status: 429, durationMs: 9000 }, 201);
    assert.deepEqual(activity.attemptsOf('p'), { attempts: 101, failed: 1, p50: 51, p95: 96 });
    assert.deepEqual(activity.failures(1), [
      { at: 201, where: 'provider', code: 'rate_limit', model: 'deep', key: '', provider: 'p', status: 429 },
    ]);
    assert.deepEqual(activity.attemptsOf('unknown'), { attempts: 0, failed: 0, p50: 0, p95: 0 });
  });
});
