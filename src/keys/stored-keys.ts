import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { fieldError, GatewayError, messageOf } from '../base/errors.ts';
import { inSlices, yieldToEventLoop } from '../base/load/event-loop.ts';
import type { Logger } from '../base/logger.ts';
import { keyringOf, prepareKeyring } from '../config/keyring.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { GatewayConfig, KeyConfig } from '../config/schema.ts';
import { secretHash } from '../config/secrets.ts';
import type { Entry, EntryStore } from '../store/side-stores/entry-store.ts';
import { entryOf, type KeySealer, readKey } from './key-record.ts';
import { configsOf, encryptionHashOf, type KeySettings, LOCKED, type StoredKey } from './stored-key.ts';

const LIST = 'keys';
const MAX_KEYS = 10_000;
const PAGE = 1000;
/** How often the store is polled for changes by other instances, in milliseconds. */
const POLL_MS = 1000;
/** How often a change is attempted while others change the same key. */
const ATTEMPTS = 5;

export interface StoredKeysOptions {
  store: EntryStore;
  live: LiveConfig;
  /** Encrypts credentials of keys; absent: keys of the store cannot have any. */
  sealer?: KeySealer;
  /** Puts a configuration in force; see `RefreshedSecrets.replace`. */
  replace(next: GatewayConfig): Promise<void>;
  clock: Clock;
  log: Logger;
}

/** A key and its new secret, which is shown only once. */
export interface NewSecret {
  key: StoredKey;
  secret: string;
}

/**
 * Keys that operators create without editing the file (docs/keys.md). The configuration in force is the file's plus these
 * keys; a change takes effect on every instance within two seconds.
 */
export class StoredKeys implements AsyncDisposable {
  readonly #options: StoredKeysOptions;
  /** The configuration from the file. */
  #fileConfig: GatewayConfig;
  /** Keys by their stored text, so that an unchanged key is not decrypted again. */
  #stored: ReadonlyMap<string, StoredKey> = new Map();
  /** Keys that are not in force, with the reason, which is logged once. */
  #skipped: ReadonlyMap<string, string> = new Map();
  #revision: number | undefined;
  /** When the next rotated-out secret expires, in Unix milliseconds. */
  #nextExpiry = Number.POSITIVE_INFINITY;
  #work: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StoredKeysOptions) {
    this.#options = options;
    this.#fileConfig = options.live.current();
  }

  /** Puts the keys of the store in force, and keeps them up to date. @throws GatewayError `store_unavailable`. */
  async start(): Promise<void> {
    await this.#enqueue(() => this.#refresh());
    this.#scheduleRefresh();
  }

  /** Takes over a changed file. @throws what `replace` throws; then the previous configuration stays in force. */
  reload(next: GatewayConfig): Promise<void> {
    return this.#enqueue(async () => {
      const before = this.#fileConfig;
      this.#fileConfig = next;
      try {
        await this.#apply();
      } catch (thrown) {
        this.#fileConfig = before;
        throw thrown;
      }
    });
  }

  /** Whether the file has a key of this id, which takes precedence. */
  isInFile(id: string): boolean {
    return keyringOf(this.#fileConfig).byId.has(id);
  }

  /** @throws GatewayError `not_found`, `store_unavailable`. */
  async get(id: string): Promise<StoredKey> {
    return (await this.#read(id)).key;
  }

  /** A page of keys in order of creation. @throws GatewayError `invalid_parameter` (`after`), `store_unavailable`. */
  async list({ limit, after }: { limit: number; after?: string }): Promise<{ keys: StoredKey[]; hasMore: boolean }> {
    const { store, sealer } = this.#options;
    const cursor = after === undefined ? undefined : await store.get(LIST, after);
    if (after !== undefined && !cursor) throw fieldError('invalid_parameter', 'after', `there is no key ${after}.`);
    const { entries, hasMore } = await store.page(LIST, { limit, order: 'asc', after: cursor });
    const keys = await Promise.all(entries.map((entry) => readKey(entry, sealer)));
    return { keys: keys.filter((key) => key !== undefined), hasMore };
  }

  /**
   * Creates a key.
   * @throws GatewayError `invalid_parameter` if this `id` exists, there are too many keys, or its credentials cannot be
   *   encrypted; `store_unavailable`.
   */
  async create(id: string, settings: KeySettings): Promise<NewSecret> {
    const { clock, store, sealer } = this.#options;
    const { secret, sha256 } = newSecret();
    const key: StoredKey = { id, settings, hashes: [{ sha256 }], createdAt: clock.now() };
    const entry = await entryOf(key, sealer);
    const added = this.isInFile(id) ? 'there' : await store.add(LIST, entry, { max: MAX_KEYS });
    if (added !== 'added') {
      const what = added === 'there' ? `there is a key ${id} already.` : `there are ${MAX_KEYS} keys already.`;
      throw fieldError('invalid_parameter', 'id', what);
    }
    await this.#refreshNow();
    return { key, secret };
  }

  /** Changes a key's settings. @throws GatewayError `not_found`, `invalid_parameter`, `store_unavailable`. */
  update(id: string, change: (settings: KeySettings) => KeySettings): Promise<StoredKey> {
    return this.#change(id, (key) => {
      if (key.locked === undefined) return { ...key, settings: change(key.settings) };
      throw new GatewayError('invalid_parameter', `The key ${id} cannot be changed: ${LOCKED}.`);
    });
  }

  /** Gives a key a new secret; the previous one is accepted for `overlapMs` longer. @throws as `update`. */
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
    if (!(await this.#options.store.remove(LIST, id))) throw unknownKey(id);
    await this.#refreshNow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#work;
  }

  async #read(id: string): Promise<{ entry: Entry; key: StoredKey }> {
    const entry = await this.#options.store.get(LIST, id);
    const key = entry && (await readKey(entry, this.#options.sealer));
    if (!entry || !key) throw unknownKey(id);
    return { entry, key };
  }

  async #change(id: string, change: (key: StoredKey) => StoredKey): Promise<StoredKey> {
    const { store, sealer } = this.#options;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { entry, key } = await this.#read(id);
      const changed = change(key);
      if (!(await store.replace(LIST, await entryOf(changed, sealer), { before: entry }))) continue;
      await this.#refreshNow();
      return changed;
    }
    throw new GatewayError('store_unavailable', `The key ${id} is being changed by others. Try again.`);
  }

  /** Runs tasks one after the other, so that the configuration in force is always the one read last. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }

  #scheduleRefresh(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(async () => {
      await this.#refreshNow();
      this.#scheduleRefresh();
    }, POLL_MS).unref();
  }

  /** Applies a change at once in this process; if the store is away, the next poll does. */
  async #refreshNow(): Promise<void> {
    await this.#enqueue(() => this.#refresh()).catch((thrown: unknown) => {
      this.#options.log.warn({ err: messageOf(thrown) }, 'keys of the store could not be read; the old ones stay');
    });
  }

  async #refresh(): Promise<void> {
    const { store, clock } = this.#options;
    const revision = await store.revision(LIST);
    const hasExpired = this.#nextExpiry <= clock.now();
    if (revision === (this.#revision ?? 0) && !hasExpired) return;
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
      await yieldToEventLoop();
    }
  }

  async #apply(): Promise<void> {
    const { replace, clock, log } = this.#options;
    const now = clock.now();
    const fileIds = new Set(this.#fileConfig.keys.map(({ id }) => id));
    const all = [...this.#stored.values()];
    const skipped = new Map<string, string>();
    const stored: KeyConfig[] = [];
    await inSlices(all, (key) => {
      const configs = fileIds.has(key.id) ? 'the file has a key of this id' : configsOf(key, this.#fileConfig, now);
      if (typeof configs !== 'string') {
        stored.push(...configs);
        return;
      }
      skipped.set(key.id, configs);
      if (this.#skipped.get(key.id) !== configs)
        log.warn({ key: key.id, reason: configs }, 'a key of the store is left out');
    });
    this.#skipped = skipped;
    const expiries = all.flatMap(({ hashes }) => hashes.flatMap(({ until = 0 }) => (until > now ? [until] : [])));
    this.#nextExpiry = Math.min(Number.POSITIVE_INFINITY, ...expiries);
    const file = this.#fileConfig;
    const next = stored.length === 0 ? file : { ...file, keys: [...file.keys, ...stored] };
    await prepareKeyring(next);
    await replace(next);
  }
}

function newSecret(): { secret: string; sha256: string } {
  const secret = `sk-${randomBytes(32).toString('base64url')}`;
  return { secret, sha256: secretHash({ secret }) };
}

function unknownKey(id: string): GatewayError {
  return new GatewayError('not_found', `There is no key ${id} in the store.`);
}
