import { abortable, sleep } from '../../base/abort.ts';
import type { RunId } from '../../base/ids.ts';
import { dropUpTo } from '../../store/frames.ts';
import type { LogBatch, LogHandlers, RunStore } from '../../store/run-store.ts';
import { deliverDirectly, LiveTail } from './live-tail.ts';
import { retryWhileStoreAway } from './retry-while-store-away.ts';

/** Bytes read from the store at once. */
const READ_BYTES = 512 * 1024;
/** Reads the store again after this long without a notification, in milliseconds: notifications may be lost. */
const REREAD_MS = 1500;
/** How long a run may be missing after a failover before its owner creates it again, in milliseconds. */
const MISSING_GRACE_MS = 3000;
const MISSING_POLL_MS = 200;

export interface FollowLogOptions {
  /** Sequence number of the last event that the reader has. */
  after: number;
  signal: AbortSignal;
  /** The run was created here a moment ago: it exists, and hardly anything is stored after `after`. */
  isNew?: boolean;
  /** Keeps following while the gateway shuts down, for as long as this process drives the run. */
  untilStopped?: boolean;
  /** Takes live batches without a promise each; see `deliverDirectly`. */
  deliver?: ((batch: LogBatch) => boolean) | undefined;
}

/**
 * Yields the log of a run after event `after`: catches up from the store, cuts over, then follows live until the
 * terminal event. Waits while the store is away. Ends without a terminal event if the run was removed.
 * @throws the signal's reason.
 */
export async function* followLog(
  store: RunStore,
  id: RunId,
  options: FollowLogOptions,
): AsyncGenerator<LogBatch, void> {
  const { signal, deliver, isNew = false } = options;
  const cursor = { last: options.after };

  // Catch up without a subscription: a finished run never gets past this.
  if (!isNew && (yield* readAll(store, id, cursor, signal))) return;
  // A run that was just created, or whose log was read, exists: look it up only if it stays silent afterwards.
  let isKnown = isNew || cursor.last > options.after;

  // Cut over: from here on every append is either stored and not read yet, or on its way to the tail.
  const tail = new LiveTail();
  const handlers = deliver ? deliverDirectly(tail, { cursor, deliver }) : tail;
  using _ = await retryWhileStoreAway(() => subscribe(store, id, { handlers, signal }), signal);
  tail.onGap();

  // Live: yield batches that continue the sequence, and read the store whenever one does not.
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

/** Yields everything stored after the cursor. Returns true if that included the terminal event. */
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
 * Whether nothing follows event `last`: the run was removed, or the reader started past its end. If a failover of the
 * store can lose runs, a missing one is given time to come back.
 */
async function isGone(
  store: RunStore,
  id: RunId,
  { last, signal }: { last: number; signal: AbortSignal },
): Promise<boolean> {
  for (let waited = 0; ; waited += MISSING_POLL_MS) {
    const run = await retryWhileStoreAway(() => store.get(id), signal);
    if (run) return run.endedAt !== null && run.last <= last;
    if (!store.restore || waited >= MISSING_GRACE_MS) return true;
    await sleep(MISSING_POLL_MS, { signal });
  }
}

/** Subscribes; the subscription is disposed even if the reader disconnects while it is being made. */
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
