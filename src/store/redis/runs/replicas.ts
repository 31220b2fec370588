import type { RunId } from '../../../base/ids.ts';
import { storeUnavailable } from '../../failure.ts';
import type { NewRun, SubmissionKeyName } from '../../run-store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import type { RedisKeys } from '../keys.ts';

interface ReplicaParts {
  redis: RedisConnection;
  /** The connection whose writes are waited for. */
  commands: RedisConnection;
  keys: RedisKeys;
  /** How many replicas must have a write before it is acknowledged, and the longest wait for them, in milliseconds. */
  options: { replicas: number; limitMs: number };
}

type NewRunKeys = Pick<NewRun, 'id' | 'user' | 'api' | 'claim'> & { keys?: readonly SubmissionKeyName[] };

/**
 * Waits until replicas have what was written, over its own connection, which a wait blocks. A wait covers whatever was
 * acknowledged before it starts, so all runs of a server share one wait at a time.
 */
export class Replicas {
  readonly #parts: ReplicaParts;
  /** The last wait that was started, and the one that starts after it, by server. */
  readonly #current = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<number>>();

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once enough replicas have what was written of this run.
   * @throws GatewayError `store_unavailable` if they do not in time: the write is done, but a failover may lose it.
   */
  async waitForRun(id: RunId): Promise<void> {
    await this.#waitForKey(this.#parts.keys.run(id));
  }

  /** Waits for the key that a check has written. */
  async waitForProbe(): Promise<void> {
    await this.#waitForKey(this.#parts.keys.probe);
  }

  /**
   * Waits for a new run and for what leads to it, which in a cluster is on other servers: nobody finds a run that is in
   * no set of open runs, a run missing from the list of its user stays missing, and a lost submission key lets a repeat
   * become a second run.
   */
  async waitForNewRun({ id, user, api, claim, keys: names = [] }: NewRunKeys): Promise<void> {
    const { keys } = this.#parts;
    const sets = [keys.queued.of(id), keys.list(user, api), ...(claim ? [keys.claimed.of(id)] : [])];
    const places = names.map((name) => keys.submission(name));
    await Promise.all([keys.run(id), ...sets, ...places].map((key) => this.#waitForKey(key)));
  }

  /** Waits for a claim, including its set: if a claim is in no set, nobody notices when its owner dies. */
  async waitForClaim(id: RunId): Promise<void> {
    await Promise.all([this.#parts.keys.run(id), this.#parts.keys.claimed.of(id)].map((key) => this.#waitForKey(key)));
  }

  async #waitForKey(key: string): Promise<void> {
    const { redis, commands, keys, options } = this.#parts;
    const mark = keys.markFor(key);
    const writtenAt = commands.serverOf(mark);
    const count = await this.#nextWait(mark);
    if (count < options.replicas)
      throw storeUnavailable(`only ${count} of ${options.replicas} replicas have what was written`);
    // A failover is about to lose what was written to the former master.
    if (redis.serverOf(mark) !== writtenAt) throw storeUnavailable('its master is changing');
  }

  /** Joins the next wait on the server of this key. */
  #nextWait(mark: string): Promise<number> {
    const server = this.#parts.redis.serverOf(mark);
    const next = this.#next.get(server);
    if (next) return next;
    const current = this.#current.get(server) ?? Promise.resolve();
    const wait = current
      .catch(() => {})
      .then(() => {
        this.#next.delete(server);
        return this.#parts.redis.waitForReplicas(mark, this.#parts.options);
      });
    this.#next.set(server, wait);
    this.#current.set(server, wait);
    return wait;
  }
}
