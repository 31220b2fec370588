import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { fairMs } from '../support/fair-time.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { patience } from '../support/time-limit.ts';
import { HEADERS, type Instances, startInstances, submit } from '../support/two-instances.ts';

const GRACE_SECONDS = 2;
/** Slack for a busy machine; a gateway that waits for its store without a limit takes longer. */
const SLACK_MS = 6000;

/** How a gateway stopped while its store was slow or cut off. */
interface Ending {
  code: number | null;
  tookMs: number;
  ids: string[];
  /** What the readers of its runs received until the gateway closed their streams. */
  streams: string[];
}

describe('a gateway whose store is slow or cut off', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let redis: RedisServer;
  let stack: AsyncDisposableStack;
  let endings: Record<'slow' | 'cut', Ending>;

  // Both gateways wait most of the time, so they stop together.
  before(async function () {
    redis = await redisOrSkip(this);
    stack = new AsyncDisposableStack();
    stack.use(redis);
    const [slow, cut] = await Promise.all([
      ended(1, (proxy) => {
        proxy.latencyMs = 900;
      }),
      ended(2, (proxy) => proxy.cut()),
    ]);
    endings = { slow, cut };
  });
  after(() => stack?.disposeAsync());

  /** Starts a gateway behind a proxy of its own with two runs, breaks the proxy and stops the gateway. */
  async function ended(database: number, breakProxy: (proxy: TcpProxy) => void): Promise<Ending> {
    const proxy = stack.use(await startTcpProxy(redis.port));
    const instances: Instances = stack.use(
      await startInstances({
        storeUrl: `redis://127.0.0.1:${proxy.port}/${database}`,
        names: ['only'],
        config: { server: { port: 0, shutdown_grace_seconds: GRACE_SECONDS } },
      }),
    );
    const gateway = instances.gateways.get('only');
    assert.ok(gateway);
    const ids = await Promise.all([submit(gateway), submit(gateway)]);
    await instances.provider.waitForRequest(2);
    const answers = ids.map((id) => fetch(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS }));
    const readers = (await Promise.all(answers)).map((response) => response.text());
    breakProxy(proxy);
    const began = performance.now();
    const code = await gateway.terminate();
    return { code, tookMs: performance.now() - began, ids, streams: await Promise.all(readers) };
  }

  function endsInTime({ code, tookMs, streams }: Ending): void {
    assert.equal(code, 0);
    assert.ok(fairMs(tookMs) < GRACE_SECONDS * 1000 + SLACK_MS, `it took ${Math.round(tookMs)} ms`);
    for (const text of streams) assert.doesNotMatch(text, /response\.failed/);
  }

  it('with 900 ms of latency stops within its grace period with code 0, and its runs complete elsewhere', async () => {
    endsInTime(endings.slow);
    await using next = await startInstances({ storeUrl: `redis://127.0.0.1:${redis.port}/1`, names: ['next'] });
    const gateway = next.gateways.get('next');
    assert.ok(gateway);
    for (const id of endings.slow.ids) {
      await eventually('the run ends', async () => {
        const answer = await fetch(`${gateway.url}/v1/responses/${id}`, { headers: HEADERS });
        return /"status":"completed"/.test(await answer.text()) || undefined;
      });
    }
  });

  it('that is cut off stops within its grace period with code 0', () => endsInTime(endings.cut));
});
