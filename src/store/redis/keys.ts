import slotOf from 'cluster-key-slot';
import type { RunId } from '../../base/ids.ts';
import type { Bucket } from '../list-page.ts';
import type { RunApi, SubmissionKeyName } from '../run-store.ts';

/** A set over all runs, divided by run into keys of their own. */
export class Sharded {
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

/** Stands in the place of an id where replicas are waited for. */
export const SECRET = 'secret';
/** The same for the files that end. */
export const EXPIRING_FILES = 'files';

/** Of those who have to be looked at: a sorted set by when, and how far each of them is. `tag` is that of the set. */
export interface DueKeys {
  tag: string;
  due: string;
  state(id: string): string;
}

/**
 * Names of keys and channels. Everything of one run carries the hash tag `{id}`, so that Redis Cluster shards by run;
 * the sets over many runs stand alone and are only an index: what the run's own hash says is the truth.
 */
export class Keys {
  readonly #prefix: string;
  /** Sorted sets of queued runs, by position. */
  readonly queued: Sharded;
  /** Sorted sets of claimed and released runs, by the end of the claim. */
  readonly claimed: Sharded;
  /** Sorted sets of ended runs with their owner, by expiry. */
  readonly expiry: Sharded;
  /** Sorted sets of ended runs whose log is not compressed, by end. */
  readonly uncompressed: Sharded;
  /** Channel of cancels and claimable runs. */
  readonly changes: string;
  /**
   * Queued runs by API key, for keys to take turns: a sorted set of members that begin with the key, a hash of them by
   * run, and the key that had its turn last. In one slot.
   */
  readonly waiting: { readonly order: string; readonly runs: string; readonly turn: string };
  readonly probe: string;
  /** What all who use the store share; `SECRET` is its tag. */
  readonly secret: string;
  /** Of the runs that have something to tell, and of the users whose documents have to be read. */
  readonly deliveries: DueKeys;
  readonly readings: DueKeys;
  /** Sorted set of files by when they end; `EXPIRING_FILES` is its tag. */
  readonly expiringFiles: string;
  /** Set of the days of which it is known what was used. */
  readonly usageDays: string;
  /** The version of all this. */
  readonly format: string;

  /** `shards`: into how many keys each set over all runs is divided, for a cluster to spread. */
  constructor(prefix: string, { shards = 1 }: { shards?: number } = {}) {
    this.#prefix = prefix;
    this.queued = new Sharded(`${prefix}:queued`, shards);
    this.claimed = new Sharded(`${prefix}:claimed`, shards);
    this.expiry = new Sharded(`${prefix}:expiry`, shards);
    this.uncompressed = new Sharded(`${prefix}:unsealed`, shards);
    this.changes = `${prefix}:changes`;
    const waiting = `${prefix}:{${prefix}:waiting}`;
    this.waiting = { order: `${waiting}:order`, runs: `${waiting}:runs`, turn: `${waiting}:turn` };
    this.probe = `${prefix}:probe`;
    this.secret = `${prefix}:{${SECRET}}:shared`;
    const due = (tag: string, state: string): DueKeys => ({
      tag,
      due: `${prefix}:{${tag}}:due`,
      state: (id) => `${prefix}:{${id}}:${state}`,
    });
    this.deliveries = due('deliveries', 'delivery');
    this.readings = due('readings', 'reading');
    this.usageDays = `${prefix}:usage`;
    this.expiringFiles = `${prefix}:{${EXPIRING_FILES}}:expiry`;
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
  /** Of a user's files: a hash of their records, a sorted set of their ids, and how many bytes they have; `tag` is theirs. */
  filesOf(user: string): { names: [string, string, string]; tag: string } {
    const tag = `files ${encodeURIComponent(user)}`;
    const tagged = `${this.#prefix}:{${tag}}`;
    return { names: [`${tagged}:records`, `${tagged}:order`, `${tagged}:bytes`], tag };
  }
  /** Of a list: a hash of its records, a sorted set of their ids, a hash of how many are in each state, its revision. */
  entries(list: string): { names: [string, string, string, string]; tag: string } {
    const tag = `list ${encodeURIComponent(list)}`;
    const tagged = `${this.#prefix}:{${tag}}`;
    return { names: [`${tagged}:records`, `${tagged}:order`, `${tagged}:counts`, `${tagged}:revision`], tag };
  }
  /** Hash of what was used on a day; `usageTag` is its tag. */
  usage(day: string): string {
    return `${this.#prefix}:{${this.usageTag(day)}}:counts`;
  }
  /** Which batch of a source added this part of it to a day last. */
  usageMark(day: string, part: string): string {
    return `${this.#prefix}:{${this.usageTag(day)}}:added:${part}`;
  }
  usageTag(day: string): string {
    return `usage ${day}`;
  }
  /** Says that no run of this id may be created: it was deleted, or another submission took its place. */
  gone(id: RunId): string {
    return `${this.#prefix}:{${id}}:gone`;
  }
  /** Written to wait for replicas of `key`: it lies in the same slot. */
  markFor(key: string): string {
    return besides(key, `${this.#prefix}:mark`);
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
  /** Where the first version looks for an idempotency key, and leaves it. */
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
  /** Points or places of an API key. */
  limit(name: string, key: string): string {
    return `${this.#prefix}:limit:${name}:${key}`;
  }
  /** Hash of what is reserved of points, in the slot of their counter. */
  holds(name: string, key: string): string {
    return besides(this.limit(name, key), `${this.#prefix}:holds`);
  }
  /** Of a conversation: its hash, a hash of its items by id, and a sorted set of their ids by place. */
  conversation(id: string): [string, string, string] {
    const tagged = `${this.#prefix}:{${id}}`;
    return [`${tagged}:conversation`, `${tagged}:items`, `${tagged}:order`];
  }
  cache(namespace: string): string {
    return `${this.#prefix}:cache:${namespace}`;
  }
}

/** A key that begins with `prefix`, which holds no brace, in the slot of `key`. */
function besides(key: string, prefix: string): string {
  // The part of a key that decides about its slot. It ends at the first brace: the name of a user may hold one.
  const tag = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  if (!tag.includes('}')) return `${prefix}:{${tag}}`;
  // Takes some milliseconds.
  const slot = slotOf(key);
  for (let n = 0; ; n++) {
    const found = `${prefix}:${n}`;
    if (slotOf(found) === slot) return found;
  }
}
