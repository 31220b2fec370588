/** A stream that must not fall silent. */
export interface Pulse extends Disposable {
  /** Something was written: the silence starts again. */
  touch(): void;
}

/** Calls `beat` after each interval without a `touch` (docs/api.md, "Events"), until disposed. */
export function heartbeat(intervalMs: number, beat: () => void): Pulse {
  const timer = setInterval(beat, intervalMs);
  return { touch: () => void timer.refresh(), [Symbol.dispose]: () => clearInterval(timer) };
}
