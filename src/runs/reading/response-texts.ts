import type { RunId } from '../../base/ids.ts';
import { inOwnMemory, OWN_MEMORY_BYTES } from '../../base/load/own-memory.ts';

/** Bytes that are kept; what is larger than a quarter of them is not kept at all. */
const MAX_BYTES = 16 * 1024 * 1024;

interface Kept {
  /** What it shows: see `ResponseTexts.get`. */
  version: string;
  json: Buffer;
}

/**
 * Responses as JSON, as they were answered last: whoever polls a run asks for the same bytes again and again. The ones
 * least recently asked for go first.
 */
export class ResponseTexts {
  readonly #maxBytes: number;
  readonly #kept = new Map<RunId, Kept>();
  #bytes = 0;

  constructor(maxBytes: number = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The JSON of this version of a response, from memory or made now. Two of the same version are the same bytes. */
  async get(id: RunId, version: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
    const kept = this.#kept.get(id);
    if (kept?.version === version) {
      this.#kept.delete(id);
      this.#kept.set(id, kept);
      return kept.json;
    }
    const json = inOwnMemory([await make()]);
    this.#keep(id, { version, json });
    return json;
  }

  #keep(id: RunId, made: Kept): void {
    this.#drop(id);
    if (made.json.length > this.#maxBytes / 4) return;
    this.#kept.set(id, made);
    this.#bytes += made.json.length + OWN_MEMORY_BYTES;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(id: RunId): void {
    const kept = this.#kept.get(id);
    if (!kept) return;
    this.#kept.delete(id);
    this.#bytes -= kept.json.length + OWN_MEMORY_BYTES;
  }
}
