import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { type RedisCluster, startCluster } from '../support/redis-groups.ts';
import { runStoreContract } from './run-store.ts';
import { testClock } from './run-store-fixture.ts';

/** The contract on a Redis that is started before the tests. */
function redisContract(name: string, url: () => string) {
  runStoreContract(name, async () => {
    const clock = testClock();
    const options = { url: url(), log: silentLogger, prefix: randomUUID(), clock };
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

describe('Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  redisContract('Redis', () => server.url);
});

describe('a Redis Cluster of three masters', () => {
  let cluster: RedisCluster;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    cluster = await startCluster();
  });
  after(() => cluster?.[Symbol.asyncDispose]());
  redisContract('Redis Cluster', () => cluster.url);
});
