import { abortable, sleep } from '../../base/abort.ts';
import type { RunId } from '../../base/ids.ts';
import { dropUpTo } from '../../store/frames.ts';
import type { LogBatch, LogHandlers, RunStore } from '../../store/run-store.ts';
import { LiveTail, passingOn } from './live-tail.ts';
import { retryWhileStoreAway } from './retry-while-store-away.ts';

/** Bytes read from the store at once. */
const READ_BYTES = 512 * 1024;
/** The store is read again after this long without news, in milliseconds: notifications may be lost. */
const REREAD_MS = 1500;
/** How long a run that a failover lost may be missing before its owner creates it again, in milliseconds. */
const LOST_MS = 3000;
const LOOK_MS = 200;

export interface FollowLogOptions {
  /** Sequence number of the last event that the reader has. */
  after: number;
  signal: AbortSignal;
  /** Whether it is followed while the gateway stops, as long as its run goes on here. */
  untilStopped?: boolean;
  /** Makes live batches cheaper; see `passingOn`. */
  pass?: ((batch: LogBatch) => boolean) | undefined;
}

/**
 * The log of a run after `after`: what is stored, the cut-over, then live, until the terminal event. Written once
 * over the store contract. Waits while the store is away. Ends without a terminal event where the run was removed.
 * @throws the signal's reason.
 */
export async function* followLog(
  store: RunStore,
  id: RunId,
  options: FollowLogOptions,
): AsyncGenerator<LogBatch, void> {
  const { signal, pass } = options;
  const cursor = { last: options.after };

  // Catch up: nothing is subscribed yet, a finished run never gets further.
  if (yield* readAll(store, id, cursor, signal)) return;
  // The run was there a moment ago: only one that stays silent is asked for.
  let isKnown = cursor.last > options.after;

  // Cut over: from here on every append is either still to be read or on its way to the tail.
  const tail = new LiveTail();
  const handlers = pass ? passingOn(tail, { cursor, pass }) : tail;
  using _ = await retryWhileStoreAway(() => subscribe(store, id, { handlers, signal }), signal);
  tail.onGap();

  // Live: batches that continue the sequence are yielded; whatever does not fit is read from the store.
  for (;;) {
    signal.throwIfAborted();
    if (tail.ended) return;
    const batch = tail.take();
    if (batch && batch.first > cursor.last + 1) tail.onGap();
    else if (batch && batch.last > cursor.last) {
      const fresh = dropUpTo(batch, cursor.last);
      cursor.last = fresh.last;
      yield fresh;
      if (fresh.end) return;
    } else if (!batch && (tail.gap || !(await tail.wait(REREAD_MS, signal)))) {
      const before = cursor.last;
      tail.clear();
      if (yield* readAll(store, id, cursor, signal)) return;
      const mayBeGone = cursor.last === before && !isKnown;
      isKnown = false;
      if (mayBeGone && (await isGone(store, id, { last: before, signal }))) return;
    }
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

/**
 * Whether nothing follows event `last`: the run was removed, or the reader began past its end. Where a failover may
 * lose runs, one that is missing is given time to come back.
 */
async function isGone(
  store: RunStore,
  id: RunId,
  { last, signal }: { last: number; signal: AbortSignal },
): Promise<boolean> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const run = await retryWhileStoreAway(() => store.get(id), signal);
    if (run) return run.endedAt !== null && run.last <= last;
    if (!store.restore || waited >= LOST_MS) return true;
    await sleep(LOOK_MS, { signal });
  }
}

/** A subscription that is given back even if the reader left while it was being made. */
async function subscribe(
  store: RunStore,
  id: RunId,
  { handlers, signal }: { handlers: LogHandlers; signal: AbortSignal },
): Promise<Disposable> {
  const pending = store.subscribe(id, handlers);
  try {
    return await abortable(pending, signal);
  } catch (thrown) {
    pending.then((subscription) => subscription[Symbol.dispose]()).catch(() => {});
    throw thrown;
  }
}
