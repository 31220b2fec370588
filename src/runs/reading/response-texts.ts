import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import { inOwnMemory, OWN_MEMORY_BYTES } from '../../base/load/own-memory.ts';

/** Bytes that are kept; what is larger than a quarter of them is not kept at all. */
const MAX_BYTES = 16 * 1024 * 1024;

interface Kept {
  /** What it shows: see `ResponseTexts.get`. */
  version: string;
  json: Buffer;
}

/** Responses as JSON, as they were answered last: whoever polls a run asks for the same bytes again and again. */
export class ResponseTexts {
  readonly #kept: LRUCache<RunId, Kept>;

  constructor(maxBytes: number = MAX_BYTES) {
    this.#kept = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize: Math.floor(maxBytes / 4) + OWN_MEMORY_BYTES,
      sizeCalculation: ({ json }) => json.length + OWN_MEMORY_BYTES,
    });
  }

  /** The JSON of this version of a response, from memory or made now. Two of the same version are the same bytes. */
  async get(id: RunId, version: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
    const kept = this.#kept.get(id);
    if (kept?.version === version) return kept.json;
    const json = inOwnMemory([await make()]);
    this.#kept.set(id, { version, json });
    return json;
  }
}
