import { sleep } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { RunStore } from '../store/run-store.ts';

/** How often ended runs past their retention are looked for, in milliseconds. */
const SWEEP_MS = 60_000;
/** Runs removed in one step, so that a sweep never holds the store for long. */
const STEP = 200;
/** How long it rests between two steps, in times of how long the last one took: runs come first. */
const REST = 3;

/** How long an ended log stays as it was written, in milliseconds: its readers come soon or hardly ever. */
const COMPRESS_AFTER_MS = 10 * 60_000;

/** Removes ended runs whose retention has passed and compresses the logs of ended ones, until disposed. */
export function sweepExpired(parts: { store: RunStore; log: Logger }): Disposable {
  const { store, log } = parts;
  const stopping = new AbortController();
  let sweeping = false;
  /** Until a step finds less than it may take. */
  const inSteps = async (step: () => Promise<number>) => {
    for (;;) {
      const began = performance.now();
      if (stopping.signal.aborted || (await step()) < STEP) return;
      await sleep(REST * (performance.now() - began), { signal: stopping.signal }).catch(() => {});
    }
  };
  const sweep = async () => {
    if (sweeping) return;
    sweeping = true;
    try {
      await inSteps(() => store.removeExpired({ limit: STEP }));
      await inSteps(() => store.compressEnded({ endedForMs: COMPRESS_AFTER_MS, limit: STEP }));
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
