import { abortable, sleep } from '../../base/abort.ts';
import type { RunId } from '../../base/ids.ts';
import { skipFrames } from '../../protocol/frames.ts';
import type { LogBatch, RunStore } from '../../store/run-store.ts';
import { retryWhileStoreAway } from './retry-while-store-away.ts';

/** Bytes read from the store at once. */
const READ_BYTES = 512 * 1024;
/** Live bytes that wait for a slow reader before it is switched back to reading the store. */
const MAX_LIVE_BYTES = 256 * 1024;
/** The store is read again after this long without news, in milliseconds: notifications may be lost. */
const REREAD_MS = 1500;
/** How long a run that is gone may be one that a failover lost and its owner creates again, in milliseconds. */
const LOST_MS = 3000;
const LOST_LOOK_MS = 200;

export interface FollowOptions {
  /** Sequence number of the last event that the reader has. */
  after: number;
  signal: AbortSignal;
  /**
   * Takes a live batch while the reader waits for the next one, so that it costs no promise; false where the reader
   * cannot take it now: then it comes with the iteration.
   */
  pass?: ((batch: LogBatch) => boolean) | undefined;
  /** The log from event 1 on as it is known to be stored. */
  begun?: LogBatch | undefined;
}

/**
 * The log of a run after `after`: what is stored, the cut-over, then live, until the terminal event. Written once
 * over the store contract. Waits while the store is away. Ends without a terminal event where the run was removed.
 * @throws the signal's reason.
 */
export async function* follow(store: RunStore, id: RunId, options: FollowOptions): AsyncGenerator<LogBatch, void> {
  const { signal, begun } = options;
  const cursor = { last: options.after };

  // Backfill: nothing is subscribed yet, a finished run never gets further.
  if (begun) {
    if (begun.last > cursor.last) yield fromCursor(begun, cursor.last);
    cursor.last = Math.max(cursor.last, begun.last);
  } else if (yield* readAll(store, id, cursor, signal)) return;
  // The run was there a moment ago: only one that stays silent is asked for.
  let isKnown = cursor.last > options.after;

  // Cut-over: from here on every append is either still to be read or on its way to the tail.
  const tail = new LiveTail(cursor, options.pass);
  using _ = await retryWhileStoreAway(() => subscribe(store, id, { tail, signal }), signal);
  tail.onGap();

  // Live: batches that continue the sequence are passed on; whatever does not fit is read from the store.
  for (;;) {
    signal.throwIfAborted();
    if (tail.ended) return;
    const batch = tail.take();
    if (!batch) {
      if (tail.gap || !(await tail.wait(REREAD_MS, signal))) {
        const before = cursor.last;
        tail.clear();
        if (yield* readAll(store, id, cursor, signal)) return;
        const mayBeGone = cursor.last === before && !isKnown;
        isKnown = false;
        if (mayBeGone && (await retryWhileStoreAway(() => nothingFollows(store, id, { last: before, signal }), signal)))
          return;
      }
      continue;
    }
    if (batch.last <= cursor.last) continue;
    if (batch.first > cursor.last + 1) {
      tail.onGap();
      continue;
    }
    const fresh = fromCursor(batch, cursor.last);
    cursor.last = fresh.last;
    yield fresh;
    if (fresh.end) return;
  }
}

/** Yields everything stored after the cursor. True once the terminal event was among it. */
async function* readAll(
  store: RunStore,
  id: RunId,
  cursor: { last: number },
  signal: AbortSignal,
): AsyncGenerator<LogBatch, boolean> {
  for (;;) {
    signal.throwIfAborted();
    const batches = await retryWhileStoreAway(
      () => store.read(id, { after: cursor.last, maxBytes: READ_BYTES }),
      signal,
    );
    if (batches.length === 0) return false;
    for (const batch of batches) {
      cursor.last = batch.last;
      yield batch;
      if (batch.end) return true;
    }
  }
}

/** Whether the log ends at or before `last`: the run was removed, or the reader began past its end. */
async function nothingFollows(
  store: RunStore,
  id: RunId,
  { last, signal }: { last: number; signal: AbortSignal },
): Promise<boolean> {
  for (let waited = 0; ; waited += LOST_LOOK_MS) {
    const run = await store.get(id);
    if (run) return run.endedAt !== null && run.last <= last;
    if (!store.restore || waited >= LOST_MS) return true;
    await sleep(LOST_LOOK_MS, { signal });
  }
}

/** A subscription that is given back even if the reader left while it was being made. */
async function subscribe(
  store: RunStore,
  id: RunId,
  options: { tail: LiveTail; signal: AbortSignal },
): Promise<Disposable> {
  const pending = store.subscribe(id, options.tail);
  try {
    return await abortable(pending, options.signal);
  } catch (thrown) {
    pending.then((subscription) => subscription[Symbol.dispose]()).catch(() => {});
    throw thrown;
  }
}

function fromCursor(batch: LogBatch, last: number): LogBatch {
  if (batch.first === last + 1) return batch;
  return { ...batch, first: last + 1, frames: skipFrames(batch.frames, last + 1 - batch.first) };
}

/**
 * Batches that were announced. One that continues the sequence is passed on at once while the reader waits; the others
 * are kept until they are taken, and too many of them are given up for a read.
 */
class LiveTail {
  readonly #cursor: { last: number };
  readonly #pass: FollowOptions['pass'];
  #batches: LogBatch[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #passedAt = Number.NEGATIVE_INFINITY;
  gap = false;
  /** The terminal event was passed on. */
  ended = false;

  constructor(cursor: { last: number }, pass: FollowOptions['pass']) {
    this.#cursor = cursor;
    this.#pass = pass;
  }

  onBatch(batch: LogBatch): void {
    if (this.#passOn(batch)) return;
    if (!this.gap) {
      this.#batches.push(batch);
      this.#bytes += batch.frames.length;
      if (this.#bytes > MAX_LIVE_BYTES) this.onGap();
    }
    this.#wake?.();
  }

  #passOn(batch: LogBatch): boolean {
    const waits = this.#wake && !this.gap && this.#batches.length === 0;
    if (!waits || batch.first !== this.#cursor.last + 1 || !this.#pass?.(batch)) return false;
    this.#cursor.last = batch.last;
    this.#passedAt = performance.now();
    this.ended = batch.end;
    if (batch.end) this.#wake?.();
    return true;
  }

  onGap(): void {
    this.#batches = [];
    this.#bytes = 0;
    this.gap = true;
    this.#wake?.();
  }

  /** What is announced from now on counts again. */
  clear(): void {
    this.gap = false;
    this.#batches = [];
    this.#bytes = 0;
  }

  take(): LogBatch | undefined {
    const batch = this.#batches.shift();
    if (batch) this.#bytes -= batch.frames.length;
    return batch;
  }

  /** True when there is something to do; false after `ms` without news. */
  wait(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#wake = undefined;
        settle();
      };
      const onAbort = () => finish(() => reject(signal.reason));
      const onSilence = () => {
        const left = this.#passedAt + ms - performance.now();
        if (left <= 0) return finish(() => resolve(false));
        timer = setTimeout(onSilence, left);
      };
      let timer = setTimeout(onSilence, ms);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#wake = () => finish(() => resolve(true));
    });
  }
}
