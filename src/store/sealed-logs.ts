import type { RunId } from '../base/ids.ts';
import { SealedLog } from './sealed-log.ts';

/**
 * Sealed logs that were read lately, up to a bound of bytes; the one used longest ago goes first. A sealed log never
 * changes, so a kept one is as good as the stored one until its run is removed.
 */
export class SealedLogs {
  readonly #maxBytes: number;
  readonly #logs = new Map<RunId, SealedLog>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The run's sealed log, from memory or through `load`. */
  async get(id: RunId, load: () => Buffer | undefined | Promise<Buffer | undefined>): Promise<SealedLog | undefined> {
    const known = this.#logs.get(id);
    if (known) {
      this.#logs.delete(id);
      this.#logs.set(id, known);
      return known;
    }
    const sealed = await load();
    if (!sealed) return undefined;
    // Somebody else may have loaded it meanwhile.
    const arrived = this.#logs.get(id);
    if (arrived) return arrived;
    const log = new SealedLog(sealed);
    this.#keep(id, log);
    return log;
  }

  forget(id: RunId): void {
    this.#bytes -= this.#logs.get(id)?.weight ?? 0;
    this.#logs.delete(id);
  }

  #keep(id: RunId, log: SealedLog): void {
    if (log.weight > this.#maxBytes / 2) return;
    this.#logs.set(id, log);
    this.#bytes += log.weight;
    for (const oldest of this.#logs.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.forget(oldest);
    }
  }
}
