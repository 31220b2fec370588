import assert from 'node:assert/strict';
import { inTime } from '../support/in-time.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { stallAfter } from '../support/scripted-provider.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { patience } from '../support/time-limit.ts';
import { HEADERS, type Instances, startInstances } from '../support/two-instances.ts';

/** Architecture, promise 6: how soon the call of a chat that nobody reads is aborted, in milliseconds. */
const LEAVE_MS = 1000;

/** What may be wrong with the store while a client disconnects; each fault is undone before the next. */
const FAULTS: Readonly<Record<string, (parts: { proxy: TcpProxy; redis: RedisServer }) => () => Promise<void> | void>> =
  {
    'the store is healthy': () => () => {},
    'the store is 900 ms away': ({ proxy }) => {
      proxy.latencyMs = 900;
      return () => {
        proxy.latencyMs = 0;
      };
    },
    'the instance is cut off from the store': ({ proxy }) => {
      proxy.cut();
      return () => proxy.mend();
    },
    'the store hangs': ({ redis }) => {
      redis.freeze();
      return () => redis.thaw();
    },
  };

describe('when a chat client disconnects, the call to the provider is aborted within a second', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let redis: RedisServer;
  let proxy: TcpProxy;
  let instances: Instances;
  before(async function () {
    redis = await redisOrSkip(this);
    proxy = await startTcpProxy(redis.port);
    instances = await startInstances({ storeUrl: `redis://127.0.0.1:${proxy.port}/0`, names: ['one', 'two'] });
    instances.provider.respond = () => stallAfter(2, { text: 'a word or two', chunks: 4 });
  });
  after(async () => {
    await instances?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  for (const [what, begin] of Object.entries(FAULTS)) {
    for (const stream of [true, false]) {
      it(`while ${what}, ${stream ? 'streamed' : 'whole'}`, () =>
        inTime(LEAVE_MS, 'leaving it', async () => {
          const { leave, closed } = await ask({ question: `Who stays, ${what}, ${stream}?`, stream });
          const requestsBefore = instances.provider.requests.length;
          const end = begin({ proxy, redis });
          let tookMs: number;
          try {
            const disconnectedAt = performance.now();
            leave();
            assert.deepEqual(await closed, { left: true });
            tookMs = performance.now() - disconnectedAt;
          } finally {
            await end();
          }
          assert.equal(instances.provider.requests.length, requestsBefore, 'nothing more is paid for');
          return tookMs;
        }));
    }
  }

  /** Sends a chat and waits until its request reaches the provider. */
  async function ask({ question, stream }: { question: string; stream: boolean }) {
    const [gateway] = [...instances.gateways.values()];
    assert.ok(gateway);
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'researcher', messages: [{ role: 'user', content: question }], stream });
    const number = instances.provider.requests.length + 1;
    const asking = fetch(`${gateway.url}/v1/chat/completions`, {
      ...{ method: 'POST', headers: HEADERS, body, signal: leaving.signal },
    }).then((response) => response.text());
    asking.catch(() => {});
    const { closed } = await instances.provider.waitForRequest(number);
    return { closed, leave: () => leaving.abort() };
  }
});
