import { abortable, sleep } from '../../base/abort.ts';
import { isStoreUnavailable } from '../../store/failure.ts';

/** Pauses between attempts while the store is away, in milliseconds. */
const PAUSE_MS = { first: 100, max: 1000 } as const;

/**
 * Calls the store and retries while it is away. For readers whose stream is open already: it stays open, with
 * heartbeats, until the store is back (docs/architecture.md, "Promises", 9).
 * @throws the signal's reason, and every other failure of the store.
 */
export async function retryWhileStoreAway<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pause: number = PAUSE_MS.first; ; pause = Math.min(pause * 2, PAUSE_MS.max)) {
    try {
      return await abortable(call(), signal);
    } catch (thrown) {
      if (signal.aborted || !isStoreUnavailable(thrown)) throw thrown;
    }
    await sleep(pause, { signal });
  }
}
