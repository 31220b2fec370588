import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { GatewayError } from '../../../src/base/errors.ts';
import { publicId } from '../../../src/base/ids.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { eventually } from '../../support/eventually.ts';
import { CALLER, type Harness, openHarness, question, readAll, testConfig } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { memoryStore } from '../../support/wrapped-store.ts';

/** A store that is away while `away` is set: nothing reaches it, as with a lost Redis or a full disk. */
function storeWithOutages(inner: RunStore) {
  const state = { away: false, store: inner };
  state.store = new Proxy(inner, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        if (!state.away || name === 'onChange' || name === 'close') return method.apply(target, args);
        return Promise.reject(new GatewayError('store_unavailable', 'The store is away.', { retryAfterMs: 1000 }));
      };
    },
  });
  return state;
}

/** A model whose turns start and never end; `open` counts them. */
class HangingModel extends ScriptedModel {
  open = 0;

  constructor() {
    super(() => ({ gate: new Promise(() => {}) }));
  }

  override async *turn(...args: Parameters<ScriptedModel['turn']>): ReturnType<ScriptedModel['turn']> {
    this.open++;
    try {
      yield* super.turn(...args);
    } finally {
      this.open--;
    }
  }
}

describe('a cancel while the store is away', function () {
  // The store is away for seconds.
  this.timeout(patience(30));
  let inner: RunStore;
  let outage: ReturnType<typeof storeWithOutages>;
  let chat: HangingModel;
  beforeEach(async () => {
    inner = await memoryStore();
    outage = storeWithOutages(inner);
    chat = new HangingModel();
  });
  afterEach(() => inner.close());

  const open = (runs = {}) => openHarness({ chat, store: outage.store, config: testConfig({ runs }) });

  async function started(harness: Harness, api: RunRecord['api'] = 'responses') {
    const { run } = await harness.runs.submit(question({ api }));
    while (chat.open === 0) await turnOfLoop();
    return run;
  }

  async function endOf(harness: Harness, run: RunRecord) {
    const end = decodeFrames(await readAll(harness.runs, run)).at(-1);
    assert.ok(end && 'response' in end);
    return end.response;
  }

  it('aborts the model at once, and ends the run once the store is back', async () => {
    await using harness = await open();
    const run = await started(harness);
    outage.away = true;
    const answer = harness.runs.cancelById(CALLER, 'responses', publicId('responses', run.id));
    assert.equal((await answer.catch((thrown) => thrown)).code, 'store_unavailable');
    while (chat.open > 0) await turnOfLoop();
    outage.away = false;
    assert.equal((await endOf(harness, run)).status, 'cancelled');
    assert.equal(chat.requests.length, 1, 'nothing was paid for after the cancel');
  });

  it('aborts the model of a chat client that disconnected', async () => {
    await using harness = await open();
    const run = await started(harness, 'chat_completions');
    outage.away = true;
    await assert.rejects(harness.runs.cancel(run), { code: 'store_unavailable' });
    while (chat.open > 0) await turnOfLoop();
    outage.away = false;
    assert.equal((await endOf(harness, run)).status, 'cancelled');
  });

  it('reaches a queued run and a run of another instance', async () => {
    await using owner = await open({ max_concurrent: 1 });
    const run = await started(owner);
    const { run: waiting } = await owner.runs.submit(question());
    await using other = await openHarness({ chat, store: outage.store, config: testConfig() });
    await owner.runs.cancel(waiting);
    const { run: queued } = await owner.runs.submit(question());
    const id = (of: RunRecord) => publicId('responses', of.id);
    // Every instance is full: nobody takes what waits.
    outage.away = true;
    for (const one of [run, queued]) {
      await assert.rejects(other.runs.cancelById(CALLER, 'responses', id(one)), { code: 'store_unavailable' });
    }
    outage.away = false;
    for (const one of [run, queued]) assert.equal((await endOf(owner, one)).status, 'cancelled');
  });

  it('has no effect if another user asks for it, now or later', async () => {
    await using harness = await open({ max_concurrent: 1 });
    const run = await started(harness);
    const { run: waiting } = await harness.runs.submit(question());
    outage.away = true;
    const bob = { user: 'bob', keyId: 'key-bob' };
    const id = publicId('responses', run.id);
    await assert.rejects(harness.runs.cancelById(bob, 'responses', id), { code: 'store_unavailable' });
    assert.equal(chat.open, 1);
    // A cancel by the run's own user, of a run that nobody drives: it is delivered after that of the other user.
    await assert.rejects(harness.runs.cancel(waiting), { code: 'store_unavailable' });
    outage.away = false;
    assert.equal((await endOf(harness, waiting)).status, 'cancelled');
    assert.equal((await inner.get(run.id))?.cancelRequested, false);
    assert.equal(chat.open, 1, 'the work goes on');
    await harness.runs.cancel(run);
  });

  it('is carried out although another user asks for the same, and is refused', async () => {
    await using owner = await open();
    const run = await started(owner);
    await using other = await openHarness({ chat, store: outage.store, config: testConfig() });
    const id = publicId('responses', run.id);
    outage.away = true;
    for (const caller of [CALLER, { user: 'bob', keyId: 'key-bob' }])
      await assert.rejects(other.runs.cancelById(caller, 'responses', id), { code: 'store_unavailable' });
    outage.away = false;
    assert.equal((await endOf(owner, run)).status, 'cancelled');
  });

  it('ends a queued run before it reaches the model', async () => {
    await using harness = await open({ max_concurrent: 1 });
    const run = await started(harness);
    const { run: queued } = await harness.runs.submit(question());
    // The cancel does not reach the store at first, which hands out the run meanwhile.
    outage.away = true;
    await assert.rejects(harness.runs.cancel(queued), { code: 'store_unavailable' });
    outage.away = false;
    await harness.runs.cancel(run);
    assert.equal((await endOf(harness, queued)).status, 'cancelled');
    assert.equal(chat.requests.length, 1, 'the cancelled run never reached the model');
  });
});

describe('a chat completion whose creation was stored but not acknowledged', function () {
  // The store is away for seconds.
  this.timeout(patience(30));
  it('is cancelled, because nobody can read it', async () => {
    const inner = await memoryStore();
    const chat = new HangingModel();
    let id = '';
    const unanswered = new Proxy(inner, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        if (name !== 'create') return method.bind(target);
        return async (run: Parameters<RunStore['create']>[0]) => {
          await target.create(run);
          id = run.id;
          throw new GatewayError('store_unavailable', 'The store did not answer.');
        };
      },
    });
    {
      await using harness = await openHarness({ chat, store: unanswered });
      await assert.rejects(harness.runs.submit(question({ api: 'chat_completions' })), { code: 'store_unavailable' });
      await eventually('its cancel', async () => (await inner.get(id))?.status === 'cancelled');
      assert.equal(chat.open, 0);
    }
    await inner.close();
  });
});
