import type { RunId } from '../../base/ids.ts';
import type { RunApi, SubmissionKey } from '../run-store.ts';

/**
 * Names of keys and channels. Everything of one run carries the hash tag `{id}`, so that Redis Cluster shards by run;
 * the sets over many runs stand alone and are only an index: what the run's own hash says is the truth.
 */
export class Keys {
  readonly #prefix: string;
  /** Sorted set of queued runs, by position. */
  readonly queued: string;
  /** Sorted set of claimed and released runs, by the end of the claim. */
  readonly claimed: string;
  /** Sorted set of ended runs with their owner, by expiry. */
  readonly expiry: string;
  /** Sorted set of ended runs whose log is not sealed, by end. */
  readonly unsealed: string;
  /** Channel of cancels and claimable runs. */
  readonly changes: string;
  readonly probe: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.queued = `${prefix}:queued`;
    this.claimed = `${prefix}:claimed`;
    this.expiry = `${prefix}:expiry`;
    this.unsealed = `${prefix}:unsealed`;
    this.changes = `${prefix}:changes`;
    this.probe = `${prefix}:probe`;
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
  sealed(id: RunId): string {
    return `${this.#prefix}:{${id}}:sealed`;
  }
  /** Says that no run of this id may be created: it was deleted, or another submission took its place. */
  gone(id: RunId): string {
    return `${this.#prefix}:{${id}}:gone`;
  }
  /** Channel of a run's batches. */
  live(id: RunId): string {
    return `${this.#prefix}:{${id}}:live`;
  }
  /** Sorted set of a user's runs of one interface, by position. */
  list(user: string, api: RunApi): string {
    return `${this.#prefix}:list:${api}:${user}`;
  }
  submission(key: Pick<SubmissionKey, 'kind' | 'hash'>): string {
    return `${this.#prefix}:submission:${key.kind}:${key.hash}`;
  }
  reservation(key: string): string {
    return `${this.#prefix}:reservation:${key}`;
  }
  /** Points or places of an API key. */
  limit(name: string, key: string): string {
    return `${this.#prefix}:limit:${name}:${key}`;
  }
  cache(namespace: string): string {
    return `${this.#prefix}:cache:${namespace}`;
  }
}
