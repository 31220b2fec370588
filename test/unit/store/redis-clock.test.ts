import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { RedisClock } from '../../../src/store/redis/redis-clock.ts';

const HOUR = 3_600_000;
const ASK_MS = 10_000;

describe('RedisClock', () => {
  /** The steady clock of this process. */
  let steady = 0;
  /** How far the server's clock is ahead of it. */
  let ahead = 0;
  /** How long an answer takes, and whether there is none. */
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

  it('runs on between answers, and is never set back by a slow one', async () => {
    using clock = await open();
    assert.equal(clock.now(), steady + ahead);
    steady += 70;
    assert.equal(clock.now(), steady + ahead);
    underWay = 900;
    await askAgain();
    assert.equal(asked, 2);
    assert.equal(clock.now(), steady + ahead);
  });

  it('is never ahead of the server, and the next answer corrects a slow first one', async () => {
    underWay = 3000;
    using clock = await open();
    assert.equal(clock.now(), steady + ahead - underWay);
    underWay = 10;
    await askAgain();
    assert.equal(clock.now(), steady + ahead - underWay);
  });

  it('follows a new server whose clock is ahead or behind', async () => {
    using clock = await open();
    for (const difference of [HOUR, -3 * HOUR]) {
      ahead += difference;
      await askAgain();
      assert.equal(clock.now(), steady + ahead);
    }
  });

  it('runs on while Redis is away, and sends nothing once it is closed or failed to open', async () => {
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
