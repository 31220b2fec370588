import { inflateRawSync } from 'node:zlib';

/** What a document may unpack to, all its parts together, in bytes. */
const MAX_UNPACKED = 96 * 1024 * 1024;
const MAX_PART = 48 * 1024 * 1024;
const MAX_ENTRIES = 20_000;

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;

interface Entry {
  method: number;
  packed: number;
  offset: number;
}

/**
 * The parts of a ZIP file, unpacked when they are asked for. What all of them unpack to is bounded: a few kilobytes can
 * hold gigabytes.
 */
export class ZipFile {
  readonly #bytes: Buffer;
  readonly #entries = new Map<string, Entry>();
  #left = MAX_UNPACKED;

  /** @throws Error if it is no ZIP file, or is damaged. */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = this.#bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
    if (end < 0 || this.#bytes.length < end + 22 || this.#bytes.readUInt32LE(end) !== END) throw damaged();
    const count = Math.min(this.#bytes.readUInt16LE(end + 10), MAX_ENTRIES);
    let at = this.#bytes.readUInt32LE(end + 16);
    for (let index = 0; index < count; index++) {
      if (at + 46 > this.#bytes.length || this.#bytes.readUInt32LE(at) !== ENTRY) throw damaged();
      const nameLength = this.#bytes.readUInt16LE(at + 28);
      const name = this.#bytes.toString('utf8', at + 46, at + 46 + nameLength);
      this.#entries.set(name, {
        method: this.#bytes.readUInt16LE(at + 10),
        packed: this.#bytes.readUInt32LE(at + 20),
        offset: this.#bytes.readUInt32LE(at + 42),
      });
      at += 46 + nameLength + this.#bytes.readUInt16LE(at + 30) + this.#bytes.readUInt16LE(at + 32);
    }
  }

  /** The names of all parts, in their order. */
  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /**
   * A part as text; empty if there is none of that name.
   * @throws Error if it is damaged, encrypted or unpacks to too much.
   */
  text(name: string): string {
    const bytes = this.#part(name);
    const mark =
      bytes[0] === 0xff && bytes[1] === 0xfe
        ? 'utf-16le'
        : bytes[0] === 0xfe && bytes[1] === 0xff
          ? 'utf-16be'
          : 'utf-8';
    return new TextDecoder(mark).decode(bytes);
  }

  #part(name: string): Buffer {
    const entry = this.#entries.get(name);
    if (!entry) return Buffer.alloc(0);
    const { method, packed, offset } = entry;
    if (offset + 30 > this.#bytes.length || this.#bytes.readUInt32LE(offset) !== LOCAL) throw damaged();
    const start = offset + 30 + this.#bytes.readUInt16LE(offset + 26) + this.#bytes.readUInt16LE(offset + 28);
    const data = this.#bytes.subarray(start, start + packed);
    const limit = Math.min(this.#left, MAX_PART);
    const unpacked = method === 0 ? data : this.#inflate(data, { method, limit });
    if (unpacked.length > limit) throw new Error('the document unpacks to too much');
    this.#left -= unpacked.length;
    return unpacked;
  }

  #inflate(data: Buffer, { method, limit }: { method: number; limit: number }): Buffer {
    if (method !== 8) throw new Error('the document is packed in a way that is not read here');
    try {
      return inflateRawSync(data, { maxOutputLength: Math.max(limit, 1) });
    } catch (error) {
      if (error instanceof RangeError) throw new Error('the document unpacks to too much', { cause: error });
      throw damaged();
    }
  }
}

function damaged(): Error {
  return new Error('the document is damaged');
}
