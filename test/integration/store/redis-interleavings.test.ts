import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { storeUnavailable } from '../../../src/store/failure.ts';
import type { CounterWindow } from '../../../src/store/limit-store.ts';
import { redisBudget } from '../../../src/store/redis/budgets.ts';
import { Connection, type RedisConnection } from '../../../src/store/redis/connection/connection.ts';
import { parseTarget } from '../../../src/store/redis/connection/target.ts';
import { Topology } from '../../../src/store/redis/connection/topology.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { redisLimits } from '../../../src/store/redis/limits.ts';
import { Channels } from '../../../src/store/redis/runs/channels.ts';
import { RedisLog } from '../../../src/store/redis/runs/log.ts';
import { Replicas } from '../../../src/store/redis/runs/replicas.ts';
import { RedisDeliveries } from '../../../src/store/redis/side-stores/deliveries.ts';
import { RedisRunStore } from '../../../src/store/redis/store.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { claimed, endedRun, ending, events, frames, newRun } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

/** An upper bound on the commands of a read or a creation. */
const MAX_COMMANDS = 16;
const WHOLE = { after: 0, maxBytes: 100_000 };

/** Two stores over the same runs: a test can do something before the n-th command of the reader. */
interface Pair extends AsyncDisposable {
  writer: RunStore;
  reader: RunStore;
  /** The writer's log, for appends that become visible later. */
  log: RedisLog;
  own: RedisConnection;
  /** The reader's connection. */
  watched: RedisConnection;
  keys: RedisKeys;
  /** Runs `ask`, and `meanwhile` before the n-th command of the reader. False if the reader sends fewer commands. */
  between(n: number, meanwhile: () => Promise<unknown>, ask: () => Promise<unknown>): Promise<boolean>;
}

async function openPair(port: number, { held }: { held: boolean }): Promise<Pair> {
  const target = parseTarget(`redis://127.0.0.1:${port}/0`);
  const limits = { limitMs: 5000, connectLimitMs: 5000 };
  const topology = await Topology.open({ target, log: silentLogger, limitMs: 5000 });
  const connect = () => Connection.open({ ...limits, target, log: silentLogger, topology });
  const keys = new RedisKeys(randomUUID());
  let before: ((earlier: Promise<unknown>) => Promise<unknown>) | undefined;
  let sent: Promise<unknown> = Promise.resolve();
  const counted = (redis: Connection): RedisConnection =>
    new Proxy(redis, {
      get(of, name) {
        const method: unknown = Reflect.get(of, name);
        if (typeof method !== 'function') return method;
        if (name !== 'command' && name !== 'script') return method.bind(of);
        return (...args: unknown[]) => {
          const earlier = sent;
          const reply = (async () => {
            await before?.(earlier);
            return await method.apply(of, args);
          })();
          sent = Promise.allSettled([earlier, reply]);
          return reply;
        };
      },
    });
  const open = async (redis: RedisConnection) => {
    const channels = await Channels.open({
      redis: await connect(),
      commands: redis,
      keys,
      log: silentLogger,
      sharded: false,
    });
    // No replica has to be waited for, but writes stay hidden until they are made visible.
    const waits = held
      ? { redis: await connect(), commands: redis, keys, options: { replicas: 0, limitMs: 1000 } }
      : undefined;
    const replicas = waits && new Replicas(waits);
    const onClose = async () => await waits?.redis.close();
    const waitForReplicas = async (id: string) => await replicas?.waitForRun(id);
    const parts = { redis, keys, now: () => '', waitForReplicas, awaitsReplicas: held };
    return new RedisRunStore(parts, { channels, log: silentLogger, clock: systemClock, replicas, onClose });
  };
  const own = await connect();
  const writer = await open(own);
  const watched = counted(await connect());
  const reader = await open(watched);
  return {
    ...{ writer, reader, own, watched, keys },
    log: new RedisLog({ redis: own, keys, now: () => '', waitForReplicas: async () => {}, awaitsReplicas: held }),
    async between(n, meanwhile, ask) {
      let commands = 0;
      before = async (earlier) => {
        if (++commands !== n) return;
        await earlier;
        await meanwhile();
      };
      try {
        await ask();
      } finally {
        before = undefined;
      }
      return commands >= n;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

/** Runs the round for each command of a read. */
async function atEachMoment(round: (n: number) => Promise<boolean>): Promise<void> {
  for (let n = 1; await round(n); n++) assert.ok(n < MAX_COMMANDS, 'few commands are sent');
}

describe('reads over Redis, with changes between any two of their commands', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  it('find the end of a run whose end is being made visible', async () => {
    await using pair = await openPair(server.port, { held: true });
    const { writer, reader, log, between } = pair;
    for (const read of [
      async (id: string) => (await reader.readLast(id))?.end,
      async (id: string) => (await reader.read(id, WHOLE)).at(-1)?.last,
      async (id: string) => (await reader.read(id, { ...WHOLE, after: 2 })).at(-1)?.end,
    ]) {
      await atEachMoment(async (n) => {
        const run = newRun();
        await writer.create(run);
        const { token } = await claimed(writer, run.id);
        await log.append(run.id, ending(token, 3, 'completed'), '');
        return await between(
          n,
          () => log.makeVisible(run.id),
          async () => assert.ok(await read(run.id), `before command ${n}`),
        );
      });
    }
  });

  it('find the start of a run whose creator died before making it visible', async () => {
    await using pair = await openPair(server.port, { held: true });
    const { writer, reader, log, between, own, keys } = pair;
    await atEachMoment(async (n) => {
      const run = newRun();
      await writer.create(run);
      await own.command(['HSET', keys.run(run.id), 'shown', '0']);
      return await between(
        n,
        () => log.makeVisible(run.id),
        async () => {
          assert.equal((await reader.read(run.id, WHOLE)).at(-1)?.last, run.frameCount, `before command ${n}`);
          assert.equal((await reader.readLast(run.id))?.last, run.frameCount, `before command ${n}`);
        },
      );
    });
  });

  it('find the last events of a run that continues', async () => {
    await using pair = await openPair(server.port, { held: false });
    const { writer, reader, between } = pair;
    await atEachMoment(async (n) => {
      const run = newRun();
      await writer.create(run);
      const { token } = await claimed(writer, run.id);
      return await between(
        n,
        () => writer.append(run.id, events(token, 3, 4)),
        async () => assert.ok((await reader.readLast(run.id))?.last, `before command ${n}`),
      );
    });
  });

  it('find the same events in a log that is being compressed', async () => {
    await using pair = await openPair(server.port, { held: false });
    const { writer, reader, between } = pair;
    for (const read of [
      async (id: string) => Buffer.from((await reader.readLast(id))?.frames ?? []),
      async (id: string) => Buffer.concat((await reader.read(id, { ...WHOLE, after: 2 })).map(({ frames: f }) => f)),
    ]) {
      await atEachMoment(async (n) => {
        const { run } = await endedRun(writer);
        return await between(
          n,
          () => writer.compressEnded({ endedForMs: -60_000, limit: 100 }),
          async () => assert.deepEqual(await read(run.id), frames(3, 3), `before command ${n}`),
        );
      });
    }
  });

  it('see a run created with its claim only after every set was written, if replicas are waited for', async () => {
    await using pair = await openPair(server.port, { held: true });
    await atEachMoment(async (n) => {
      const claim = { leaseMs: 60_000 };
      let hasAnswered = false;
      const answeredEarly = Promise.withResolvers<boolean>();
      const more = await pair.between(
        n,
        async () => {
          // Enough time for an answer that does not wait for this command.
          for (let asked = 0; asked < 20; asked++) await pair.own.command(['PING']);
          answeredEarly.resolve(hasAnswered);
        },
        async () => {
          await pair.reader.create(newRun({ claim }));
          hasAnswered = true;
        },
      );
      assert.equal(more && (await answeredEarly.promise), false, `before command ${n}`);
      return more;
    });
  });

  it('see a run that is created again in the list of its user, whichever command of that fails', async () => {
    await using pair = await openPair(server.port, { held: false });
    const { writer, reader } = pair;
    const fail = () => Promise.reject(storeUnavailable('it is away'));
    await atEachMoment(async (n) => {
      const user = randomUUID();
      const transcript = ['{"t":1}', '{"t":2}'];
      const restored = { startedAt: null, cancelRequested: false, token: '1-owner', leaseMs: 60_000, transcript };
      const run = { ...newRun({ user }), ...restored };
      const more = await pair.between(n, fail, async () => await reader.restore?.(run)).catch(() => true);
      const listed = (await writer.list({ user, api: run.api, limit: 10 })).runs.map(({ id }) => id);
      const isThere = (await writer.get(run.id)) !== undefined;
      assert.deepEqual(listed, isThere ? [run.id] : [], `without command ${n}`);
      assert.deepEqual(await writer.readTranscript(run.id), isThere ? transcript : [], `without command ${n}`);
      return more;
    });
  });

  it('report a removed run as gone, not as damaged', async () => {
    await using pair = await openPair(server.port, { held: false });
    const { writer, reader, between } = pair;
    for (const compressed of [false, true]) {
      for (const read of [
        async (id: string) => await reader.readLast(id),
        async (id: string) => (await reader.read(id, WHOLE)).at(-1),
      ]) {
        await atEachMoment(async (n) => {
          const { run } = await endedRun(writer);
          if (compressed) await writer.compressEnded({ endedForMs: -60_000, limit: 100 });
          return await between(
            n,
            () => writer.delete(run.id),
            async () => {
              const found = await read(run.id);
              assert.ok(found === undefined || found.last === 3, `before command ${n}`);
            },
          );
        });
      }
    }
  });
});

describe('deliveries over Redis, with a request for another one between any two commands', function () {
  // Servers are started as processes.
  this.timeout(patience(30));

  it('leave it due at once', async function () {
    await using server = await redisOrSkip(this);
    await using pair = await openPair(server.port, { held: false });
    const { keys, own, watched } = pair;
    const open = (redis: RedisConnection) => {
      const parts = { redis, keys, now: () => '', waitForReplicas: async () => {}, awaitsReplicas: false };
      return new RedisDeliveries(parts, keys.deliveries);
    };
    const [deliverer, other] = [open(watched), open(own)];
    for (const dueInMs of [undefined, 60_000]) {
      await atEachMoment(async (n) => {
        const { id } = newRun();
        const next = { state: 'again', dueInMs: 0, keepMs: 60_000 };
        let isRequested = false;
        const request = async () => {
          isRequested = (await other.get(id)) === 'done' && (await other.put(id, { before: 'done', ...next }));
        };
        const more = await pair.between(n, request, () =>
          deliverer.put(id, { before: undefined, state: 'done', dueInMs, keepMs: 60_000 }),
        );
        const due = await other.takeDue({ limit: 10, leaseMs: 60_000 });
        assert.deepEqual(due, isRequested ? [id] : [], `before command ${n}`);
        return more;
      });
    }
  });
});

describe('limits over Redis, of which one command fails', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  it('count what was granted while Redis was away once, whichever it is of their release', async () => {
    await using pair = await openPair(server.port, { held: false });
    const fail = () => Promise.reject(storeUnavailable('it is away'));
    const windows = ['first', 'second'].map((name) => ({ name, windowSeconds: 600 }));
    await atEachMoment(async (n) => {
      const key = randomUUID();
      const limits = redisLimits({ redis: pair.watched, keys: pair.keys, log: silentLogger, now: Date.now });
      const stored = { redis: pair.own, keys: pair.keys };
      const used = () => Promise.all(windows.map(async (window) => (await redisBudget(stored, window).used(key)).used));
      for (const window of windows) {
        const reserve = async () => limits.budget(window).reserve(key, 'a', { points: 10, limit: 100, ttlMs: 60_000 });
        await pair.between(1, fail, reserve);
      }
      const spent = (window: CounterWindow) => ({ kind: 'budget' as const, ...window, points: 10, spent: 7 });
      const release = () => limits.release({ key, id: 'a' }, windows.map(spent));
      const more = await pair.between(n, fail, release);
      // After a release that succeeds, earlier ones are repeated.
      await limits.release({ key, id: 'b' }, [{ kind: 'place', name: 'runs' }]);
      await eventually('the second is counted', async () => (await used())[1] === 7 || undefined);
      assert.deepEqual(await used(), [7, 7], `without command ${n}`);
      return more;
    });
  });
});
