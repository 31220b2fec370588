import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { RunStore } from '../store/run-store.ts';

/** How often ended runs past their retention are looked for, in milliseconds. */
const SWEEP_MS = 60_000;
/** Runs removed in one step, so that a sweep never holds the store for long. */
const STEP = 200;

/** Removes ended runs whose retention has passed, until disposed. */
export function sweepExpired(parts: { store: RunStore; clock: Clock; log: Logger }): Disposable {
  const { store, clock, log } = parts;
  let stopped = false;
  const sweep = async () => {
    try {
      while (!stopped && (await store.removeExpired({ now: clock.now(), limit: STEP })) === STEP);
    } catch (thrown) {
      log.warn({ err: messageOf(thrown) }, 'expired runs could not be removed now');
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_MS);
  timer.unref();
  return {
    [Symbol.dispose]() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
