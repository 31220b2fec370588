import { sleep } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { RunStore } from '../store/run-store.ts';

/** How often ended runs past their retention are looked for, in milliseconds. */
const SWEEP_MS = 60_000;
/** How many runs a step handles, so that a sweep never blocks the store for long. */
const STEP_SIZE = 200;
/** How long to rest between steps, as a multiple of the last step's duration: driving runs comes first. */
const REST_FACTOR = 3;

/** How long an ended log stays uncompressed, in milliseconds: most readers come soon after the end. */
const COMPRESS_AFTER_MS = 10 * 60_000;

/** Periodically removes ended runs past their retention and compresses the logs of the others, until disposed. */
export function sweepExpired(parts: { store: RunStore; log: Logger }): Disposable {
  const { store, log } = parts;
  const stopping = new AbortController();
  let sweeping = false;
  /** Repeats a step until it finds less than a full batch. */
  const inSteps = async (step: () => Promise<number>) => {
    for (;;) {
      const startedAt = performance.now();
      if (stopping.signal.aborted || (await step()) < STEP_SIZE) return;
      await sleep(REST_FACTOR * (performance.now() - startedAt), { signal: stopping.signal }).catch(() => {});
    }
  };
  const sweep = async () => {
    if (sweeping) return;
    sweeping = true;
    try {
      await inSteps(() => store.removeExpired({ limit: STEP_SIZE }));
      await inSteps(() => store.compressEnded({ endedForMs: COMPRESS_AFTER_MS, limit: STEP_SIZE }));
    } catch (thrown) {
      log.warn({ err: messageOf(thrown) }, 'ended runs could not be swept now');
    } finally {
      sweeping = false;
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_MS);
  timer.unref();
  return {
    [Symbol.dispose]() {
      stopping.abort();
      clearInterval(timer);
    },
  };
}
