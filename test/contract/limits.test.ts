import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { silentLogger } from '../../src/base/logger.ts';
import { type LimitRelease, type LimitRequest, type LimitStore, releaseOf } from '../../src/store/limit-store.ts';
import { memoryLimits } from '../../src/store/memory-limits.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { connectStore } from '../../src/store/shared/store-client.ts';
import { serveStore } from '../../src/store/shared/store-server.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { until } from '../support/http-gateway.ts';
import { type RedisServer, redisOrSkip, SYNC_ALWAYS } from '../support/redis.ts';
import { storageOf } from '../support/storage-of.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

/** Limits as two instances see them; the same object twice if a process has its own. */
interface LimitFixture extends AsyncDisposable {
  here: LimitStore;
  there: LimitStore;
}

function limitContract(name: string, open: () => Promise<LimitFixture>): void {
  describe(`LimitStore contract: ${name}`, () => {
    it('grants exactly the limit to concurrent takers', async () => {
      await using fixture = await open();
      const counters = sides(fixture).map((side) => side.counter({ name: 'r', windowSeconds: 60 }));
      const asked = Array.from({ length: 60 }, (_, n) => counters[n % counters.length]?.take('ann', 1, { limit: 25 }));
      const counts = await Promise.all(asked);
      assert.equal(counts.filter((count) => count?.granted).length, 25);
      for (const count of counts) assert.ok(count && count.resetMs > 0 && count.resetMs <= 60_000);
      assert.equal((await counters[0]?.take('bob', 1, { limit: 25 }))?.used, 1, 'keys count apart');
    });

    it('takes nothing if it refuses, everything if forced, and refunds', async () => {
      await using fixture = await open();
      const counter = fixture.here.counter({ name: 't', windowSeconds: 60 });
      assert.equal((await counter.take('ann', 8, { limit: 10 })).used, 8);
      const refused = await counter.take('ann', 3, { limit: 10 });
      assert.deepEqual([refused.granted, refused.used], [false, 8]);
      const forced = await counter.take('ann', 3, { limit: 10, force: true });
      assert.deepEqual([forced.granted, forced.used], [true, 11]);
      await counter.refund('ann', 6);
      await counter.refund('ann', -1);
      assert.equal((await counter.take('ann', 4, { limit: 10 })).used, 10);
    });

    it('never raises a limit when the refund exceeds what was taken', async () => {
      await using fixture = await open();
      const counter = fixture.here.counter({ name: 'g', windowSeconds: 60 });
      await counter.take('ann', 3, { limit: 10 });
      await counter.refund('ann', 8);
      assert.equal((await counter.take('ann', 0, { limit: 10 })).used, 0);
      assert.equal((await counter.take('ann', 11, { limit: 10 })).granted, false);
    });

    it('starts a new window when the old one ends', async () => {
      await using fixture = await open();
      const counter = fixture.here.counter({ name: 'w', windowSeconds: 1 });
      assert.equal((await counter.take('ann', 5, { limit: 5 })).granted, true);
      const limit = performance.now() + 60_000;
      while (!(await counter.take('ann', 5, { limit: 5 })).granted) assert.ok(performance.now() < limit);
    });

    describe('several limits at once', () => {
      const day = { name: 'd', windowSeconds: 600 };
      const requests = (points: number): LimitRequest[] => [
        { kind: 'place', name: 'p', limit: 2, ttlMs: 60_000 },
        { kind: 'budget', ...day, points, limit: 100, ttlMs: 60_000 },
        { kind: 'points', name: 'm', windowSeconds: 60, points: 1, limit: 3 },
      ];
      const take = async (side: LimitStore, id: string, points: number) =>
        (await side.take({ key: 'ann', id }, requests(points))).map(({ granted, count }) => [granted, count?.used]);
      const expectTaken = async (side: LimitStore, taken: { holders: string[]; points: number; requests: number }) => {
        assert.deepEqual((await side.slots({ name: 'p' }).holders('ann')).sort(), taken.holders);
        const minute = side.counter({ name: 'm', windowSeconds: 60 });
        const { used } = await minute.take('ann', 0, { limit: 0, force: true });
        assert.deepEqual([(await side.budget(day).used('ann')).used, used], [taken.points, taken.requests]);
      };

      it('are all taken, and released by any instance', async () => {
        await using fixture = await open();
        const { here, there } = fixture;
        assert.deepEqual(await take(here, 'a', 60), [
          [true, undefined],
          [true, 60],
          [true, 1],
        ]);
        await expectTaken(there, { holders: ['a'], points: 60, requests: 1 });
        await there.release({ key: 'ann', id: 'a' }, requests(60).map(releaseOf));
        await expectTaken(here, { holders: [], points: 0, requests: 0 });
      });

      it('are all refused if one of them is', async () => {
        await using fixture = await open();
        const { here, there } = fixture;
        await take(here, 'a', 60);
        assert.deepEqual((await take(there, 'b', 60)).at(-1), [false, 60], 'both do not fit into the budget');
        await expectTaken(here, { holders: ['a'], points: 60, requests: 1 });
        await take(there, 'b', 1);
        assert.deepEqual(await take(here, 'c', 1), [[false, undefined]], 'no free slot');
        await expectTaken(there, { holders: ['a', 'b'], points: 61, requests: 2 });
        await here.release({ key: 'ann', id: 'b' }, [
          { kind: 'place', name: 'p' },
          { kind: 'budget', ...day, points: 1, spent: 1 },
        ]);
        await take(here, 'd', 1);
        await here.release({ key: 'ann', id: 'd' }, [
          { kind: 'place', name: 'p' },
          { kind: 'budget', ...day, points: 1, spent: 1 },
        ]);
        assert.deepEqual((await take(there, 'f', 1)).at(-1), [false, 3], 'the last limit refuses');
        await expectTaken(here, { holders: ['a'], points: 62, requests: 3 });
      });

      it('report whether a refusal is due to what others have reserved', async () => {
        await using fixture = await open();
        const { here, there } = fixture;
        const refused = async (side: LimitStore, id = 'b') => {
          const taken = await side.take({ key: 'ann', id }, requests(60).slice(1));
          const { granted, reservedByOthers } = taken[0] ?? {};
          return { granted, reservedByOthers };
        };
        await take(here, 'a', 100);
        assert.deepEqual(await refused(there), { granted: false, reservedByOthers: true });
        await here.release({ key: 'ann', id: 'a' }, [
          { kind: 'place', name: 'p' },
          { kind: 'budget', ...day, points: 100, spent: 100 },
        ]);
        const atOnce = await Promise.all(['b', 'c', 'd', 'f'].map((id) => refused(there, id)));
        for (const one of atOnce) assert.deepEqual(one, { granted: false, reservedByOthers: false });
      });

      it('let a request that is alone exceed what is left', async () => {
        await using fixture = await open();
        const { here, there } = fixture;
        await take(here, 'a', 60);
        await here.release({ key: 'ann', id: 'a' }, [
          { kind: 'place', name: 'p' },
          { kind: 'budget', ...day, points: 60, spent: 80 },
        ]);
        assert.deepEqual((await take(there, 'b', 50))[1], [true, 130]);
      });
    });

    describe('budgets', () => {
      const day = { name: 'b', windowSeconds: 600 };
      const ttlMs = 60_000;
      const budgets = (fixture: LimitFixture) => [fixture.here.budget(day), fixture.there.budget(day)] as const;

      it('count what was spent, and settle each reservation once', async () => {
        await using fixture = await open();
        const [here, there] = budgets(fixture);
        await here.reserve('ann', 'a', { points: 60, limit: 100, ttlMs });
        const refused = await there.reserve('ann', 'b', { points: 60, limit: 100, ttlMs });
        assert.deepEqual([refused.granted, refused.others, refused.used], [false, true, 60]);
        assert.deepEqual(await there.holders('ann'), ['a']);
        for (const side of [there, here, there]) await side.settle('ann', 'a', { points: 60, spent: 25 });
        await there.settle('ann', 'never reserved', { points: 60, spent: 25 });
        assert.equal((await here.used('ann')).used, 25);
        assert.deepEqual(await here.holders('ann'), []);
        assert.equal((await there.reserve('ann', 'b', { points: 75, limit: 100, ttlMs })).granted, true);
      });

      it('hold what was noted if that exceeds the reservation, and count it if nobody settles', async () => {
        await using fixture = await open();
        const [here, there] = budgets(fixture);
        await here.reserve('ann', 'a', { points: 10, limit: 100, ttlMs });
        await there.note('ann', 'a', { spent: 4, ttlMs });
        assert.equal((await here.used('ann')).used, 10);
        await here.note('ann', 'a', { spent: 30, ttlMs });
        assert.equal((await there.used('ann')).used, 30);
        await here.note('ann', 'unknown', { spent: 30, ttlMs });
        await here.note('ann', 'a', { spent: 35, ttlMs: 1 });
        const again = await until(async () => {
          const reserved = await there.reserve('ann', 'b', { points: 65, limit: 100, ttlMs });
          return reserved.others ? undefined : reserved;
        });
        assert.deepEqual([again.granted, again.used], [true, 100], 'the reservation ends after its ttl');
        await there.settle('ann', 'a', { points: 10, spent: 99 });
        await there.settle('ann', 'b', { points: 65 });
        assert.equal((await here.used('ann')).used, 35);
      });

      it('exceed what is left only for a request that is alone', async () => {
        await using fixture = await open();
        const [here, there] = budgets(fixture);
        await here.reserve('ann', 'a', { points: 60, limit: 100, ttlMs });
        await here.settle('ann', 'a', { points: 60, spent: 90 });
        const alone = await there.reserve('ann', 'b', { points: 60, limit: 100, ttlMs });
        assert.deepEqual([alone.granted, alone.used], [true, 150]);
        const again = await here.reserve('ann', 'b', { points: 20, limit: Number.POSITIVE_INFINITY, ttlMs });
        assert.deepEqual([again.granted, again.used], [true, 110], 'the same id holds one reservation');
        await here.settle('ann', 'b', { points: 20, spent: 10 });
        const full = await there.reserve('ann', 'c', { points: 1, limit: 100, ttlMs });
        assert.deepEqual([full.granted, full.others], [false, false]);
      });

      it('start each window empty, and settle older reservations without touching it', async () => {
        await using fixture = await open();
        const [here, there] = [fixture.here, fixture.there].map((side) => side.budget({ name: 's', windowSeconds: 1 }));
        await here?.reserve('ann', 'a', { points: 5, limit: 100, ttlMs });
        await here?.settle('ann', 'a', { points: 5, spent: 5 });
        await here?.reserve('ann', 'b', { points: 90, limit: 100, ttlMs });
        await until(async () => ((await there?.used('ann'))?.used === 90 ? true : undefined));
        await here?.reserve('ann', 'c', { points: 3, limit: 100, ttlMs });
        await here?.settle('ann', 'c', { points: 3, spent: 3 });
        await here?.settle('ann', 'b', { points: 90, spent: 0 });
        const { used } = (await there?.used('ann')) ?? { used: Number.NaN };
        assert.ok(used === 3 || used === 0, `${used}: an unused reservation is not refunded from what others used`);
      });
    });

    it('lets an id take the slot it holds again even if all are taken', async () => {
      await using fixture = await open();
      const places = fixture.here.slots({ name: 'again' });
      const take = (id: string) => places.take('ann', id, { limit: 1, ttlMs: 60_000 });
      assert.deepEqual([await take('a'), await take('b'), await take('a')], [true, false, true]);
      assert.equal(await places.count('ann'), 1);
    });

    it('grants slots up to the limit, and frees them by id or after their ttl', async () => {
      await using fixture = await open();
      const [here, there = here] = sides(fixture).map((side) => side.slots({ name: 's' }));
      const both = [here, there];
      const taken = await Promise.all(
        Array.from({ length: 12 }, (_, n) => both[n % 2]?.take('ann', `run-${n}`, { limit: 5, ttlMs: 60_000 })),
      );
      assert.equal(taken.filter(Boolean).length, 5);
      assert.equal(await both[1]?.count('ann'), 5);
      const holding = [...taken.keys()].filter((n) => taken[n]).map((n) => `run-${n}`);
      assert.deepEqual((await both[1]?.holders('ann'))?.sort(), holding.sort());
      const held = taken.indexOf(true);
      await both[1]?.release('ann', `run-${held}`);
      await both[1]?.release('ann', 'never taken');
      assert.equal(await both[0]?.take('ann', 'brief', { limit: 5, ttlMs: 1 }), true);
      const limit = performance.now() + 60_000;
      while ((await both[0]?.take('ann', 'next', { limit: 5, ttlMs: 60_000 })) !== true)
        assert.ok(performance.now() < limit);
      const again = { limit: Number.POSITIVE_INFINITY, ttlMs: 60_000 };
      assert.equal(await both[0]?.take('eve', 'renewed', { limit: 1, ttlMs: 1000 }), true);
      assert.equal(await both[1]?.take('eve', 'renewed', again), true);
      assert.equal(await both[1]?.take('eve', 'brief', { ...again, ttlMs: 1000 }), true);
      while ((await both[0]?.holders('eve'))?.includes('brief')) assert.ok(performance.now() < limit);
      assert.deepEqual(await both[0]?.holders('eve'), ['renewed'], 'held for the ttl of the latest take');
      assert.equal(await both[0]?.take('ann', 'endless', { limit: Number.POSITIVE_INFINITY, ttlMs: 1000 }), true);
    });
  });
}

function sides({ here, there }: LimitFixture): LimitStore[] {
  return here === there ? [here] : [here, there];
}

limitContract('memory', async () => {
  const limits = memoryLimits(Date.now);
  return { here: limits, there: limits, [Symbol.asyncDispose]: async () => {} };
});

const REQUESTS = { name: 'requests', windowSeconds: 60 };

describe('limits on Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this, SYNC_ALWAYS);
  });
  after(() => server?.[Symbol.asyncDispose]());

  const open = async () => {
    const options = { url: server.url, log: silentLogger, prefix: randomUUID() };
    const here = await openRedisStore(options);
    const there = await openRedisStore(options);
    return {
      here: here.limits,
      there: there.limits,
      async [Symbol.asyncDispose]() {
        await Promise.all([here.runs.close(), there.runs.close()]);
      },
    };
  };
  limitContract('Redis', open);

  it('settle a reservation of a version 1 instance, which counted it as used', async () => {
    const prefix = randomUUID();
    const store = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const client = await createClient({ url: server.url }).connect();
    await client.set(`${prefix}:limit:tokens:ann`, '530', { EX: 86_400 });
    await client.zAdd(`${prefix}:limit:reserved:ann`, { score: Date.now() + 60_000, value: 'a run' });
    const day = { name: 'tokens', windowSeconds: 86_400 };
    const release: LimitRelease = { kind: 'budget', ...day, points: 500, spent: 120 };
    for (let n = 0; n < 2; n++) {
      await store.limits.release({ key: 'ann', id: 'a run' }, [release]);
      assert.equal((await store.limits.budget(day).used('ann')).used, 150);
    }
    await client.close();
    await store.runs.close();
  });

  it('are counted locally while Redis is away, and shared again once it is back', async () => {
    await using fixture = await open();
    const counter = fixture.here.counter({ name: 'away', windowSeconds: 600 });
    const places = fixture.here.slots({ name: 'away' });
    assert.equal((await counter.take('ann', 1, { limit: 2 })).used, 1);
    await server.kill();
    assert.deepEqual([(await counter.take('ann', 1, { limit: 2 })).used, await places.count('ann')], [1, 0]);
    assert.equal((await counter.take('ann', 1, { limit: 2 })).granted, true);
    assert.equal((await counter.take('ann', 1, { limit: 2 })).granted, false);
    assert.equal(await places.take('ann', 'a run', { limit: 1, ttlMs: 60_000 }), true);
    await places.release('ann', 'a run');
    assert.equal(await places.count('ann'), 0);
    await server.start();
    await until(async () => ((await counter.take('ann', 0, { limit: 2 })).used === 1 ? true : undefined));
  });

  it('count nothing locally if a command is at fault, not Redis', async () => {
    const prefix = randomUUID();
    const { limits, runs } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const client = await createClient({ url: server.url }).connect();
    await client.lPush(`${prefix}:limit:requests:ann`, 'no counter');
    const isFault = { code: 'internal_error' };
    await assert.rejects(async () => await limits.counter(REQUESTS).take('ann', 1, { limit: 2 }), isFault);
    const points: LimitRelease = { kind: 'points', ...REQUESTS, points: 1 };
    await assert.rejects(limits.release({ key: 'ann', id: 'a' }, [points]), isFault);
    await client.close();
    await runs.close();
  });

  it('wait for a Redis that is slow, instead of counting from zero', async () => {
    await using proxy = await startTcpProxy(server.port);
    const options = { log: silentLogger, prefix: randomUUID() };
    const { limits, runs } = await openRedisStore({ ...options, url: `redis://127.0.0.1:${proxy.port}/0` });
    const there = await openRedisStore({ ...options, url: server.url });
    const day = { name: 'slow', windowSeconds: 600 };
    await there.limits.budget(day).reserve('ann', 'a', { points: 90, limit: 100, ttlMs: 60_000 });
    await there.limits.release({ key: 'ann', id: 'a' }, [{ kind: 'budget', ...day, points: 90, spent: 100 }]);
    // Each way.
    proxy.latencyMs = 400;
    const budget = limits.budget(day);
    assert.equal((await budget.used('ann')).used, 100);
    assert.equal((await budget.reserve('ann', 'b', { points: 1, limit: 100, ttlMs: 60_000 })).granted, false);
    await Promise.all([runs.close(), there.runs.close()]);
  });

  it('go on from what Redis said last while it is away, and it gets what was used meanwhile, once', async () => {
    await using fixture = await open();
    const { here, there } = fixture;
    const day = { name: 'kept', windowSeconds: 600 };
    const [budget, ofPeer] = [here.budget(day), there.budget(day)];
    const reserve = (id: string, points: number) => budget.reserve('ann', id, { points, limit: 100, ttlMs: 60_000 });
    const end = (id: string, spent: number) =>
      here.release({ key: 'ann', id }, [{ kind: 'budget', ...day, points: 50, spent }]);
    await ofPeer.reserve('ann', 'peer', { points: 40, limit: 100, ttlMs: 60_000 });
    await ofPeer.settle('ann', 'peer', { points: 40, spent: 40 });
    await reserve('before', 50);
    await server.kill();
    assert.equal((await budget.used('ann')).used, 90);
    assert.equal((await reserve('too much', 20)).granted, false);
    await end('before', 10);
    assert.equal((await reserve('meanwhile', 45)).used, 95);
    await end('meanwhile', 30);
    assert.equal((await budget.used('ann')).used, 80);
    assert.equal((await reserve('longer', 20)).granted, true);
    await server.start();
    await until(async () => ((await ofPeer.used('ann')).used === 80 ? true : undefined));
    await end('longer', 7);
    assert.equal((await ofPeer.used('ann')).used, 87);
    assert.equal((await budget.used('ann')).used, 87);
  });

  it('know nothing of what a run had reserved that ended on another instance, while Redis is away', async () => {
    await using fixture = await open();
    const { here, there } = fixture;
    const day = { name: 'elsewhere', windowSeconds: 600 };
    await here.budget(day).reserve('ann', 'run', { points: 50, limit: 100, ttlMs: 60_000, lasting: true });
    await there.release({ key: 'ann', id: 'run' }, [{ kind: 'budget', ...day, points: 50, spent: 5 }]);
    assert.equal((await here.budget(day).used('ann')).used, 5);
    await server.kill();
    assert.equal((await here.budget(day).used('ann')).used, 5);
    await server.start();
  });

  it('release in Redis what ended while it was away, and nothing that was only counted locally', async () => {
    await using fixture = await open();
    const { here, there } = fixture;
    const window = { name: 'd', windowSeconds: 600 };
    const requests: LimitRequest[] = [
      { kind: 'place', name: 'p', limit: 9, ttlMs: 60_000 },
      { kind: 'budget', ...window, points: 10, limit: 100, ttlMs: 60_000 },
    ];
    const take = (id: string) => here.take({ key: 'ann', id }, requests);
    const giveBack = (id: string) => here.release({ key: 'ann', id }, requests.map(releaseOf));
    const used = async () => (await there.budget(window).used('ann')).used;
    const holders = async (name: string) => (await there.slots({ name }).holders('ann')).sort().join();
    await there.budget(window).reserve('ann', 'z', { points: 50, limit: 100, ttlMs: 60_000 });
    for (const id of ['a', 'b', 'c']) await take(id);
    await server.kill();
    await giveBack('a');
    await take('counted here');
    await giveBack('counted here');
    await giveBack('b');
    await server.start();
    await until(async () => ((await used()) === 60 ? true : undefined));
    await until(async () => ((await holders('p')) === 'c' ? true : undefined));
    await giveBack('c');
    await until(async () => ((await used()) === 50 ? true : undefined));
  });
});

limitContract('SQLite', async () => {
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  return { here: store.limits, there: store.limits, [Symbol.asyncDispose]: () => store.close() };
});

limitContract('memory, shared with other processes of the gateway', async () => {
  const runs = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  const server = await serveStore(storageOf(runs, memoryLimits(Date.now)));
  const here = await connectStore(server.path);
  const there = await connectStore(server.path);
  return {
    here: here.limits,
    there: there.limits,
    async [Symbol.asyncDispose]() {
      await Promise.all([here.runs.close(), there.runs.close()]);
      await server[Symbol.asyncDispose]();
      await runs.close();
    },
  };
});
