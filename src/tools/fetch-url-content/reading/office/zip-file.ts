import { type ZipFile as Archive, type Entry, fromBufferPromise, getFileNameLowLevel } from 'yauzl';
import { decodeText } from '../plain/charset.ts';

/** The most that all parts of a document may unpack to together, in bytes. */
const MAX_UNPACKED = 96 * 1024 * 1024;
const MAX_PART = 48 * 1024 * 1024;
const MAX_ENTRIES = 20_000;

/**
 * The parts of a ZIP file, each unpacked on demand. Their total size is bounded, because a few kilobytes can unpack to
 * gigabytes. A part that unpacks to another size than it declares is damaged.
 */
export class ZipFile {
  readonly #archive: Archive;
  readonly #entries: ReadonlyMap<string, Entry>;
  #remaining = MAX_UNPACKED;

  private constructor(archive: Archive, entries: ReadonlyMap<string, Entry>) {
    this.#archive = archive;
    this.#entries = entries;
  }

  /** @throws Error if the bytes are no ZIP file or a damaged one. */
  static async open(bytes: Uint8Array): Promise<ZipFile> {
    const entries = new Map<string, Entry>();
    try {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      // Names are only looked up and never written to disk, so a name that leads out of its folder is harmless.
      const archive = await fromBufferPromise(buffer, { decodeStrings: false });
      for await (const entry of archive.eachEntry()) {
        const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
        entries.set(getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false), entry);
        if (entries.size === MAX_ENTRIES) break;
      }
      return new ZipFile(archive, entries);
    } catch (error) {
      throw damagedError(error);
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** The names of all parts, in the order of the file. */
  get names(): string[] {
    return [...this.#entries.keys()];
  }

  /**
   * The text of a part; empty if there is none of that name.
   * @throws Error if the part is damaged or encrypted, or the parts unpack to too much.
   */
  async text(name: string): Promise<string> {
    const entry = this.#entries.get(name);
    if (!entry) return '';
    this.#remaining -= entry.uncompressedSize;
    if (entry.uncompressedSize > MAX_PART || this.#remaining < 0) throw new Error('the document unpacks to too much');
    try {
      const chunks: Buffer[] = await Array.fromAsync(await this.#archive.openReadStreamPromise(entry));
      return decodeText(Buffer.concat(chunks));
    } catch (error) {
      throw damagedError(error);
    }
  }
}

function damagedError(cause: unknown): Error {
  return new Error('the document is damaged or encrypted', { cause });
}
