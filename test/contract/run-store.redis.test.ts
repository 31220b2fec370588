import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { runStoreContract } from './run-store.ts';
import { testClock } from './run-store-fixture.ts';

/** The contract over a Redis of its own, started with further `settings`. */
function redisContract(name: string, settings: readonly string[], prepare: (server: RedisServer) => Promise<void>) {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this, settings);
    await prepare(server);
  });
  after(() => server?.[Symbol.asyncDispose]());

  runStoreContract(name, async () => {
    const clock = testClock();
    const options = { url: server.url, log: silentLogger, prefix: randomUUID(), clock };
    const { runs: store } = await openRedisStore(options);
    const { runs: peer } = await openRedisStore(options);
    return {
      store,
      peer,
      clock,
      async [Symbol.asyncDispose]() {
        await Promise.all([store.close(), peer.close()]);
      },
    };
  });
}

describe('Redis', () => redisContract('Redis', [], async () => {}));

// One node of a cluster refuses every step whose keys would not stay together when there are more.
describe('Redis in cluster mode', () => {
  redisContract('Redis in cluster mode', ['--cluster-enabled', 'yes'], async (server) => {
    const client = await createClient({ url: server.url }).connect();
    await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383']);
    while (!String(await client.sendCommand(['CLUSTER', 'INFO'])).includes('cluster_state:ok')) await setTimeout(20);
    await client.close();
  });
});
