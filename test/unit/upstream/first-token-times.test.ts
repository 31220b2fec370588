import assert from 'node:assert/strict';
import { FirstTokenTimes } from '../../../src/upstream/routing/first-token-times.ts';

const ask = { base: 30_000, max: 180_000, bytes: 0 };

describe('FirstTokenTimes.patience', () => {
  it('is the configured time until the route is known, then three times the usual, up to the maximum', () => {
    const times = new FirstTokenTimes();
    for (const ms of [60_000, 70_000, 80_000]) times.record(ms);
    assert.equal(times.patience(ask), 30_000);
    times.record(50_000);
    assert.equal(times.patience(ask), 180_000, 'three times what it takes, and never more than it may take');
  });

  it('follows a model that starts to think long, and one that stops', () => {
    const times = new FirstTokenTimes();
    for (let n = 0; n < 10; n += 1) times.record(35_000);
    assert.equal(times.patience(ask), 105_000);
    for (let n = 0; n < 32; n += 1) times.record(5000);
    assert.equal(times.patience(ask), 15_000);
  });

  it('is at least ten seconds, or the configured time if that is less', () => {
    const times = new FirstTokenTimes();
    for (let n = 0; n < 10; n += 1) times.record(20);
    assert.equal(times.patience(ask), 10_000);
    assert.equal(times.patience({ ...ask, base: 400 }), 400);
  });

  it('is not raised by a single delay, but by a large request', () => {
    const times = new FirstTokenTimes();
    for (let n = 0; n < 10; n += 1) times.record(4000);
    times.record(100_000);
    assert.equal(times.patience(ask), 12_000);
    assert.equal(times.patience({ ...ask, bytes: 320_000 }), 22_000);
  });

  it('doubles once for a route that had answered when it was given up, and is reset for one that had not', () => {
    const times = new FirstTokenTimes();
    times.gaveUp(30_000, { hadAnswered: true });
    assert.equal(times.patience(ask), 60_000);
    times.gaveUp(60_000, { hadAnswered: true });
    assert.equal(times.patience(ask), 60_000);
    times.gaveUp(60_000, { hadAnswered: false });
    assert.equal(times.patience(ask), 30_000);
  });
});
