import assert from 'node:assert/strict';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { eventually, HEADERS, startInstances, submit } from '../support/two-instances.ts';

const GRACE_SECONDS = 3;
/** For a busy machine. */
const SLACK_MS = 4000;

describe('a gateway whose store is slow', () => {
  let redis: RedisServer;
  let way: TcpProxy;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    way = await startTcpProxy(redis.port);
  });
  afterEach(() => way[Symbol.asyncDispose]());

  it('of 900 ms each way stops within its grace with code 0, and its runs go on elsewhere', async function () {
    this.timeout(60_000);
    await using instances = await startInstances({
      storeUrl: `redis://127.0.0.1:${way.port}/1`,
      names: ['slow'],
      config: { server: { port: 0, shutdown_grace_seconds: GRACE_SECONDS } },
    });
    const slow = instances.gateways.get('slow');
    assert.ok(slow);
    const ids = [await submit(slow), await submit(slow)];
    await instances.provider.waitForRequest(2);
    const streams = ids.map((id) => fetch(`${slow.url}/v1/responses/${id}?stream=true`, { headers: HEADERS }));
    const readers = (await Promise.all(streams)).map((response) => response.text());
    way.latencyMs = 900;
    const began = performance.now();
    const code = await slow.terminate();
    assert.equal(code, 0);
    const took = performance.now() - began;
    assert.ok(took < GRACE_SECONDS * 1000 + SLACK_MS, `it took ${Math.round(took)} ms`);
    for (const text of await Promise.all(readers)) assert.doesNotMatch(text, /response\.failed/);

    way.latencyMs = 0;
    await using next = await startInstances({ storeUrl: `redis://127.0.0.1:${redis.port}/1`, names: ['next'] });
    const gateway = next.gateways.get('next');
    assert.ok(gateway);
    for (const id of ids) {
      await eventually('the run ends', async () => {
        const answer = await fetch(`${gateway.url}/v1/responses/${id}`, { headers: HEADERS });
        return /"status":"completed"/.test(await answer.text()) || undefined;
      });
    }
  });

  it('that is cut off altogether stops within its grace with code 0', async function () {
    this.timeout(60_000);
    await using instances = await startInstances({
      storeUrl: `redis://127.0.0.1:${way.port}/2`,
      names: ['cut'],
      config: { server: { port: 0, shutdown_grace_seconds: GRACE_SECONDS } },
    });
    const gateway = instances.gateways.get('cut');
    assert.ok(gateway);
    await submit(gateway);
    await instances.provider.waitForRequest(1);
    way.cut();
    const began = performance.now();
    assert.equal(await gateway.terminate(), 0);
    const took = performance.now() - began;
    assert.ok(took < GRACE_SECONDS * 1000 + SLACK_MS, `it took ${Math.round(took)} ms`);
  });
});
