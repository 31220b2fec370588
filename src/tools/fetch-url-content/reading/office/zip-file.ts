import { type ZipFile as Archive, type Entry, fromBufferPromise, getFileNameLowLevel } from 'yauzl';
import { decodeText } from '../plain/charset.ts';

/** What a document may unpack to, all its parts together, in bytes. */
const MAX_UNPACKED = 96 * 1024 * 1024;
const MAX_PART = 48 * 1024 * 1024;
const MAX_ENTRIES = 20_000;

/**
 * The parts of a ZIP file, unpacked when they are asked for. What all of them unpack to is bounded: a few kilobytes can
 * hold gigabytes. A part that unpacks to another size than it claims is damaged.
 */
export class ZipFile {
  readonly #archive: Archive;
  readonly #entries: ReadonlyMap<string, Entry>;
  #left = MAX_UNPACKED;

  private constructor(archive: Archive, entries: ReadonlyMap<string, Entry>) {
    this.#archive = archive;
    this.#entries = entries;
  }

  /** @throws Error if it is no ZIP file, or is damaged. */
  static async open(bytes: Uint8Array): Promise<ZipFile> {
    const entries = new Map<string, Entry>();
    try {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      // Names are looked up, never written to a disk: one that would lead out of a folder breaks nothing.
      const archive = await fromBufferPromise(buffer, { decodeStrings: false });
      for await (const entry of archive.eachEntry()) {
        const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
        entries.set(getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false), entry);
        if (entries.size === MAX_ENTRIES) break;
      }
      return new ZipFile(archive, entries);
    } catch (error) {
      throw damaged(error);
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** The names of all parts, in their order. */
  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /**
   * The part of that name as text, or nothing.
   * @throws Error if it is damaged, encrypted or unpacks to too much.
   */
  async text(name: string): Promise<string> {
    const entry = this.#entries.get(name);
    if (!entry) return '';
    this.#left -= entry.uncompressedSize;
    if (entry.uncompressedSize > MAX_PART || this.#left < 0) throw new Error('the document unpacks to too much');
    try {
      const chunks: Buffer[] = await Array.fromAsync(await this.#archive.openReadStreamPromise(entry));
      return decodeText(Buffer.concat(chunks));
    } catch (error) {
      throw damaged(error);
    }
  }
}

function damaged(cause: unknown): Error {
  return new Error('the document is damaged or encrypted', { cause });
}
