import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { measureStep, runInScope } from '../../../src/base/load/event-loop.ts';
import { EventLoopMonitor } from '../../../src/base/load/event-loop-monitor.ts';
import { createLogger } from '../../../src/base/logger.ts';

function hold(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('EventLoopMonitor', () => {
  const watching = () => {
    const lines: Record<string, unknown>[] = [];
    const stood: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
    const watch = new EventLoopMonitor({
      log,
      onStall: (what) => void stood.push(what),
      currentWork: () => ({ routes: { '/v1/models': 1 }, runs: 2 }),
    });
    return { lines, stood, [Symbol.dispose]: () => watch[Symbol.dispose]() };
  };
  const beaten = async (lines: unknown[]) => {
    for (let n = 0; n < 100 && lines.length === 0; n++) await delay(20);
  };

  it('logs a slow step once, with the route it belongs to', async () => {
    using watch = watching();
    await runInScope({ route: '/v1/responses' }, async () => {
      await delay(1);
      measureStep('reading a JSON body', () => hold(260));
    });
    await delay(150);
    const slow = watch.lines.filter(({ step: what }) => what === 'reading a JSON body');
    assert.equal(slow.length, 1);
    assert.equal(slow[0]?.route, '/v1/responses');
    assert.ok(Number(slow[0]?.ms) >= 250);
    assert.ok(watch.stood.includes('reading a JSON body'));
  });

  it('logs the routes and runs in progress if no step explains a stall', async () => {
    using watch = watching();
    await delay(60);
    hold(400);
    await beaten(watch.lines);
    const line = watch.lines.find(({ msg }) => msg === 'the event loop stood');
    assert.deepEqual(line?.routes, { '/v1/models': 1 });
    assert.equal(line?.runs, 2);
    assert.ok(watch.stood.includes('unknown'));
  });

  it('lets measureStep return what the step returns and rethrow its errors', () => {
    assert.equal(
      measureStep('a', () => 7),
      7,
    );
    assert.throws(() => measureStep('b', () => assert.fail('no')), /no/);
  });
});
