/** A stream that must not fall silent. */
export interface Heartbeat extends Disposable {
  /** Something was written: the silence starts again. */
  restart(): void;
}

/** Calls `beat` after each interval without a `touch` (docs/api.md, "Events"), until disposed. */
export function heartbeat(intervalMs: number, beat: () => void): Heartbeat {
  const timer = setInterval(beat, intervalMs);
  return { restart: () => void timer.refresh(), [Symbol.dispose]: () => clearInterval(timer) };
}
