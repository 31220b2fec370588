import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { RunDriver } from '../../../src/runs/executing/driving/run-driver.ts';
import type { ExecutorOptions } from '../../../src/runs/executing/executor-options.ts';
import { LocalExecutor } from '../../../src/runs/executing/local-executor.ts';
import { HandOver, LEASE_MS, RunLease } from '../../../src/runs/executing/run-lease.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { claimed, claimedRun, readAll } from '../../contract/run-store-fixture.ts';
import { openHarness, question, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** The monotonic clock, which a test moves forward, as if the process had been frozen; else it stands, unless it `runs`. */
function steppingClock({ runs = false } = {}) {
  let ahead = 0;
  const real = performance.now.bind(performance);
  const at = real();
  mock.method(performance, 'now', () => (runs ? real() : at) + ahead);
  return {
    forward(ms: number) {
      ahead += ms;
    },
  };
}

describe('RunLease', () => {
  let inner: RunStore;
  let clock: ReturnType<typeof steppingClock>;
  let renewals: number;
  beforeEach(async () => {
    inner = await memoryStore();
    clock = steppingClock();
    renewals = 0;
  });
  afterEach(async () => {
    mock.restoreAll();
    await inner.close();
  });

  /** A lease over the store; `renew` runs before the answer of each renewal. */
  async function open(renew: () => Promise<void> | void = () => {}): Promise<RunLease> {
    const store = wrapStore(inner, {
      renew: async (id, options) => {
        renewals++;
        const renewed = await inner.renew(id, options);
        await renew();
        return renewed;
      },
    });
    return new RunLease(await claimedRun(inner), { store, log: silentLogger });
  }

  it('asks the store to confirm it only once half of its time is over', async () => {
    const lease = await open();
    await lease.confirm();
    clock.forward(LEASE_MS / 2 - 100);
    await lease.confirm();
    assert.equal(renewals, 0);
    clock.forward(200);
    await lease.confirm();
    assert.equal(renewals, 1);
    await lease.confirm();
    assert.equal(renewals, 1, 'it is known to hold again');
  });

  it('counts from the request of a renewal, not from its answer', async () => {
    const lease = await open(() => clock.forward(LEASE_MS));
    await lease.renew();
    await lease.confirm();
    assert.equal(renewals, 2);
  });

  it('rejects with HandOver once it was lost', async () => {
    const lease = await open();
    await claimed(inner, lease.run.id);
    await lease.confirm();
    clock.forward(LEASE_MS);
    await assert.rejects(lease.confirm(), HandOver);
    assert.ok(lease.signal.reason instanceof HandOver);
  });

  it('learns of a cancel with a renewal if its notification was lost', async () => {
    const lease = await open();
    await inner.requestCancel(lease.run.id);
    await lease.renew();
    assert.equal(lease.cancelled, true);
    assert.match(String(lease.signal.reason), /the run was cancelled/);
  });

  it('is kept while the store is away', async () => {
    const lease = await open(() => {
      throw new GatewayError('store_unavailable', 'The store is away.');
    });
    clock.forward(LEASE_MS);
    await lease.confirm();
    assert.equal(lease.signal.aborted, false);
  });
});

describe('a run whose owner was frozen while another instance took it over', () => {
  afterEach(() => mock.restoreAll());

  it('gets no tool call from the former owner, although its last append succeeded', async () => {
    const inner = await memoryStore();
    const clock = steppingClock({ runs: true });
    const called: unknown[] = [];
    const taken = Promise.withResolvers<void>();
    const store = wrapStore(inner, {
      append: async (id, batch) => {
        const appended = await inner.append(id, batch);
        // The process freezes here, with the model's turn stored, and continues after its claim has expired.
        if (batch.transcript && appended.result === 'ok' && called.length === 0) {
          await claimed(inner, id);
          clock.forward(LEASE_MS + 1);
          taken.resolve();
        }
        return appended;
      },
    });
    const chat = new ScriptedModel((request) =>
      isAnswerTurn(request) ? { text: ['done'] } : { calls: [{ name: 'lookup', arguments: { q: 'a' } }] },
    );
    const lookup = testTool('lookup', (args) => {
      called.push(args);
      return { result: '{}' };
    });
    const harness = await openHarness({ chat, tools: [lookup], store });
    await harness.runs.submit(question());
    await taken.promise;
    while (harness.executor.active > 0) await turnOfLoop();
    assert.deepEqual(called, []);
    assert.equal(chat.requests.length, 1);
    await harness.stop();
    await inner.close();
  });
});

describe('a run that is handed over in the middle of a turn', () => {
  it('is released with everything that was recorded by then', async () => {
    const inner = await memoryStore();
    const slow = Promise.withResolvers<void>();
    const said = Promise.withResolvers<void>();
    const stopping = Promise.withResolvers<void>();
    let storedAtRelease = '';
    const store = wrapStore(inner, {
      append: async (id, batch) => {
        // The first batch is still on its way when the rest has been said.
        if (!batch.end) await slow.promise;
        return await inner.append(id, batch);
      },
      release: async (id, claim) => {
        storedAtRelease = (await readAll(inner, id)).bytes.toString();
        await inner.release(id, claim);
      },
    });
    const driver: RunDriver = {
      async *research({ signal }) {
        for (const delta of ['one ', 'two ', 'three ']) {
          yield { type: 'reasoning', delta };
          await turnOfLoop();
        }
        said.resolve();
        await once(signal, 'abort');
        stopping.resolve();
        throw signal.reason;
      },
      plain: () => assert.fail('no plain model is asked'),
      proxy: async () => '{}',
    };
    const executor = (options: ExecutorOptions) => new LocalExecutor({ ...options, driver });
    const harness = await openHarness({ chat: new ScriptedModel([]), store, executor });
    await harness.runs.submit(question());
    await said.promise;
    const stopped = harness.executor.stop({ graceMs: 10 });
    await stopping.promise;
    // The execution hears of it first.
    await turnOfLoop();
    slow.resolve();
    await stopped;
    assert.match(storedAtRelease, /three /);
    await harness.stop();
    await inner.close();
  });
});
