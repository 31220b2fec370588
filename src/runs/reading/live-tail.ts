import type { LogBatch, LogHandlers } from '../../store/run-store.ts';

/** Live bytes that wait for a slow reader before it is switched back to reading the store. */
const MAX_BYTES = 256 * 1024;

/** Live batches that the reader has not taken yet. When too many wait, they are dropped and the store is read instead. */
export class LiveTail implements LogHandlers {
  #batches: LogBatch[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #deliveredAt = Number.NEGATIVE_INFINITY;
  /** Whether batches are missing, so that the store has to be read. */
  gap = false;
  /** Whether the terminal event was delivered. */
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

  /** Starts collecting anew. */
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

  /** Whether the reader waits and nothing comes before the next batch. */
  get isWaiting(): boolean {
    return this.#wake !== undefined && !this.gap && this.#batches.length === 0;
  }

  /** Notes that a batch went to the reader directly: it counts as news for `wait`. */
  delivered(batch: LogBatch): void {
    this.#deliveredAt = performance.now();
    this.ended = batch.end;
    if (batch.end) this.#wake?.();
  }

  /** Resolves to true when there is something to do, to false after `ms` without news. @throws the signal's reason. */
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
        const remaining = this.#deliveredAt + ms - performance.now();
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
 * Handlers that hand a live batch straight to `deliver` while the reader waits for exactly that batch, which saves a
 * promise for each: a tenth of the CPU of `npm run bench -- steady-delta`. If the reader cannot take it now, `deliver`
 * returns false and the batch goes through the iterator.
 */
export function deliverDirectly(
  tail: LiveTail,
  { cursor, deliver }: { cursor: { last: number }; deliver(batch: LogBatch): boolean },
): LogHandlers {
  return {
    onGap: () => tail.onGap(),
    onBatch(batch) {
      if (!tail.isWaiting || batch.first !== cursor.last + 1 || !deliver(batch)) return tail.onBatch(batch);
      cursor.last = batch.last;
      tail.delivered(batch);
    },
  };
}
