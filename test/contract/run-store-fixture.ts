import assert from 'node:assert/strict';
import type { Clock } from '../../src/base/clock.ts';
import { newRunId, type RunId } from '../../src/base/ids.ts';
import type { AppendBatch, Claim, LogBatch, NewRun, RunStore, TerminalStatus } from '../../src/store/run-store.ts';

/** An empty store for one test. */
export interface StoreFixture extends AsyncDisposable {
  store: RunStore;
  /** The same data seen by another instance; the same object if a backend serves one instance only. */
  peer: RunStore;
  /** The store's time, which starts at `T0` and stands still. */
  clock: TestClock;
}

/** A clock that a test sets. */
export interface TestClock extends Clock {
  ms: number;
}

export function testClock(): TestClock {
  return {
    ms: T0,
    now() {
      return this.ms;
    },
  };
}

/** The start of the tests' time, Unix milliseconds. Stores take the time from their callers. */
export const T0 = 1_750_000_000_000;
export const LEASE = { leaseMs: 10_000 };

/** The bytes of event `n`. `text` may be empty and may hold Unicode and newlines. */
export function frame(n: number, text = 'some text'): Buffer {
  return Buffer.from(
    `event: test.delta\ndata: ${JSON.stringify({ type: 'test.delta', sequence_number: n, delta: text })}\n\n`,
  );
}

/** The bytes of events `first` to `last`. */
export function frames(first: number, last: number, text?: string): Buffer {
  return Buffer.concat(Array.from({ length: last - first + 1 }, (_, index) => frame(first + index, text)));
}

export function newRun(changes: Partial<NewRun> = {}): NewRun {
  return {
    id: newRunId(),
    user: 'ada',
    keyId: 'key-a',
    api: 'responses',
    model: 'deep',
    kind: 'research',
    createdAt: T0,
    expiresAt: T0 + 3_600_000,
    request: '{"input":"Why?"}',
    metadata: '{"a":"b"}',
    listed: '{}',
    frames: frames(1, 2),
    frameCount: 2,
    ...changes,
  };
}

/** A run that is created and claimed. */
export async function claimedRun(store: RunStore, changes: Partial<NewRun> = {}): Promise<Claim> {
  const run = newRun(changes);
  assert.equal(await store.create(run), 'created');
  return await claimed(store, run.id);
}

/** Claims the run by force. */
export async function claimed(store: RunStore, id: RunId): Promise<Claim> {
  const claim = await store.claim(id, { ...LEASE, force: true });
  assert.ok(claim, 'the run can be claimed');
  return claim;
}

/** Events `first` to `last` as an append. */
export function events(token: string, first: number, last: number, changes: Partial<AppendBatch> = {}): AppendBatch {
  return { token, first, count: last - first + 1, frames: frames(first, last), ...changes };
}

export function ending(
  token: string,
  first: number,
  status: TerminalStatus,
  changes: Partial<AppendBatch> = {},
): AppendBatch {
  return events(token, first, first, { end: { status, at: T0 + 5000, retainMs: 60_000 }, ...changes });
}

/** A run that is created, claimed and ended. */
export async function endedRun(
  store: RunStore,
  changes: Partial<NewRun> & { status?: TerminalStatus; retainMs?: number } = {},
): Promise<Claim> {
  const { status = 'completed', retainMs = 60_000, ...run } = changes;
  const claim = await claimedRun(store, run);
  const end = { status, at: T0 + 5000, retainMs };
  assert.equal((await store.append(claim.run.id, ending(claim.token, 3, status, { end }))).result, 'ok');
  return claim;
}

/** Reads everything after `after` in pieces, and checks that no event is missing between them. */
export async function readAll(
  store: RunStore,
  id: RunId,
  options: { after?: number; maxBytes?: number } = {},
): Promise<{ bytes: Buffer; last: number; end: boolean }> {
  const { after = 0, maxBytes = 100_000 } = options;
  const pieces: Uint8Array[] = [];
  let last = after;
  let end = false;
  for (;;) {
    const batches = await store.read(id, { after: last, maxBytes });
    if (batches.length === 0) return { bytes: Buffer.concat(pieces), last, end };
    for (const batch of batches) {
      assert.equal(batch.first, last + 1);
      assert.ok(batch.last >= batch.first);
      assert.equal(end, false, 'nothing comes after the end');
      pieces.push(batch.frames);
      ({ last, end } = batch);
    }
  }
}

/** A live reader: collects delivered batches that continue the log, and reads the log on gaps. */
export class LiveReader {
  last = 0;
  gaps = 0;
  readonly batches: LogBatch[] = [];
  readonly #store: RunStore;
  readonly #id: RunId;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: RunStore, id: RunId) {
    this.#store = store;
    this.#id = id;
  }

  readonly handlers = {
    onBatch: (batch: LogBatch) => {
      this.#reading = this.#reading.then(async () => {
        if (batch.last <= this.last) return;
        if (batch.first === this.last + 1) this.#take(batch);
        else await this.#catchUp();
      });
    },
    onGap: () => {
      this.gaps++;
      this.#reading = this.#reading.then(() => this.#catchUp());
    },
  };

  /** Waits for reads under way; returns the bytes so far. */
  async bytes(): Promise<Buffer> {
    await this.#reading;
    return Buffer.concat(this.batches.map((batch) => batch.frames));
  }

  async catchUp(): Promise<void> {
    this.handlers.onGap();
    await this.#reading;
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      // A store that is away reports a gap once it is back.
      const batches = await this.#store.read(this.#id, { after: this.last, maxBytes: 100_000 }).catch(() => []);
      if (batches.length === 0) return;
      for (const batch of batches) this.#take(batch);
    }
  }

  #take(batch: LogBatch): void {
    assert.equal(batch.first, this.last + 1);
    this.last = batch.last;
    this.batches.push(batch);
  }
}
