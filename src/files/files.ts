import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { GatewayError, messageOf, shuttingDown } from '../base/errors.ts';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { FileRecord, FileStore } from '../store/beside/file-store.ts';
import type { FilePlace, TakenBytes } from './file-place.ts';
import { fileTypeOf } from './file-type.ts';
import { openPlace } from './open-place.ts';

export interface FilesParts {
  store: FileStore;
  config: Pick<GatewayConfig, 'files'>;
  clock: Clock;
  log: Logger;
}

/** What a file is to be, beside its bytes. */
export interface NewFile {
  user: string;
  name: string;
  purpose: string;
  type: string;
  /** How long it is kept, in milliseconds; for ever where absent. */
  keepMs?: number | undefined;
}

const PREFIX = 'file-';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** How often files whose time is over are looked for, and how many are removed in one step. */
const SWEEP_MS = 60_000;
const STEP = 100;
/** Within this time after the start orphans are looked for first, in milliseconds. */
const FIRST_ORPHANS_MS = 3_600_000;
/** What nobody knows of is removed once it is this old, in milliseconds: an upload takes no longer. */
const ORPHAN_MS = 6 * 3_600_000;
/** How often it is looked for, in milliseconds: every file is listed. */
const ORPHANS_EVERY_MS = 6 * 3_600_000;
/** The longest name that is kept, in characters. */
const LONGEST_NAME = 255;

/** Uploads under way at once; one user has half of them at most, the next one half of the rest. */
const UPLOADS = 64;
/** Files whose bytes are in memory at once, and how many wait for that. */
const READ_AT_ONCE = 4;
const WAITING = 1000;

function tooMany(what: 'uploaded' | 'read'): GatewayError {
  return new GatewayError('overloaded', `Too many files are being ${what}. Try again.`, { retryAfterMs: 5000 });
}

/** The id of a file as clients know it. */
export function publicFileId(id: string): string {
  return PREFIX + id;
}

/** What ids are inside; undefined for what is none. */
export function parseFileId(text: string): string | undefined {
  const id = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '';
  return UUID.test(id) ? id : undefined;
}

/** Files of users (docs/files.md): bytes in a place of their own, what is known of them in the store. */
export class Files implements Disposable {
  readonly #parts: FilesParts;
  readonly #place: FilePlace;
  readonly #closing = new AbortController();
  /** When orphans are looked for: not by all instances at once. */
  #orphansAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #leaving: ((file: FileRecord) => Promise<void>)[] = [];
  readonly #uploads = new FairSemaphore({
    name: 'uploads',
    permits: UPLOADS,
    ofOwner: 'what is left',
    full: () => tooMany('uploaded'),
  });
  readonly #reading = new FairSemaphore({
    name: 'files',
    permits: READ_AT_ONCE,
    maxWaiting: WAITING,
    full: () => tooMany('read'),
  });

  constructor(parts: FilesParts) {
    this.#parts = parts;
    this.#place = openPlace(parts.config.files, parts.log);
    this.#orphansAt = parts.clock.now() + Math.random() * FIRST_ORPHANS_MS;
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#closing.abort(shuttingDown());
    this.#place[Symbol.dispose]();
  }

  /**
   * Takes the bytes of a file; it is there once all of them are stored.
   * @throws GatewayError `request_too_large`, `overloaded`, `store_unavailable`, and what the stream breaks off with.
   */
  async take(source: Readable, { user, signal }: { user: string; signal: AbortSignal }): Promise<TakenBytes> {
    using _ = this.#uploads.take(user);
    const { files } = this.#parts.config;
    return await this.#place.take(source, { id: randomUUID(), most: files.maxBytes, signal });
  }

  /** Makes what was taken a file. @throws GatewayError `quota_exceeded`, `store_unavailable`. */
  async add(taken: TakenBytes, { keepMs, name, ...file }: NewFile): Promise<FileRecord> {
    const { store, config, clock } = this.#parts;
    const now = clock.now();
    const record: FileRecord = {
      ...file,
      id: taken.id,
      name: plainName(name),
      bytes: taken.bytes,
      createdAt: now,
      expiresAt: keepMs === undefined ? null : now + keepMs,
    };
    await taken.keep();
    const drop = () => this.#place.remove(record.id, this.#closing.signal);
    const added = await store.add(record, { most: config.files.perUserBytes }).catch(async (thrown: unknown) => {
      // The record may be there all the same: the bytes go once it is surely gone, otherwise the sweep finds them.
      await store
        .remove(record.id)
        .then(drop)
        .catch(() => {});
      throw thrown;
    });
    if (added === 'added') return record;
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

  /** A page of a user's files. */
  async list(query: Parameters<FileStore['list']>[0]) {
    const { files, hasMore } = await this.#parts.store.list(query);
    return { files: files.filter((file) => !this.#isOver(file)), hasMore };
  }

  /**
   * The bytes of a file, in their turn: only so many are in memory. Dispose of what was read.
   * @throws GatewayError `not_found` where its bytes are gone, `overloaded`, `store_unavailable`, or the reason of the
   * signal.
   */
  async read(file: FileRecord, signal: AbortSignal): Promise<{ bytes: Buffer } & Disposable> {
    using place = new DisposableStack();
    place.use(await this.#reading.acquire(file.user, signal));
    const bytes = await this.#place.read(file.id, signal);
    if (!bytes) throw bytesGone(file);
    const held = place.move();
    return { bytes, [Symbol.dispose]: () => held.dispose() };
  }

  /** A user's file as tools read it; undefined where the user has none of this public id. @throws as `read`. */
  async attached(user: string, publicId: string, signal: AbortSignal) {
    const file = await this.#find(user, publicId);
    if (!file) return undefined;
    const { name, type, createdAt } = file;
    return { name, type: fileTypeOf(name, type), createdAt, ...(await this.read(file, signal)) };
  }

  /** The bytes of a file in pieces. Pull them to their end or destroy them. @throws as `read`. */
  async stream(file: FileRecord, signal: AbortSignal): Promise<Readable> {
    const source = await this.#place.stream(file.id, signal);
    if (!source) throw bytesGone(file);
    return source;
  }

  /** Calls `listener` before a file is removed, so that nothing of it stays elsewhere. */
  onRemove(listener: (file: FileRecord) => Promise<void>): void {
    this.#leaving.push(listener);
  }

  /** Removes a file for good. Its record goes last: where the place is away the file is there, and can be removed again. */
  async remove(file: FileRecord): Promise<void> {
    for (const leave of this.#leaving) await leave(file);
    await this.#place.remove(file.id, this.#closing.signal);
    await this.#parts.store.remove(file.id);
  }

  async #find(user: string, publicId: string): Promise<FileRecord | undefined> {
    const id = parseFileId(publicId);
    const file = id === undefined ? undefined : await this.#parts.store.get(id);
    return file?.user === user && !this.#isOver(file) ? file : undefined;
  }

  #isOver({ expiresAt }: FileRecord): boolean {
    return expiresAt !== null && expiresAt <= this.#parts.clock.now();
  }

  async #sweep(): Promise<void> {
    const { store, clock, log } = this.#parts;
    try {
      for (;;) {
        const over = await store.expired({ now: clock.now(), limit: STEP });
        for (const file of over) await this.remove(file);
        if (over.length < STEP) break;
      }
      if (clock.now() < this.#orphansAt) return;
      this.#orphansAt = clock.now() + ORPHANS_EVERY_MS;
      const isKnown = async (id: string) => !UUID.test(id) || (await store.get(id)) !== undefined;
      await this.#place.sweep({ olderThanMs: ORPHAN_MS, isKnown, signal: this.#closing.signal });
    } catch (thrown) {
      if (this.#closing.signal.aborted) return;
      log.warn({ err: messageOf(thrown) }, 'files could not be swept now');
    }
  }
}

function bytesGone({ id }: FileRecord): GatewayError {
  return new GatewayError('not_found', `The bytes of ${publicFileId(id)} are not there any more.`);
}

/** A name without a path and without what cannot be shown on one line. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const shown = last
    .replace(/\p{C}+/gu, '')
    .trim()
    .slice(0, LONGEST_NAME)
    .replace(/[\ud800-\udbff]$/, '');
  return shown === '' || /^\.+$/.test(shown) ? 'file' : shown;
}
