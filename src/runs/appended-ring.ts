import type { Append } from '../store/run-store.ts';

/** Bytes of acknowledged batches that are kept, in case a failover loses them. */
const MAX_BYTES = 1024 * 1024;

/** The last batches that the store acknowledged, to be sent again after a failover that lost them. */
export class AppendedRing {
  #batches: Append[] = [];
  #bytes = 0;

  add(batch: Append): void {
    this.#batches.push(batch);
    this.#bytes += batch.frames.length;
    while (this.#bytes > MAX_BYTES && this.#batches.length > 1) {
      this.#bytes -= this.#batches.shift()?.frames.length ?? 0;
    }
  }

  /**
   * The batches that hold exactly the events `first` to `last`, and those between them that hold transcript entries
   * alone; undefined where they are not all kept.
   */
  from(first: number, last: number): Append[] | undefined {
    const kept = this.#batches.filter((batch) => batch.first >= first && batch.first <= last + 1);
    return kept[0]?.first === first ? kept : undefined;
  }
}
