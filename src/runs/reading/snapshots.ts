import type { RunId } from '../../base/ids.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { ResponseFold } from './response-fold.ts';

/** Runs whose fold is kept, and the bytes of their logs together. */
const MAX_RUNS = 2000;
const MAX_BYTES = 64 * 1024 * 1024;

interface Kept {
  fold: ResponseFold;
  /** Bytes of its log as they are counted. */
  bytes: number;
  /** One reader carries the fold on at a time; the others wait for what it finds. */
  reading: Promise<void>;
}

/**
 * Open runs as they are now, for instances that do not drive them: each fold is kept and carried on from where the last
 * reader left it, so that polling costs what is new. The run least recently asked for goes first.
 */
export class Snapshots {
  readonly #store: Pick<RunStore, 'read' | 'get'>;
  readonly #kept = new Map<RunId, Kept>();
  #bytes = 0;

  constructor(store: Pick<RunStore, 'read' | 'get'>) {
    this.#store = store;
  }

  /** What is stored of the response; undefined where there is no log. */
  async of(run: Pick<RunRecord, 'id' | 'last'>): Promise<ResponseObject | undefined> {
    const kept = await this.#take(run);
    kept.reading = kept.reading.catch(() => {}).then(() => kept.fold.readOn(this.#store, run.id));
    await kept.reading;
    const { response, bytes } = kept.fold;
    if (this.#kept.get(run.id) === kept) {
      this.#bytes += bytes - kept.bytes;
      kept.bytes = bytes;
    }
    // Where it ended meanwhile, nobody asks for the fold again.
    if (response?.status !== 'in_progress') this.#drop(run.id, kept);
    this.#trim();
    return response;
  }

  async #take({ id, last }: Pick<RunRecord, 'id' | 'last'>): Promise<Kept> {
    const kept = this.#kept.get(id);
    // The record may be older than the fold; a log that is still shorter was lost in part, by a failover.
    if (kept && kept.fold.last > last && kept.fold.last > ((await this.#store.get(id))?.last ?? 0))
      this.#drop(id, kept);
    const found = this.#kept.get(id) ?? { fold: new ResponseFold(), bytes: 0, reading: Promise.resolve() };
    this.#kept.delete(id);
    this.#kept.set(id, found);
    return found;
  }

  #trim(): void {
    for (const [id, kept] of this.#kept) {
      if (this.#kept.size <= MAX_RUNS && this.#bytes <= MAX_BYTES) return;
      this.#drop(id, kept);
    }
  }

  #drop(id: RunId, kept: Kept): void {
    if (this.#kept.get(id) !== kept) return;
    this.#kept.delete(id);
    this.#bytes -= kept.bytes;
  }
}
