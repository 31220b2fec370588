import type { LogBatch, LogHandlers } from '../../store/run-store.ts';

/** Live bytes that wait for a slow reader before it is switched back to reading the store. */
const MAX_BYTES = 256 * 1024;

/** Batches that were announced and not yet taken. Too many of them are given up for a read. */
export class LiveTail implements LogHandlers {
  #batches: LogBatch[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #passedAt = Number.NEGATIVE_INFINITY;
  /** Something is missing: the store has to be read. */
  gap = false;
  /** The terminal event was passed on. */
  ended = false;

  onBatch(batch: LogBatch): void {
    if (!this.gap) {
      this.#batches.push(batch);
      this.#bytes += batch.frames.length;
      if (this.#bytes > MAX_BYTES) this.onGap();
    }
    this.#wake?.();
  }

  onGap(): void {
    this.clear();
    this.gap = true;
    this.#wake?.();
  }

  /** What is announced from now on counts again. */
  clear(): void {
    this.gap = false;
    this.#batches = [];
    this.#bytes = 0;
  }

  take(): LogBatch | undefined {
    const batch = this.#batches.shift();
    if (batch) this.#bytes -= batch.frames.length;
    return batch;
  }

  /** Whether the reader waits, with nothing before the next batch. */
  get isWaiting(): boolean {
    return this.#wake !== undefined && !this.gap && this.#batches.length === 0;
  }

  /** A batch went to the reader without being taken: that is news, too. */
  passed(batch: LogBatch): void {
    this.#passedAt = performance.now();
    this.ended = batch.end;
    if (batch.end) this.#wake?.();
  }

  /** True when there is something to do; false after `ms` without news. @throws the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#wake = undefined;
        settle();
      };
      const onAbort = () => finish(() => reject(signal.reason));
      const onSilence = () => {
        const remaining = this.#passedAt + ms - performance.now();
        if (remaining <= 0) return finish(() => resolve(false));
        timer = setTimeout(onSilence, remaining);
      };
      let timer = setTimeout(onSilence, ms);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#wake = () => finish(() => resolve(true));
    });
  }
}

/**
 * Handlers that give `pass` each live batch that continues the sequence while the reader waits, so that it costs no
 * promise. Where the reader cannot take it now, `pass` returns false, and the batch comes with the iteration.
 */
export function passingOn(
  tail: LiveTail,
  { cursor, pass }: { cursor: { last: number }; pass(batch: LogBatch): boolean },
): LogHandlers {
  return {
    onGap: () => tail.onGap(),
    onBatch(batch) {
      if (!tail.isWaiting || batch.first !== cursor.last + 1 || !pass(batch)) return tail.onBatch(batch);
      cursor.last = batch.last;
      tail.passed(batch);
    },
  };
}
