import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { ResponseFold } from './response-fold.ts';

/** Runs whose fold is kept, and the bytes of their logs together. */
const MAX_RUNS = 2000;
const MAX_BYTES = 64 * 1024 * 1024;

interface Kept {
  fold: ResponseFold;
  /** One reader carries the fold on at a time; the others wait for what it finds. */
  reading: Promise<void>;
}

/**
 * Open runs as they are now, for instances that do not drive them: each fold is kept and carried on from where the last
 * reader left it, so that polling costs what is new. The run least recently asked for goes first.
 */
export class Snapshots {
  readonly #store: Pick<RunStore, 'read' | 'get'>;
  readonly #kept = new LRUCache<RunId, Kept>({ max: MAX_RUNS, maxSize: MAX_BYTES });

  constructor(store: Pick<RunStore, 'read' | 'get'>) {
    this.#store = store;
  }

  /** What is stored of the response; undefined where there is no log. */
  async of(run: Pick<RunRecord, 'id' | 'last'>): Promise<ResponseObject | undefined> {
    const kept = await this.#take(run);
    kept.reading = kept.reading.catch(() => {}).then(() => kept.fold.readOn(this.#store, run.id));
    await kept.reading;
    const { response, bytes } = kept.fold;
    if (this.#kept.peek(run.id) !== kept) return response;
    // Taken out first: a value that is set again would keep its size of before.
    this.#kept.delete(run.id);
    // Where it ended meanwhile, nobody asks for the fold again.
    if (response?.status === 'in_progress') this.#kept.set(run.id, kept, { size: bytes });
    return response;
  }

  async #take({ id, last }: Pick<RunRecord, 'id' | 'last'>): Promise<Kept> {
    const kept = this.#kept.get(id);
    // The record may be older than the fold; a log that is still shorter was lost in part, by a failover.
    const isAhead = kept && kept.fold.last > last && kept.fold.last > ((await this.#store.get(id))?.last ?? 0);
    if (isAhead && this.#kept.peek(id) === kept) this.#kept.delete(id);
    const found = this.#kept.get(id);
    if (found) return found;
    const made = { fold: new ResponseFold(), reading: Promise.resolve() };
    this.#kept.set(id, made, { size: 1 });
    return made;
  }
}
