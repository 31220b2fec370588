import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { Connection, type RedisConnection } from '../../../src/store/redis/connection/connection.ts';
import { parseTarget } from '../../../src/store/redis/connection/target.ts';
import { Topology } from '../../../src/store/redis/connection/topology.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { Channels } from '../../../src/store/redis/runs/channels.ts';
import { RedisLog } from '../../../src/store/redis/runs/log.ts';
import { Replicas } from '../../../src/store/redis/runs/replicas.ts';
import { RedisRunStore } from '../../../src/store/redis/store.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { claimed, endedRun, ending, events, frames, newRun } from '../../contract/run-store-fixture.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

/** More commands than any read or creation sends. */
const MOST_COMMANDS = 16;
const WHOLE = { after: 0, maxBytes: 100_000 };

/** Two stores over the same runs: what happens before the n-th command of the reader's is up to the test. */
interface Pair extends AsyncDisposable {
  writer: RunStore;
  reader: RunStore;
  /** The writer's log, for appends that are shown later. */
  log: RedisLog;
  own: RedisConnection;
  keys: RedisKeys;
  /** Asks the reader; `meanwhile` happens before its n-th command. False where it sends fewer. */
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
    // Nothing has to be waited for, and yet everything is held back until it is shown.
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
  const reader = await open(counted(await connect()));
  return {
    ...{ writer, reader, own, keys },
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

/** Does it for each moment of a read, as far as there are any. */
async function atEachMoment(round: (n: number) => Promise<boolean>): Promise<void> {
  for (let n = 1; await round(n); n++) assert.ok(n < MOST_COMMANDS, 'few commands are sent');
}

describe('reads over Redis, whatever happens between two of their commands', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  it('find the end of a run that is being shown', async () => {
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

  it('find the beginning of a run whose creator died before it was shown', async () => {
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

  it('find the last events of a run that goes on', async () => {
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

  it('find the same in a log that is being compressed', async () => {
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

  it('are told that a run was created with its claim only once every set knows it, where replicas are waited for', async () => {
    await using pair = await openPair(server.port, { held: true });
    await atEachMoment(async (n) => {
      const claim = { leaseMs: 60_000 };
      let isTold = false;
      const wasTold = Promise.withResolvers<boolean>();
      const more = await pair.between(
        n,
        async () => {
          // Time enough for an answer that does not wait for this command.
          for (let asked = 0; asked < 20; asked++) await pair.own.command(['PING']);
          wasTold.resolve(isTold);
        },
        async () => {
          await pair.reader.create(newRun({ claim }));
          isTold = true;
        },
      );
      assert.equal(more && (await wasTold.promise), false, `before command ${n}`);
      return more;
    });
  });

  it('say that a removed run is gone, not that it is damaged', async () => {
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
