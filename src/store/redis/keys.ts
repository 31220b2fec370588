import slotOf from 'cluster-key-slot';
import type { RunId } from '../../base/ids.ts';
import type { Bucket } from '../list-page.ts';
import type { RunApi, SubmissionKeyName } from '../run-store.ts';

/** A set over all runs, split into several keys by run. */
export class ShardedKey {
  readonly all: readonly string[];

  constructor(name: string, shards: number) {
    this.all = shards === 1 ? [name] : Array.from({ length: shards }, (_, shard) => `${name}:${shard}`);
  }

  /** The key that holds this run. */
  of(id: RunId): string {
    let hash = 0;
    for (let index = 0; index < id.length; index++) hash = (hash * 31 + id.charCodeAt(index)) >>> 0;
    return this.all[hash % this.all.length] ?? '';
  }
}

/** The hash tag of the shared secret, to wait for replicas of it. */
export const SECRET_TAG = 'secret';
/** The hash tag of the set of expiring files. */
export const EXPIRING_FILES_TAG = 'files';

/** The keys of a `DeliveryStore`: a sorted set by due time, and a state per entry. `tag`: the hash tag of the set. */
export interface DueKeys {
  tag: string;
  due: string;
  state(id: string): string;
}

/**
 * Names of keys and channels. Everything of one run has the hash tag `{id}`, so a Redis Cluster shards by run. The sets
 * over many runs stand alone and are only indexes: the hash of the run decides.
 */
export class RedisKeys {
  readonly #prefix: string;
  /** Sorted sets of queued runs, by position. */
  readonly queued: ShardedKey;
  /** Sorted sets of claimed and released runs, by the end of the claim. */
  readonly claimed: ShardedKey;
  /** Sorted sets of ended runs with their owner, by expiry. */
  readonly expiry: ShardedKey;
  /** Sorted sets of ended runs whose log is not compressed, by end. */
  readonly uncompressed: ShardedKey;
  /** Channel of cancels and claimable runs. */
  readonly changes: string;
  /**
   * Queued runs by API key, so that keys take turns: a sorted set whose members begin with the key, a hash of these
   * members by run, and the key that had the last turn. All in one slot.
   */
  readonly waiting: { readonly order: string; readonly runs: string; readonly turn: string };
  readonly probe: string;
  /** The secret that everyone who uses the store shares, in the slot of `SECRET_TAG`. */
  readonly secret: string;
  /** Schedules of webhook deliveries and of users whose documents have to be read. */
  readonly deliveries: DueKeys;
  readonly readings: DueKeys;
  /** Sorted set of files by expiry, in the slot of `EXPIRING_FILES_TAG`. */
  readonly expiringFiles: string;
  /** Set of the days that have usage. */
  readonly usageDays: string;
  /** The format of the data; see `enterFormat`. */
  readonly format: string;

  /** `shards`: number of keys of each set over all runs, which a cluster spreads. */
  constructor(prefix: string, { shards = 1 }: { shards?: number } = {}) {
    this.#prefix = prefix;
    this.queued = new ShardedKey(`${prefix}:queued`, shards);
    this.claimed = new ShardedKey(`${prefix}:claimed`, shards);
    this.expiry = new ShardedKey(`${prefix}:expiry`, shards);
    this.uncompressed = new ShardedKey(`${prefix}:unsealed`, shards);
    this.changes = `${prefix}:changes`;
    const waiting = `${prefix}:{${prefix}:waiting}`;
    this.waiting = { order: `${waiting}:order`, runs: `${waiting}:runs`, turn: `${waiting}:turn` };
    this.probe = `${prefix}:probe`;
    this.secret = `${prefix}:{${SECRET_TAG}}:shared`;
    const due = (tag: string, state: string): DueKeys => ({
      tag,
      due: `${prefix}:{${tag}}:due`,
      state: (id) => `${prefix}:{${id}}:${state}`,
    });
    this.deliveries = due('deliveries', 'delivery');
    this.readings = due('readings', 'reading');
    this.usageDays = `${prefix}:usage`;
    this.expiringFiles = `${prefix}:{${EXPIRING_FILES_TAG}}:expiry`;
    this.format = `${prefix}:format`;
  }

  run(id: RunId): string {
    return `${this.#prefix}:{${id}}:run`;
  }
  log(id: RunId): string {
    return `${this.#prefix}:{${id}}:log`;
  }
  transcript(id: RunId): string {
    return `${this.#prefix}:{${id}}:transcript`;
  }
  compressed(id: RunId): string {
    return `${this.#prefix}:{${id}}:sealed`;
  }
  file(id: string): string {
    return `${this.#prefix}:{${id}}:file`;
  }
  /** The keys of a user's files: records (hash), ids (sorted set), total bytes; `tag` is their hash tag. */
  filesOf(user: string): { names: [string, string, string]; tag: string } {
    const tag = `files ${encodeURIComponent(user)}`;
    const tagged = `${this.#prefix}:{${tag}}`;
    return { names: [`${tagged}:records`, `${tagged}:order`, `${tagged}:bytes`], tag };
  }
  /** The keys of a list: records (hash), ids (sorted set), counts by state (hash), revision; `tag`: their hash tag. */
  entries(list: string): { names: [string, string, string, string]; tag: string } {
    const tag = `list ${encodeURIComponent(list)}`;
    const tagged = `${this.#prefix}:{${tag}}`;
    return { names: [`${tagged}:records`, `${tagged}:order`, `${tagged}:counts`, `${tagged}:revision`], tag };
  }
  /** Hash of the usage of a day, in the slot of `usageTag`. */
  usage(day: string): string {
    return `${this.#prefix}:{${this.usageTag(day)}}:counts`;
  }
  /** The batch that last added this part of a source to a day. */
  usageMark(day: string, part: string): string {
    return `${this.#prefix}:{${this.usageTag(day)}}:added:${part}`;
  }
  usageTag(day: string): string {
    return `usage ${day}`;
  }
  /** Marks an id under which no run may be created: its run was deleted, or another submission replaced it. */
  tombstone(id: RunId): string {
    return `${this.#prefix}:{${id}}:gone`;
  }
  /** The key that a wait for replicas of `key` writes, in the same slot. */
  markFor(key: string): string {
    return keyInSlotOf(key, `${this.#prefix}:mark`);
  }
  /** Channel of a run's batches. */
  live(id: RunId): string {
    return `${this.#prefix}:{${id}}:live`;
  }
  /** Sorted set of a user's runs of one interface, by position. */
  list(user: string, api: RunApi): string {
    return `${this.#prefix}:list:${api}:${user}`;
  }
  submission(key: SubmissionKeyName): string {
    return `${this.#prefix}:submission:${key.kind}:${key.hash}`;
  }
  /** Where the first version stores an idempotency key. */
  reservation(key: SubmissionKeyName): string {
    return `${this.#prefix}:reservation:${key.hash}`;
  }
  /** Sorted set of a user's runs of one interface, model and bucket, by position. */
  listPart(list: { user: string; api: RunApi }, part: { model: string; bucket: Bucket }): string {
    return `${this.#prefix}:list:${part.bucket}:${list.api}:${encodeURIComponent(part.model)}:${list.user}`;
  }
  /** Set of the models that a user's runs of one interface have. */
  models(list: { user: string; api: RunApi }): string {
    return `${this.#prefix}:models:${list.api}:${list.user}`;
  }
  /** Points or slots of an API key. */
  limit(name: string, key: string): string {
    return `${this.#prefix}:limit:${name}:${key}`;
  }
  /** Hash of reservations, in the slot of their counter. */
  holds(name: string, key: string): string {
    return keyInSlotOf(this.limit(name, key), `${this.#prefix}:holds`);
  }
  /** The keys of a conversation: its hash, its items by id (hash), and item ids by position (sorted set). */
  conversation(id: string): [string, string, string] {
    const tagged = `${this.#prefix}:{${id}}`;
    return [`${tagged}:conversation`, `${tagged}:items`, `${tagged}:order`];
  }
  cache(namespace: string): string {
    return `${this.#prefix}:cache:${namespace}`;
  }
}

/** A key that begins with `prefix` (without braces) and is in the slot of `key`. */
function keyInSlotOf(key: string, prefix: string): string {
  // The part of a key that decides its slot. It ends at the first closing brace, and a user name may contain one.
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  if (!tag.includes('}')) return `${prefix}:{${tag}}`;
  // Takes some milliseconds.
  const slot = slotOf(key);
  for (let n = 0; ; n++) {
    const found = `${prefix}:${n}`;
    if (slotOf(found) === slot) return found;
  }
}
