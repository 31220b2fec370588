import type { RunId } from '../base/ids.ts';
import { CompressedLog, type StoredBytes } from './compressed-log.ts';

/**
 * Compressed logs that were read lately, up to a bound of bytes; the one used longest ago goes first. A compressed log never
 * changes, so a kept one is as good as the stored one until its run is removed.
 */
export class CompressedLogs {
  readonly #maxBytes: number;
  readonly #logs = new Map<RunId, CompressedLog>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The run's compressed log, from memory or opened. Undefined where there is none. */
  async get(id: RunId, stored: StoredBytes): Promise<CompressedLog | undefined> {
    const known = this.#logs.get(id);
    if (known) {
      this.#logs.delete(id);
      this.#logs.set(id, known);
      return known;
    }
    const log = await CompressedLog.open(stored, { keepUpTo: this.#maxBytes / 2 });
    if (!log) return undefined;
    // Somebody else may have opened it meanwhile.
    const arrived = this.#logs.get(id);
    if (arrived) return arrived;
    this.#keep(id, log);
    return log;
  }

  forget(id: RunId): void {
    this.#bytes -= this.#logs.get(id)?.weight ?? 0;
    this.#logs.delete(id);
  }

  #keep(id: RunId, log: CompressedLog): void {
    this.#logs.set(id, log);
    this.#bytes += log.weight;
    for (const oldest of this.#logs.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.forget(oldest);
    }
  }
}
