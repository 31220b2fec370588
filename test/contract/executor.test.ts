import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../src/base/logger.ts';
import type { ExecutorOptions } from '../../src/runs/executor.ts';
import { QueueExecutor } from '../../src/runs/queue-executor.ts';
import { openStore } from '../../src/store/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { openHarness, testConfig } from '../support/run-harness.ts';
import { type ExecutorFixture, executorContract } from './executor.ts';

executorContract('polling, SQLite', async () => {
  const store = await openStore(testConfig().store, { log: silentLogger });
  return {
    open: (options) => openHarness({ ...options, store }),
    [Symbol.asyncDispose]: () => store.close(),
  };
});

describe('executors over Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  executorContract('polling, Redis', () => overRedis('polling'));
  executorContract('BullMQ, Redis', () => overRedis('queue'));

  /** Each instance has connections of its own. */
  async function overRedis(kind: 'polling' | 'queue'): Promise<ExecutorFixture> {
    const prefix = randomUUID();
    const stack = new AsyncDisposableStack();
    return {
      async open(options) {
        const { runs: store, openQueue } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
        stack.defer(() => store.close());
        if (kind === 'polling') return await openHarness({ ...options, store });
        const connection = stack.use(await openQueue());
        const executor = (parts: ExecutorOptions) => new QueueExecutor({ ...parts, connection });
        return await openHarness({ ...options, store, executor });
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }
});
