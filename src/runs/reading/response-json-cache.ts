import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import { concatUnpooled, UNPOOLED_OVERHEAD_BYTES } from '../../base/load/unpooled.ts';

/** Size of the cache in bytes; a response larger than a quarter of it is not cached. */
const MAX_BYTES = 16 * 1024 * 1024;

interface CachedResponse {
  /** See `ResponseJsonCache.get`. */
  version: string;
  json: Buffer;
}

/** The latest JSON of each response: clients that poll a run ask for the same bytes again and again. */
export class ResponseJsonCache {
  readonly #cached: LRUCache<RunId, CachedResponse>;

  constructor(maxBytes: number = MAX_BYTES) {
    this.#cached = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize: Math.floor(maxBytes / 4) + UNPOOLED_OVERHEAD_BYTES,
      sizeCalculation: ({ json }) => json.length + UNPOOLED_OVERHEAD_BYTES,
    });
  }

  /** The JSON of this version of a response, cached or made now. The same version always gives the same bytes. */
  async get(id: RunId, version: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
    const cached = this.#cached.get(id);
    if (cached?.version === version) return cached.json;
    const json = concatUnpooled([await make()]);
    this.#cached.set(id, { version, json });
    return json;
  }
}
