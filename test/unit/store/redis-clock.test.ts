import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { RedisClock } from '../../../src/store/redis/redis-clock.ts';

const HOUR = 3_600_000;
const ASK_MS = 10_000;

describe('the time of Redis', () => {
  /** What the steady time of this process shows. */
  let steady = 0;
  /** What the server's clock is ahead of it. */
  let ahead = 0;
  /** How long an answer is on its way, and whether there is one. */
  let underWay = 0;
  let isAway = false;
  let asked = 0;

  const script = async () => {
    asked += 1;
    const time = steady + ahead;
    steady += underWay;
    if (isAway) throw new Error('Redis is away');
    return time;
  };
  const open = () => RedisClock.open({ redis: { script }, keys: { probe: 'probe' } });
  const askAgain = async () => {
    steady += ASK_MS;
    mock.timers.tick(ASK_MS);
    await Promise.resolve();
    await Promise.resolve();
  };

  beforeEach(() => {
    [steady, ahead, underWay, isAway, asked] = [5000, 400 * HOUR, 0, false, 0];
    mock.method(performance, 'now', () => steady);
    mock.timers.enable({ apis: ['setInterval'] });
  });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });

  it('goes on between answers, and is moved back by none that was long on its way', async () => {
    using clock = await open();
    assert.equal(clock.now(), steady + ahead);
    steady += 70;
    assert.equal(clock.now(), steady + ahead);
    underWay = 900;
    await askAgain();
    assert.equal(asked, 2);
    assert.equal(clock.now(), steady + ahead);
  });

  it('is never ahead, and better known with the next answer where the first took long', async () => {
    underWay = 3000;
    using clock = await open();
    assert.equal(clock.now(), steady + ahead - underWay);
    underWay = 10;
    await askAgain();
    assert.equal(clock.now(), steady + ahead - underWay);
  });

  it('follows a server that takes over with another time, later or earlier', async () => {
    using clock = await open();
    for (const difference of [HOUR, -3 * HOUR]) {
      ahead += difference;
      await askAgain();
      assert.equal(clock.now(), steady + ahead);
    }
  });

  it('goes on while Redis is away, and asks nothing more once it is closed or could not be opened', async () => {
    const clock = await open();
    isAway = true;
    await askAgain();
    assert.equal(clock.now(), steady + ahead);
    clock[Symbol.dispose]();
    await assert.rejects(open(), /away/);
    const before = asked;
    await askAgain();
    assert.equal(asked, before);
  });
});
