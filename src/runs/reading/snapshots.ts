import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { ResponseFold } from './response-fold.ts';

/** How many runs are cached, and the bytes of their logs in all. */
const MAX_RUNS = 2000;
const MAX_BYTES = 64 * 1024 * 1024;

interface CachedFold {
  fold: ResponseFold;
  /** The catch-up under way: one reader at a time advances the fold, the others wait for it. */
  reading: Promise<void>;
}

/**
 * The current response of open runs that another process drives. Each fold is cached and continues where the last
 * reader left it, so that polling costs only what is new. The least recently used run is evicted first.
 */
export class Snapshots {
  readonly #store: Pick<RunStore, 'read' | 'get'>;
  readonly #folds = new LRUCache<RunId, CachedFold>({ max: MAX_RUNS, maxSize: MAX_BYTES });

  constructor(store: Pick<RunStore, 'read' | 'get'>) {
    this.#store = store;
  }

  /** The response as far as it is stored; undefined if there is no log. */
  async of(run: Pick<RunRecord, 'id' | 'last'>): Promise<ResponseObject | undefined> {
    const cached = await this.#foldOf(run);
    cached.reading = cached.reading.catch(() => {}).then(() => cached.fold.catchUp(this.#store, run.id));
    await cached.reading;
    const { response, bytes } = cached.fold;
    if (this.#folds.peek(run.id) !== cached) return response;
    // Delete it first: the cache keeps the old size of a value that is set again.
    this.#folds.delete(run.id);
    // A fold of a run that has ended is never used again.
    if (response?.status === 'in_progress') this.#folds.set(run.id, cached, { size: bytes });
    return response;
  }

  async #foldOf({ id, last }: Pick<RunRecord, 'id' | 'last'>): Promise<CachedFold> {
    const cached = this.#folds.get(id);
    // The caller's record may be older than the fold. If a fresh one is behind the fold too, a failover lost part of the log.
    const isAhead = cached && cached.fold.last > last && cached.fold.last > ((await this.#store.get(id))?.last ?? 0);
    if (isAhead && this.#folds.peek(id) === cached) this.#folds.delete(id);
    const current = this.#folds.get(id);
    if (current) return current;
    const fresh = { fold: new ResponseFold(), reading: Promise.resolve() };
    this.#folds.set(id, fresh, { size: 1 });
    return fresh;
  }
}
