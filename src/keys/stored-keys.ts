import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { fieldError, GatewayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { keyringOf, prepareKeyring } from '../config/keyring.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { secretHash } from '../config/secrets.ts';
import type { Entry, EntryStore } from '../store/beside/entry-store.ts';
import { entryOf, type KeySealer, readKey } from './key-record.ts';
import { configsOf, encryptionHashOf, type KeySettings, LOCKED, type StoredKey } from './stored-key.ts';

const LIST = 'keys';
const MOST_KEYS = 10_000;
const PAGE = 1000;
/** How often it is looked whether another instance has changed a key, in milliseconds. */
const POLL_MS = 1000;
/** Somebody else may have changed it between reading and writing. */
const ATTEMPTS = 5;

export interface StoredKeysOptions {
  store: EntryStore;
  live: LiveConfig;
  /** Seals credentials of keys; absent: keys of the store have none. */
  sealer?: KeySealer;
  /** Puts a configuration in force; see `RefreshedSecrets.replace`. */
  replace(next: GatewayConfig): Promise<void>;
  clock: Clock;
  log: Logger;
}

/** A key and the secret that opens it, which is shown once. */
export interface NewSecret {
  key: StoredKey;
  secret: string;
}

/**
 * Keys that operators make without editing the file (docs/keys.md). The configuration in force is the file's with these
 * keys; a change is in force on every instance within two seconds.
 */
export class StoredKeys implements AsyncDisposable {
  readonly #options: StoredKeysOptions;
  /** The configuration as the file says it. */
  #file: GatewayConfig;
  /** By what is stored: what has not changed is not opened again. */
  #stored: ReadonlyMap<string, StoredKey> = new Map();
  /** Keys that are not in force, each with why, so that it is said once. */
  #leftOut: ReadonlyMap<string, string> = new Map();
  #revision: number | undefined;
  /** When a secret that was rotated out ends, in Unix milliseconds. */
  #nextEnd = Number.POSITIVE_INFINITY;
  #work: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StoredKeysOptions) {
    this.#options = options;
    this.#file = options.live.current();
  }

  /** Puts the keys of the store in force, and those that come. @throws GatewayError `store_unavailable`. */
  async start(): Promise<void> {
    await this.#queued(() => this.#look());
    this.#wait();
  }

  /** The file has changed. @throws what `live.replace` throws, with the configuration before in force. */
  reload(next: GatewayConfig): Promise<void> {
    return this.#queued(async () => {
      const before = this.#file;
      this.#file = next;
      try {
        await this.#apply();
      } catch (thrown) {
        this.#file = before;
        throw thrown;
      }
    });
  }

  /** Whether the file has a key of this id: that one stays the file's. */
  isOfFile(id: string): boolean {
    return keyringOf(this.#file).byId(id) !== undefined;
  }

  /** @throws GatewayError `not_found`, `store_unavailable`. */
  async get(id: string): Promise<StoredKey> {
    return (await this.#read(id)).key;
  }

  /** In the order of their creation. @throws GatewayError `not_found` (`after`), `store_unavailable`. */
  async list({ limit, after }: { limit: number; after?: string }): Promise<{ keys: StoredKey[]; hasMore: boolean }> {
    const behind = after === undefined ? undefined : (await this.#read(after)).entry;
    const { entries, hasMore } = await this.#options.store.page(LIST, { limit, order: 'asc', after: behind });
    const keys = await Promise.all(entries.map((entry) => readKey(entry, this.#options.sealer)));
    return { keys: keys.filter((key) => key !== undefined), hasMore };
  }

  /**
   * Makes a key.
   * @throws GatewayError `invalid_parameter` where there is one of this `id`, there are too many, or its credentials
   *   cannot be encrypted; `store_unavailable`.
   */
  async create(id: string, settings: KeySettings): Promise<NewSecret> {
    const { clock, store, sealer } = this.#options;
    const { secret, sha256 } = newSecret();
    const key: StoredKey = { id, settings, hashes: [{ sha256 }], createdAt: clock.now() };
    const entry = await entryOf(key, sealer);
    const added = this.isOfFile(id) ? 'there' : await store.add(LIST, entry, { most: MOST_KEYS });
    if (added !== 'added') {
      const what = added === 'there' ? `there is a key ${id} already.` : `there are ${MOST_KEYS} keys already.`;
      throw fieldError('invalid_parameter', 'id', what);
    }
    await this.#lookAgain();
    return { key, secret };
  }

  /** Gives a key other settings. @throws GatewayError `not_found`, `invalid_parameter`, `store_unavailable`. */
  update(id: string, change: (settings: KeySettings) => KeySettings): Promise<StoredKey> {
    return this.#change(id, (key) => {
      if (key.locked === undefined) return { ...key, settings: change(key.settings) };
      throw new GatewayError('invalid_parameter', `The key ${id} cannot be changed: ${LOCKED}.`);
    });
  }

  /** Gives a key another secret; the one before is taken for `overlapMs` more. @throws as `update`. */
  async rotate(id: string, { overlapMs }: { overlapMs: number }): Promise<NewSecret> {
    const { secret, sha256 } = newSecret();
    const now = this.#options.clock.now();
    const key = await this.#change(id, (rotated) => {
      const [before] = rotated.hashes;
      const hashes = [{ sha256 }, ...(before && overlapMs > 0 ? [{ ...before, until: now + overlapMs }] : [])];
      return { ...rotated, hashes, encryption: encryptionHashOf(rotated, now) };
    });
    return { key, secret };
  }

  /** @throws GatewayError `not_found`, `store_unavailable`. */
  async remove(id: string): Promise<void> {
    if (!(await this.#options.store.remove(LIST, id))) throw unknown(id);
    await this.#lookAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#work;
  }

  async #read(id: string): Promise<{ entry: Entry; key: StoredKey }> {
    const entry = await this.#options.store.get(LIST, id);
    const key = entry && (await readKey(entry, this.#options.sealer));
    if (!entry || !key) throw unknown(id);
    return { entry, key };
  }

  async #change(id: string, change: (key: StoredKey) => StoredKey): Promise<StoredKey> {
    const { store, sealer } = this.#options;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { entry, key } = await this.#read(id);
      const changed = change(key);
      if (!(await store.replace(LIST, await entryOf(changed, sealer), { before: entry }))) continue;
      await this.#lookAgain();
      return changed;
    }
    throw new GatewayError('store_unavailable', `The key ${id} is being changed by others. Try again.`);
  }

  /** One after the other: what is in force is what was read last. */
  #queued(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }

  #wait(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(async () => {
      await this.#lookAgain();
      this.#wait();
    }, POLL_MS).unref();
  }

  /** What was changed here is in force here at once; where the store is away, with the next look. */
  async #lookAgain(): Promise<void> {
    await this.#queued(() => this.#look()).catch((thrown: unknown) => {
      this.#options.log.warn({ err: messageOf(thrown) }, 'keys of the store could not be read; those of before stay');
    });
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#options;
    const revision = await store.revision(LIST);
    const isOver = this.#nextEnd <= clock.now();
    if (revision === (this.#revision ?? 0) && !isOver) return;
    if (revision !== this.#revision) this.#stored = await this.#readAll();
    await this.#apply();
    this.#revision = revision;
  }

  async #readAll(): Promise<ReadonlyMap<string, StoredKey>> {
    const { store, sealer } = this.#options;
    const keys = new Map<string, StoredKey>();
    let after: Entry | undefined;
    for (;;) {
      const { entries, hasMore } = await store.page(LIST, { limit: PAGE, order: 'asc', after });
      for (const entry of entries) {
        const key = this.#stored.get(entry.value) ?? (await readKey(entry, sealer));
        if (key) keys.set(entry.value, key);
      }
      after = entries.at(-1);
      if (!hasMore) return keys;
    }
  }

  async #apply(): Promise<void> {
    const { replace, clock, log } = this.#options;
    const now = clock.now();
    const ofFile = new Set(this.#file.keys.map(({ id }) => id));
    const all = [...this.#stored.values()];
    const leftOut = new Map<string, string>();
    const stored = all.flatMap((key) => {
      const configs = ofFile.has(key.id) ? 'the file has a key of this id' : configsOf(key, this.#file, now);
      if (typeof configs !== 'string') return configs;
      leftOut.set(key.id, configs);
      if (this.#leftOut.get(key.id) !== configs)
        log.warn({ key: key.id, reason: configs }, 'a key of the store is left out');
      return [];
    });
    this.#leftOut = leftOut;
    const ends = all.flatMap(({ hashes }) => hashes.flatMap(({ until = 0 }) => (until > now ? [until] : [])));
    this.#nextEnd = Math.min(Number.POSITIVE_INFINITY, ...ends);
    const next = stored.length === 0 ? this.#file : { ...this.#file, keys: [...this.#file.keys, ...stored] };
    await prepareKeyring(next);
    await replace(next);
  }
}

function newSecret(): { secret: string; sha256: string } {
  const secret = `sk-${randomBytes(32).toString('base64url')}`;
  return { secret, sha256: secretHash({ secret }) };
}

function unknown(id: string): GatewayError {
  return new GatewayError('not_found', `There is no key ${id} in the store.`);
}
