import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { storeUnavailable } from '../../../src/store/failure.ts';
import type { RedisConnection } from '../../../src/store/redis/connection/connection.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { redisLimits } from '../../../src/store/redis/limits.ts';
import { type OwedRelease, OwedReleases } from '../../../src/store/redis/owed-releases.ts';

const owedBy = (id: string): OwedRelease => ({ holder: { key: 'ann', id }, releases: [] });

describe('releases owed to Redis', () => {
  it('are repeated once, in order, and stop at a failure until the next time', async () => {
    const repeated: string[] = [];
    let away = 'b';
    const owed = new OwedReleases(async ({ holder: { id } }) => {
      if (id === away) throw new Error('away');
      repeated.push(id);
    });
    for (const id of ['a', 'b', 'c']) owed.add(owedBy(id));
    await owed.repeatAll();
    assert.deepEqual(repeated, ['a']);
    away = '';
    await Promise.all([owed.repeatAll(), owed.repeatAll()]);
    await owed.repeatAll();
    assert.deepEqual(repeated, ['a', 'b', 'c']);
  });

  it('are dropped above 10 000, the oldest first', async () => {
    const repeated: string[] = [];
    const owed = new OwedReleases(async ({ holder: { id } }) => void repeated.push(id));
    for (let n = 0; n < 10_002; n++) owed.add(owedBy(`${n}`));
    await owed.repeatAll();
    assert.deepEqual([repeated[0], repeated.length], ['2', 10_000]);
  });

  it('are repeated once Redis answers again, even if the connection was never lost', async () => {
    const released: unknown[] = [];
    let isAway = true;
    const unused = () => Promise.reject(new Error('unused'));
    const redis: RedisConnection = {
      async command(args) {
        if (isAway) throw storeUnavailable('away');
        released.push(args.at(-1));
        return 1;
      },
      script: unused,
      subscribe: unused,
      unsubscribe: unused,
      waitForReplicas: unused,
      onReady: () => ({ [Symbol.dispose]: () => {} }),
      serverOf: () => '',
      client: undefined,
      isSharded: false,
      isClosed: false,
      close: async () => {},
    };
    const limits = redisLimits({ redis, keys: new RedisKeys('test'), log: silentLogger, now: Date.now });
    const giveBack = (id: string) => limits.release({ key: 'ann', id }, [{ kind: 'place', name: 'p' }]);
    assert.equal(await giveBack('a'), false);
    isAway = false;
    assert.equal(await giveBack('b'), true);
    assert.deepEqual(released, ['b', 'a']);
  });
});
