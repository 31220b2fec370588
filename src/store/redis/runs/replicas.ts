import type { RunId } from '../../../base/ids.ts';
import { unavailable } from '../../failure.ts';
import type { NewRun, SubmissionKeyName } from '../../run-store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import type { Keys } from '../keys.ts';

interface ReplicaParts {
  redis: RedisConnection;
  /** The connection of the writes that are waited for. */
  commands: RedisConnection;
  keys: Keys;
  /** How many replicas must have a write before it is answered, and the longest wait for them, in milliseconds. */
  options: { replicas: number; limitMs: number };
}

type New = Pick<NewRun, 'id' | 'user' | 'api' | 'claim'> & { keys?: readonly SubmissionKeyName[] };

/**
 * Waits until replicas have what was written, over a connection of its own: a wait holds its connection up. Whatever
 * was answered before a wait begins is covered by it, so all runs of a server share one at a time.
 */
export class Replicas {
  readonly #parts: ReplicaParts;
  /** The last wait that was begun, and the one that begins after it, by server. */
  readonly #current = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<number>>();

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once enough replicas have what was written of this run.
   * @throws GatewayError `store_unavailable` where they do not in time: it is written, but a failover may take it back.
   */
  async have(id: RunId): Promise<void> {
    await this.#haveKey(this.#parts.keys.run(id));
  }

  /**
   * The same for a new run and for what leads to it, which in a cluster lies elsewhere: a run that is in no set of open
   * ones is found by nobody, one that its user's list lacks stays lost there, and a submission key that is gone lets a
   * repeat become a second run.
   */
  async haveNew({ id, user, api, claim, keys: names = [] }: New): Promise<void> {
    const { keys } = this.#parts;
    const sets = [keys.queued.of(id), keys.list(user, api), ...(claim ? [keys.claimed.of(id)] : [])];
    const places = names.map((name) => keys.submission(name));
    await Promise.all([keys.run(id), ...sets, ...places].map((key) => this.#haveKey(key)));
  }

  /** The same for a claim: one that no set tells of would not be missed when its owner dies. */
  async haveClaim(id: RunId): Promise<void> {
    await Promise.all([this.#parts.keys.run(id), this.#parts.keys.claimed.of(id)].map((key) => this.#haveKey(key)));
  }

  async #haveKey(key: string): Promise<void> {
    const { redis, commands, keys, options } = this.#parts;
    const mark = keys.markFor(key);
    const writtenAt = commands.serverOf(mark);
    const count = await this.#nextWait(mark);
    if (count < options.replicas)
      throw unavailable(`only ${count} of ${options.replicas} replicas have what was written`);
    // What was written to the former master is about to be lost.
    if (redis.serverOf(mark) !== writtenAt) throw unavailable('its master is changing');
  }

  /** The next wait of the server that holds this key. */
  #nextWait(mark: string): Promise<number> {
    const server = this.#parts.redis.serverOf(mark);
    const next = this.#next.get(server);
    if (next) return next;
    const current = this.#current.get(server) ?? Promise.resolve();
    const wait = current
      .catch(() => {})
      .then(() => {
        this.#next.delete(server);
        return this.#parts.redis.replicated(mark, this.#parts.options);
      });
    this.#next.set(server, wait);
    this.#current.set(server, wait);
    return wait;
  }
}
