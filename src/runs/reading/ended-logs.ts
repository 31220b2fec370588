import { LRUCache } from 'lru-cache';
import { boundedCache } from '../../base/bounded-cache.ts';
import type { RunId } from '../../base/ids.ts';
import { concatUnpooled, UNPOOLED_OVERHEAD_BYTES } from '../../base/load/unpooled.ts';
import { offsetAfter } from '../../store/frames.ts';
import type { LogBatch, RunRecord, RunStore } from '../../store/run-store.ts';

export interface EndedLogsBounds {
  /** Bytes of logs held in memory. */
  maxBytes: number;
  /** Longer logs are streamed from the store piece by piece instead of being held in memory. */
  maxLogBytes: number;
  /** How many ids of too-long logs are remembered. */
  maxLongLogs: number;
}

const BOUNDS: EndedLogsBounds = { maxBytes: 64 * 1024 * 1024, maxLogBytes: 8 * 1024 * 1024, maxLongLogs: 10_000 };

/**
 * A cache of the logs of ended runs, each in one buffer that all its readers share. An ended log never changes, and a
 * removed run never gets here because its record is looked up first.
 */
export class EndedLogs {
  readonly #store: Pick<RunStore, 'read'>;
  readonly #logs: LRUCache<RunId, Uint8Array>;
  /** Logs that turned out too long to cache, so that nobody starts to read them whole again. */
  readonly #long: LRUCache<RunId, true>;
  readonly #loading = new Map<RunId, Promise<Uint8Array | undefined>>();
  readonly #bounds: EndedLogsBounds;

  constructor(store: Pick<RunStore, 'read'>, bounds: EndedLogsBounds = BOUNDS) {
    this.#store = store;
    this.#bounds = bounds;
    this.#logs = new LRUCache({
      maxSize: bounds.maxBytes,
      sizeCalculation: (log) => log.length + UNPOOLED_OVERHEAD_BYTES,
    });
    this.#long = boundedCache<true>(bounds.maxLongLogs);
  }

  /** Everything after event `after`, or undefined if the log is too long to cache. */
  async after(run: RunRecord, after: number): Promise<LogBatch | undefined> {
    if (this.#long.has(run.id)) return undefined;
    const frames = this.#logs.get(run.id) ?? (await this.#load(run.id));
    if (!frames) return undefined;
    return { first: after + 1, last: run.last, frames: frames.subarray(offsetAfter(frames, after)), end: true };
  }

  /** Reads the store once, however many readers arrive at the same time. */
  #load(id: RunId): Promise<Uint8Array | undefined> {
    return this.#loading.getOrInsertComputed(id, () => this.#read(id).finally(() => this.#loading.delete(id)));
  }

  async #read(id: RunId): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for (let last = 0; ; ) {
      const batches = await this.#store.read(id, { after: last, maxBytes: this.#bounds.maxLogBytes + 1 });
      const end = batches.at(-1);
      if (!end) return undefined;
      for (const { frames } of batches) {
        pieces.push(frames);
        bytes += frames.length;
      }
      if (bytes > this.#bounds.maxLogBytes) {
        this.#long.set(id, true);
        return undefined;
      }
      if (end.end) break;
      last = end.last;
    }
    const log = concatUnpooled(pieces);
    this.#logs.set(id, log);
    return log;
  }
}
