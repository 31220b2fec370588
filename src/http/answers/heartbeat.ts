/** One stream that must not fall silent. */
export interface Pulse extends Disposable {
  /** Something was written: the silence starts again. */
  touch(): void;
}

interface Watched {
  quietSince: number;
  beat(): void;
}

/** Checks per interval: a heartbeat comes at most this fraction of the interval late. */
const CHECKS = 10;

/**
 * Calls back after every interval of silence (contract section 2). One timer serves all streams; it runs only while
 * there are any.
 */
export class Heartbeats {
  readonly #intervalMs: () => number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** `intervalMs` is asked whenever the first stream opens: a reloaded configuration counts from then on. */
  constructor(intervalMs: () => number) {
    this.#intervalMs = intervalMs;
  }

  /** Calls `beat` after each interval without a `touch`, until disposed. */
  watch(beat: () => void): Pulse {
    const entry: Watched = { quietSince: performance.now(), beat };
    this.#watched.add(entry);
    if (!this.#timer) this.#start();
    return {
      touch: () => {
        entry.quietSince = performance.now();
      },
      [Symbol.dispose]: () => {
        this.#watched.delete(entry);
        if (this.#watched.size === 0) this.#stop();
      },
    };
  }

  #start(): void {
    const interval = this.#intervalMs();
    const check = Math.max(1, Math.floor(interval / CHECKS));
    this.#timer = setInterval(() => this.#check(interval), check);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(interval: number): void {
    const now = performance.now();
    for (const entry of this.#watched) {
      if (now - entry.quietSince < interval) continue;
      entry.quietSince = now;
      entry.beat();
    }
  }
}
