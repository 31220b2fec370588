import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { followLog } from '../../../src/runs/reading/follow.ts';
import type { Claim, LogBatch, LogHandlers, RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, ending, events, frames } from '../../contract/run-store-fixture.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** How long `followLog` waits in silence before it reads the store, in milliseconds. */
const SILENCE_MS = 1500;
/** Bytes of live batches that are buffered for a reader. */
const KEPT_BYTES = 256 * 1024;

/**
 * A run whose reader hears only what the test announces, while timers stand still. So whatever it gets, it gets because of
 * an announcement. Reads of the store are counted.
 */
class Announced implements AsyncDisposable {
  readonly #store: RunStore;
  readonly #claim: Claim;
  readonly #left = new AbortController();
  readonly #subscribed = Promise.withResolvers<void>();
  #tail: LogHandlers | undefined;
  #reading: Promise<void> | undefined;
  /** What the reader waits for after each batch. */
  gate: Promise<void> | undefined;
  reads = 0;
  subscriptions = 0;
  got = Buffer.alloc(0);
  takes = true;

  private constructor(store: RunStore, claim: Claim) {
    this.#store = store;
    this.#claim = claim;
  }

  static async open({ live = true } = {}): Promise<Announced> {
    const store = await memoryStore();
    const announced = new Announced(store, await claimedRun(store));
    mock.timers.enable({ apis: ['setTimeout'] });
    announced.#reading = announced.#read();
    announced.#reading.catch(() => {});
    if (live) await announced.live();
    return announced;
  }

  /** Resolves once the reader is past what was stored and waits for news. */
  async live(): Promise<void> {
    await this.#subscribed.promise;
    await quiet();
    this.reads = 0;
  }

  async #read(): Promise<void> {
    const store = wrapStore(this.#store, {
      read: (id, options) => {
        this.reads++;
        return this.#store.read(id, options);
      },
      subscribe: async (_id, handlers) => {
        this.subscriptions++;
        this.#tail = handlers;
        this.#subscribed.resolve();
        return { [Symbol.dispose]: () => void this.subscriptions-- };
      },
    });
    const pass = (batch: LogBatch) => this.takes && this.#took(batch);
    for await (const batch of followLog(store, this.#claim.run.id, {
      after: 2,
      signal: this.#left.signal,
      deliver: pass,
    })) {
      this.#took(batch);
      await this.gate;
    }
  }

  #took(batch: LogBatch): boolean {
    this.got = Buffer.concat([this.got, batch.frames]);
    return true;
  }

  async store(first: number, last: number, text?: string): Promise<LogBatch> {
    const bytes = frames(first, last, text);
    await this.#store.append(this.#claim.run.id, events(this.#claim.token, first, last, { frames: bytes }));
    return { first, last, frames: bytes, end: false };
  }

  async end(n: number): Promise<LogBatch> {
    await this.#store.append(this.#claim.run.id, ending(this.#claim.token, n, 'completed'));
    return { first: n, last: n, frames: frames(n, n), end: true };
  }

  announce(...batches: LogBatch[]): void {
    for (const batch of batches) this.#tail?.onBatch(batch);
  }

  gap(): void {
    this.#tail?.onGap();
  }

  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** Resolves when the reader's stream has ended. */
  get done(): Promise<void> {
    return this.#reading ?? assert.fail();
  }

  async leave(): Promise<void> {
    this.#left.abort(new Error('left'));
    await assert.rejects(this.done, /left/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#left.abort(new Error('left'));
    await this.done.catch(() => {});
    mock.timers.reset();
    await this.#store.close();
  }
}

/** Resolves once everything pending in memory has happened. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turnOfLoop();
}

describe('a batch announced to a reader', () => {
  for (const takes of [true, false]) {
    const how = takes ? 'delivered directly' : 'iterated';
    it(`is ${how} without reading the store if it continues the sequence`, async () => {
      await using run = await Announced.open();
      run.takes = takes;
      for (let n = 3; n < 8; n++) {
        run.announce(await run.store(n, n));
        await quiet();
      }
      run.announce(await run.store(8, 9), await run.store(10, 12));
      await quiet();
      assert.deepEqual(run.got, frames(3, 12));
      assert.equal(run.reads, 0);
      run.announce(await run.end(13));
      await run.done;
      assert.deepEqual(run.got, frames(3, 13));
      assert.equal(run.reads, 0);
    });

    it(`is received once if it is announced again, whole or in part (${how})`, async () => {
      await using run = await Announced.open();
      run.takes = takes;
      const first = await run.store(3, 6);
      run.announce(first, first);
      await quiet();
      run.announce(first);
      const second = await run.store(7, 8);
      run.announce({ first: 5, last: 8, frames: Buffer.concat([frames(5, 6), second.frames]), end: false });
      await quiet();
      assert.deepEqual(run.got, frames(3, 8));
      assert.equal(run.reads, 0);
    });

    it(`triggers a read of the store if the batch before it was missed (${how})`, async () => {
      await using run = await Announced.open();
      run.takes = takes;
      await run.store(3, 4);
      run.announce(await run.store(5, 6));
      await quiet();
      assert.deepEqual(run.got, frames(3, 6));
      assert.ok(run.reads > 0);
      run.reads = 0;
      run.announce(await run.store(7, 7));
      await quiet();
      assert.deepEqual(run.got, frames(3, 7));
      assert.equal(run.reads, 0, 'and then it is live again');
    });
  }

  it('is read from the store if only a gap was announced', async () => {
    await using run = await Announced.open();
    await run.store(3, 9);
    run.gap();
    await quiet();
    assert.deepEqual(run.got, frames(3, 9));
  });

  it('is buffered for a busy reader up to a limit; beyond it the store is read', async () => {
    await using run = await Announced.open();
    run.takes = false;
    let free = Promise.withResolvers<void>();
    run.gate = free.promise;
    run.announce(await run.store(3, 3));
    await quiet();
    const text = 'x'.repeat(KEPT_BYTES / 4);
    run.announce(await run.store(4, 4, text), await run.store(5, 5, text), await run.store(6, 6, text));
    free.resolve();
    await quiet();
    const all = Buffer.concat([frames(3, 3), frames(4, 6, text)]);
    assert.ok(run.got.equals(all));
    assert.equal(run.reads, 0, 'three quarters of the bound are kept');

    free = Promise.withResolvers<void>();
    run.gate = free.promise;
    run.announce(await run.store(7, 7));
    await quiet();
    for (let n = 8; n < 13; n++) run.announce(await run.store(n, n, text));
    free.resolve();
    await quiet();
    assert.ok(run.got.equals(Buffer.concat([all, frames(7, 7), frames(8, 12, text)])));
    assert.ok(run.reads > 0, 'more than the bound is not');
  });

  it('is not delivered ahead of batches that the reader still works on', async () => {
    await using run = await Announced.open();
    run.takes = false;
    const free = Promise.withResolvers<void>();
    run.gate = free.promise;
    run.announce(await run.store(3, 3));
    await quiet();
    run.takes = true;
    run.announce(await run.store(4, 4));
    run.announce(await run.store(5, 5));
    await quiet();
    assert.deepEqual(run.got, frames(3, 3));
    free.resolve();
    await quiet();
    assert.deepEqual(run.got, frames(3, 5));
    assert.equal(run.reads, 0);
  });

  it('is read from the store after a silence if its announcement was lost', async () => {
    await using run = await Announced.open();
    await run.store(3, 3);
    mock.timers.tick(SILENCE_MS - 1);
    await quiet();
    assert.equal(run.got.length, 0);
    mock.timers.tick(1);
    await quiet();
    assert.deepEqual(run.got, frames(3, 3));
  });

  it("leaves no listener on the reader's signal, however the stream ends", async () => {
    for (const end of ['terminal', 'left'] as const) {
      await using run = await Announced.open();
      for (let n = 3; n < 20; n++) {
        run.announce(await run.store(n, n));
        await quiet();
      }
      assert.ok(getEventListeners(run.signal, 'abort').length <= 1);
      if (end === 'left') await run.leave();
      else {
        run.announce(await run.end(20));
        await run.done;
      }
      assert.equal(getEventListeners(run.signal, 'abort').length, 0);
      assert.equal(run.subscriptions, 0);
    }
  });
});

describe('a reader that disconnects', () => {
  it('releases its subscription even if that arrives later', async () => {
    const store = await memoryStore();
    const { run } = await claimedRun(store);
    const subscribed = Promise.withResolvers<Disposable>();
    const asked = Promise.withResolvers<void>();
    const slow = wrapStore(store, {
      subscribe: () => {
        asked.resolve();
        return subscribed.promise;
      },
    });
    const left = new AbortController();
    const reading = Array.fromAsync(followLog(slow, run.id, { after: 2, signal: left.signal }));
    await asked.promise;
    left.abort(new Error('left'));
    await assert.rejects(reading, /left/);
    let given = 1;
    subscribed.resolve({ [Symbol.dispose]: () => void given-- });
    await quiet();
    assert.equal(given, 0);
    await store.close();
  });

  it('stops reading a long log at once', async () => {
    const store = await memoryStore();
    const { run, token } = await claimedRun(store);
    const text = 'x'.repeat(300_000);
    for (let n = 3; n < 10; n++) await store.append(run.id, events(token, n, n, { frames: frames(n, n, text) }));
    let reads = 0;
    const counting = wrapStore(store, {
      read: (id, options) => {
        reads++;
        return store.read(id, options);
      },
    });
    const left = new AbortController();
    const reading = (async () => {
      for await (const _ of followLog(counting, run.id, { after: 2, signal: left.signal }))
        left.abort(new Error('left'));
    })();
    await assert.rejects(reading, /left/);
    assert.equal(reads, 1);
    await store.close();
  });
});
