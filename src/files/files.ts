import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { GatewayError, messageOf, shuttingDown } from '../base/errors.ts';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import { uuidAfter } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { CredentialCipher } from '../base/secrets/encrypt.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { isStoreUnavailable } from '../store/failure.ts';
import { type ListCursor, noteRemoval, resolveCursor } from '../store/removed-records.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';
import type { FileQuery, FileRecord, FileStore } from '../store/side-stores/file-store.ts';
import { type BlobStore, fileTooLarge, type ReceivedBlob } from './blob-store.ts';
import { fileTypeOf } from './file-type.ts';
import { openBlobStore } from './open-blob-store.ts';
import { SealedFiles, sealingKey } from './sealed-files.ts';

export interface FilesParts {
  store: FileStore;
  entries: EntryStore;
  config: Pick<GatewayConfig, 'files'>;
  /** Finds the cipher of an API key; undefined if the key is gone. */
  cipherOf: (keyId: string) => CredentialCipher | undefined;
  clock: Clock;
  log: Logger;
}

/** Metadata of a file to create. */
export interface NewFile extends Pick<FileRecord, 'user' | 'name' | 'purpose' | 'type'> {
  /** Time to live in milliseconds; for ever if absent. */
  keepMs?: number | undefined;
  /** The API key that encrypts it: it is in no list then. */
  sealedBy?: string | undefined;
}

const PREFIX = 'file-';
/** How often expired files are looked for, in milliseconds, and how many are removed in one step. */
const SWEEP_MS = 60_000;
const SWEEP_STEP = 100;
/** The first search for orphans is within this time after the start, in milliseconds. */
const FIRST_ORPHAN_SWEEP_MS = 3_600_000;
/** Orphans are removed once they are this old, in milliseconds: no upload takes longer. */
const MIN_ORPHAN_AGE_MS = 6 * 3_600_000;
/** How often orphans are looked for, in milliseconds: this lists every file. */
const ORPHAN_SWEEP_MS = 6 * 3_600_000;
/** Longest stored name, in characters. */
const MAX_NAME_LENGTH = 255;

/** Concurrent uploads. One user has at most half of them, the next one half of the rest. */
const MAX_UPLOADS = 64;
/** Files whose bytes are in memory at once, and how many reads may wait for that. */
const MAX_READS = 4;
const MAX_WAITING_READS = 1000;

/** The name of the list in which removed files of a user are remembered. */
function filesOf(user: string): string {
  return `uploads of ${user}`;
}

function tooManyFiles(what: 'uploaded' | 'read'): GatewayError {
  return new GatewayError('overloaded', `Too many files are being ${what}. Try again.`, { retryAfterMs: 5000 });
}

/** Converts a stored id to the one that clients see. */
export function publicFileId(id: string): string {
  return PREFIX + id;
}

/** Converts the id that clients see to the stored one; undefined if it is malformed. */
export function parseFileId(text: string): string | undefined {
  return uuidAfter(PREFIX, text);
}

/** Files of users (docs/files.md): their bytes in a `BlobStore`, their metadata in a `FileStore`. */
export class Files implements Disposable {
  readonly #parts: FilesParts;
  readonly #blobs: BlobStore;
  readonly #sealed: SealedFiles;
  readonly #closing = new AbortController();
  /** When orphans are looked for next. Random, so that instances do not do it at the same time. */
  #nextOrphanSweep: number;
  readonly #timer: NodeJS.Timeout;
  readonly #removeListeners: ((file: FileRecord) => Promise<void>)[] = [];
  readonly #uploads = new FairSemaphore({
    name: 'uploads',
    permits: MAX_UPLOADS,
    perOwner: 'what is left',
    fullError: () => tooManyFiles('uploaded'),
  });
  readonly #reading = new FairSemaphore({
    name: 'files',
    permits: MAX_READS,
    maxWaiting: MAX_WAITING_READS,
    fullError: () => tooManyFiles('read'),
  });

  constructor(parts: FilesParts) {
    this.#parts = parts;
    this.#sealed = new SealedFiles(parts.cipherOf);
    this.#blobs = openBlobStore(parts.config.files, parts.log);
    this.#nextOrphanSweep = parts.clock.now() + Math.random() * FIRST_ORPHAN_SWEEP_MS;
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#closing.abort(shuttingDown());
    this.#blobs[Symbol.dispose]();
  }

  /**
   * Receives the bytes of a file; resolves once all of them are stored.
   * @throws GatewayError `request_too_large`, `overloaded`, `store_unavailable`, and the error of the stream.
   */
  async receive(source: Readable, { user, signal }: { user: string; signal: AbortSignal }): Promise<ReceivedBlob> {
    using _ = this.#uploads.take(user);
    const { maxBytes } = this.#parts.config.files;
    return await this.#blobs.receive(source, { id: randomUUID(), maxBytes, signal });
  }

  /** Stores bytes as a file. @throws as `receive` and `add`. */
  async save(bytes: Buffer, file: NewFile, signal: AbortSignal): Promise<FileRecord> {
    const { maxBytes } = this.#parts.config.files;
    if (bytes.length > maxBytes) throw fileTooLarge(maxBytes);
    using _ = this.#uploads.take(file.user);
    const content = await this.#sealed.sealBytes(bytes, file.sealedBy);
    const kept = { id: randomUUID(), maxBytes: content.length, signal };
    await using taken = await this.#blobs.receive(Readable.from([content]), kept);
    return await this.add(taken, { ...file, bytes: bytes.length });
  }

  /** Turns received bytes into a file. @throws GatewayError `quota_exceeded`, `store_unavailable`. */
  async add(taken: ReceivedBlob, added: NewFile & { bytes?: number }): Promise<FileRecord> {
    const { store, config, clock } = this.#parts;
    const { keepMs, sealedBy, bytes = taken.bytes, ...file } = added;
    const createdAt = clock.now();
    const expiresAt = keepMs === undefined ? null : createdAt + keepMs;
    const plain = { ...file, id: taken.id, name: sanitizeName(file.name), bytes, createdAt, expiresAt };
    const record = this.#sealed.sealRecord(plain, sealedBy);
    await taken.commit();
    const drop = () => this.#blobs.remove(record.id, this.#closing.signal);
    const result = await store.add(record, { maxBytes: config.files.perUserBytes }).catch(async (thrown: unknown) => {
      // The record may exist all the same. The bytes go only once it is surely gone; otherwise the sweep finds them.
      await store
        .remove(record.id)
        .then(drop)
        .catch(() => {});
      throw thrown;
    });
    if (result === 'added') return plain;
    await drop();
    const message = `Your files may have ${config.files.perUserBytes} bytes together (files.per_user_bytes). Delete some.`;
    throw new GatewayError('quota_exceeded', message, { param: 'file' });
  }

  /** A user's file by its public id. @throws GatewayError `not_found`. */
  async find(user: string, publicId: string, param?: string): Promise<FileRecord> {
    const file = await this.#find(user, publicId);
    if (file) return file;
    const message = `${param ? `${param}: t` : 'T'}here is no file ${publicId.slice(0, 80)}.`;
    throw new GatewayError('not_found', message, param === undefined ? {} : { param });
  }

  /** Resolves the cursor of a user's files; its file may have expired or been removed. @throws as `resolveCursor`. */
  async cursor(user: string, cursor: ListCursor): Promise<FileQuery['after']> {
    const find = async () => (await this.#findRecord(user, cursor.id))?.createdAt;
    const createdAt = await resolveCursor(this.#parts.entries, filesOf(user), { ...cursor, find });
    return { id: parseFileId(cursor.id) ?? '', createdAt };
  }

  /** A page of a user's files; it is empty only at the end of the list. */
  async list(query: FileQuery): Promise<{ files: FileRecord[]; hasMore: boolean }> {
    const page = await this.#parts.store.list(query);
    const files = page.files.filter((file) => !this.#isExpired(file) && sealingKey(file) === undefined);
    if (files.length > 0 || !page.hasMore) return { files, hasMore: page.hasMore };
    return await this.list({ ...query, after: page.files.at(-1) });
  }

  /**
   * Reads a file once it is its turn, because few may be in memory at once. Dispose of the result.
   * @throws GatewayError `not_found` if its bytes are missing, `overloaded`, `store_unavailable`, or the reason of the
   * signal.
   */
  async read(file: FileRecord, signal: AbortSignal): Promise<{ bytes: Buffer } & Disposable> {
    const read = await this.#read(file, signal);
    if (!read) throw bytesMissing(file);
    return read;
  }

  async #read(file: FileRecord, signal: AbortSignal): Promise<({ bytes: Buffer } & Disposable) | undefined> {
    using permit = new DisposableStack();
    permit.use(await this.#reading.acquire(file.user, signal));
    const stored = await this.#blobs.read(file.id, signal);
    const bytes = stored && (await this.#sealed.openBytes(stored, file));
    // A file may have lost bytes, for example when the power failed.
    if (bytes?.length !== file.bytes) return undefined;
    const held = permit.move();
    return { bytes, [Symbol.dispose]: () => held.dispose() };
  }

  /**
   * Reads a user's file for a tool; undefined if the user has no file of this public id, or its bytes are missing.
   * @throws as `read`.
   */
  async readAttached(user: string, publicId: string, signal: AbortSignal) {
    const file = await this.#find(user, publicId);
    const read = file && (await this.#read(file, signal));
    if (!read) return undefined;
    const { name, type, createdAt } = file;
    return { name, type: fileTypeOf(name, type), createdAt, ...read };
  }

  /** The bytes of a file as a stream. Read it to its end or destroy it. @throws as `read`. */
  async stream(file: FileRecord, signal: AbortSignal): Promise<Readable> {
    if (sealingKey(file) !== undefined) {
      const read = await this.read(file, signal);
      return Readable.from([read.bytes]).once('close', () => read[Symbol.dispose]());
    }
    const source = await this.#blobs.stream(file.id, signal);
    if (!source) throw bytesMissing(file);
    return source;
  }

  /**
   * Calls `listener` when the bytes of a file are gone, so that no other part keeps any of it: before that, it could be
   * attached and read once more.
   */
  onRemove(listener: (file: FileRecord) => Promise<void>): void {
    this.#removeListeners.push(listener);
  }

  /**
   * Removes a file for good. It expires first, so that the sweep removes the rest if this process dies, and its record goes
   * last, so that after a failure the file can be removed again.
   */
  async remove(file: FileRecord): Promise<void> {
    const { store, clock } = this.#parts;
    if (this.#isExpired(file)) return await this.#removeAll(file);
    // The name of an encrypted file must not be stored in plain text.
    const stored = (await store.get(file.id)) ?? file;
    await store.setExpiry({ ...stored, expiresAt: clock.now() });
    try {
      await this.#removeAll(file);
    } catch (thrown) {
      await store.setExpiry(stored).catch(() => {});
      throw thrown;
    }
  }

  async #removeAll(file: FileRecord): Promise<void> {
    await this.#blobs.remove(file.id, this.#closing.signal);
    for (const listener of this.#removeListeners) await listener(file);
    const { entries, store, clock } = this.#parts;
    const removed = { id: publicFileId(file.id), place: file.createdAt, now: clock.now() };
    await noteRemoval(entries, filesOf(file.user), removed);
    await store.remove(file.id);
  }

  async #find(user: string, publicId: string): Promise<FileRecord | undefined> {
    const file = await this.#findRecord(user, publicId);
    return file && !this.#isExpired(file) ? this.#sealed.openRecord(file) : undefined;
  }

  /** A user's file, even if it has expired and is not removed yet. */
  async #findRecord(user: string, publicId: string): Promise<FileRecord | undefined> {
    const id = parseFileId(publicId);
    const file = id === undefined ? undefined : await this.#parts.store.get(id);
    return file?.user === user ? file : undefined;
  }

  #isExpired({ expiresAt }: FileRecord): boolean {
    return expiresAt !== null && expiresAt <= this.#parts.clock.now();
  }

  async #sweep(): Promise<void> {
    const { store, clock, log } = this.#parts;
    try {
      // Files that cannot be removed, such as locked objects and damaged records, must not keep all others.
      for (let stuck = 0, hasMore = true; hasMore && !this.#closing.signal.aborted; ) {
        const expired = await store.expired({ now: clock.now(), limit: SWEEP_STEP, skip: stuck });
        const removed = await Promise.all(expired.map((file) => file !== null && this.#removeExpired(file)));
        stuck += removed.filter((isRemoved) => !isRemoved).length;
        hasMore = expired.length > 0;
      }
      if (clock.now() < this.#nextOrphanSweep) return;
      this.#nextOrphanSweep = clock.now() + ORPHAN_SWEEP_MS;
      const isKnown = async (id: string) => !uuidAfter('', id) || (await this.#hasRecord(id));
      await this.#blobs.sweep({ olderThanMs: MIN_ORPHAN_AGE_MS, isKnown, signal: this.#closing.signal });
    } catch (thrown) {
      if (this.#closing.signal.aborted) return;
      log.warn({ err: messageOf(thrown) }, 'files could not be swept now');
    }
  }

  /** Whether a file has a record, readable or not. @throws GatewayError `store_unavailable`. */
  async #hasRecord(id: string): Promise<boolean> {
    try {
      return (await this.#parts.store.get(id)) !== undefined;
    } catch (thrown) {
      if (isStoreUnavailable(thrown)) throw thrown;
      return true;
    }
  }

  /** False if the file cannot be removed now; the next sweep tries again. */
  async #removeExpired(file: FileRecord): Promise<boolean> {
    try {
      await this.remove(file);
      return true;
    } catch (thrown) {
      if (!this.#closing.signal.aborted)
        this.#parts.log.warn({ file: file.id, err: messageOf(thrown) }, 'an expired file could not be removed');
      return false;
    }
  }
}

function bytesMissing({ id }: FileRecord): GatewayError {
  return new GatewayError('not_found', `The bytes of ${publicFileId(id)} are missing.`);
}

/** Strips the path from a name, and characters that cannot be displayed on one line. */
function sanitizeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const visible = last
    .replace(/\p{C}+/gu, '')
    .trim()
    .slice(0, MAX_NAME_LENGTH)
    .replace(/[\ud800-\udbff]$/, '');
  return visible === '' || /^\.+$/.test(visible) ? 'file' : visible;
}
