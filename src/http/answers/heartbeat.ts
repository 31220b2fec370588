/** A timer against silence on a connection. */
export interface Heartbeat extends Disposable {
  /** Starts the interval anew, after something was written. */
  restart(): void;
}

/** Calls `beat` after each interval without a `restart` (docs/api.md, "Events"), until disposed. */
export function heartbeat(intervalMs: number, beat: () => void): Heartbeat {
  const timer = setInterval(beat, intervalMs);
  return { restart: () => void timer.refresh(), [Symbol.dispose]: () => clearInterval(timer) };
}
