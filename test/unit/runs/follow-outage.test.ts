import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { followLog } from '../../../src/runs/reading/follow.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, ending, events, frames } from '../../contract/run-store-fixture.ts';
import { testConfig } from '../../support/run-harness.ts';
import { openStore } from '../../support/wrapped-store.ts';

/** A store that is away while `away` says so; reads, look-ups and subscriptions fail then. */
function interrupted(store: RunStore, away: () => boolean): RunStore {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        if (away() && (name === 'read' || name === 'get' || name === 'subscribe'))
          return Promise.reject(new GatewayError('store_unavailable', 'away', { retryAfterMs: 1000 }));
        return Reflect.apply(method, target, args);
      };
    },
  });
}

async function collect(batches: AsyncIterable<{ frames: Uint8Array }>): Promise<string> {
  let text = '';
  for await (const batch of batches) text += Buffer.from(batch.frames).toString();
  return text;
}

describe('a reader of a run', () => {
  it('waits while the store is away, and gets everything once it is back', async () => {
    await using store = await opened();
    const { run, token } = await claimedRun(store.runs);
    let asked = 0;
    const flaky = interrupted(store.runs, () => asked++ % 3 !== 2);
    const reading = collect(followLog(flaky, run.id, { after: 0, signal: AbortSignal.timeout(60_000) }));
    await store.runs.append(run.id, events(token, 3, 40));
    await store.runs.append(run.id, ending(token, 41, 'completed'));
    assert.equal(await reading, frames(1, 41).toString());
    assert.ok(asked >= 3);
  });

  it('ends with the reason of its signal while the store is away', async () => {
    await using store = await opened();
    const { run } = await claimedRun(store.runs);
    const left = new AbortController();
    const flaky = interrupted(store.runs, () => true);
    const reading = collect(followLog(flaky, run.id, { after: 0, signal: left.signal }));
    left.abort(new Error('the client left'));
    await assert.rejects(reading, /the client left/);
  });
});

async function opened() {
  const runs = await openStore(testConfig().store, { log: silentLogger });
  return { runs, [Symbol.asyncDispose]: () => runs.close() };
}
