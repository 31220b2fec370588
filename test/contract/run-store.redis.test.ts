import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { runStoreContract } from './run-store.ts';

describe('Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  runStoreContract('Redis', async () => {
    const options = { url: server.url, log: silentLogger, prefix: randomUUID() };
    const { runs: store } = await openRedisStore(options);
    const { runs: peer } = await openRedisStore(options);
    return {
      store,
      peer,
      async [Symbol.asyncDispose]() {
        await Promise.all([store.close(), peer.close()]);
      },
    };
  });
});
