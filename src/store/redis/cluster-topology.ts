import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { unavailable } from './failure.ts';
import { SLOTS, slotOf } from './hash-slot.ts';
import { NodeConnection } from './node-connection.ts';
import { clusterSlotsReply } from './replies.ts';
import { type Address, nameOf, type RedisTarget } from './target.ts';

/** How long one node may take to tell, connecting included, in milliseconds. */
const ASK_LIMIT_MS = 1500;
/** How often it is asked again while a node is lost, in milliseconds. */
const LOST_LOOK_MS = 500;
/** How often it is asked without a cause: a slot may have moved that nobody sends commands to. */
const LOOK_MS = 5000;

/**
 * Which node has which slots, as far as known. It is asked again when a node is lost or sends a command elsewhere, and
 * now and then.
 */
export class ClusterTopology implements Disposable {
  readonly #target: RedisTarget;
  readonly #log: Logger;
  readonly #onChange = new Set<() => void>();
  readonly #lost = new Set<string>();
  #owners: readonly Address[] = [];
  #known = '';
  #asked: NodeConnection | undefined;
  #refreshing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(target: RedisTarget, log: Logger) {
    this.#target = target;
    this.#log = log;
  }

  /** @throws Error where no node tells, or slots are left without a master. */
  static async open(options: { target: RedisTarget; log: Logger }): Promise<ClusterTopology> {
    const topology = new ClusterTopology(options.target, options.log);
    try {
      await topology.refresh();
    } catch (thrown) {
      topology[Symbol.dispose]();
      throw thrown;
    }
    topology.#schedule();
    return topology;
  }

  /** The master of a slot. @throws GatewayError `store_unavailable` where none is known. */
  ownerOf(slot: number): Address {
    const owner = this.#owners[slot];
    if (!owner) throw unavailable('a part of the Redis cluster has no master');
    return owner;
  }

  /** The master of a key's slot. */
  ownerOfKey(key: string): Address {
    return this.ownerOf(slotOf(key));
  }

  get masters(): readonly Address[] {
    return [...new Map(this.#owners.filter(Boolean).map((owner) => [nameOf(owner), owner])).values()];
  }

  /** Calls `listener` whenever slots have another owner than before. */
  onChange(listener: () => void): Disposable {
    this.#onChange.add(listener);
    return { [Symbol.dispose]: () => void this.#onChange.delete(listener) };
  }

  /** A connection to this node is lost: it is asked again and again until it is back or replaced. */
  lost(address: Address): void {
    this.#lost.add(nameOf(address));
    this.refresh().catch(() => {});
    this.#schedule();
  }

  back(address: Address): void {
    this.#lost.delete(nameOf(address));
  }

  /** Asks a node for the slots, whichever answers. @throws Error where none does. */
  refresh(): Promise<void> {
    if (this.#closed) return Promise.reject(unavailable('it is closed'));
    this.#refreshing ??= this.#ask().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #ask(): Promise<void> {
    const failures: string[] = [];
    const candidates = new Map([...this.masters, ...this.#target.nodes].map((address) => [nameOf(address), address]));
    for (const [name, address] of candidates) {
      try {
        this.#read(await this.#slotsFrom(address), address);
        return;
      } catch (thrown) {
        failures.push(`${name}: ${messageOf(thrown)}`);
        await this.#forget();
      }
    }
    throw new Error(`no node of the Redis cluster tells its slots: ${failures.join('; ')}`);
  }

  async #slotsFrom(address: Address): Promise<unknown> {
    const known = this.#asked;
    // The connection that answered last is asked first, whichever node it leads to.
    if (known) return await known.command(['CLUSTER', 'SLOTS']);
    const limits = { limitMs: ASK_LIMIT_MS, connectLimitMs: ASK_LIMIT_MS };
    const connection = await NodeConnection.open({ target: this.#target, address, log: silent(this.#log), ...limits });
    this.#asked = connection;
    if (this.#closed) await this.#forget();
    return await connection.command(['CLUSTER', 'SLOTS']);
  }

  async #forget(): Promise<void> {
    const connection = this.#asked;
    this.#asked = undefined;
    await connection?.close();
  }

  #read(reply: unknown, asked: Address): void {
    const owners: Address[] = new Array(SLOTS);
    for (const [first, last, [host, port]] of clusterSlotsReply.parse(reply)) {
      // A node that does not know its own address leaves it out.
      const owner = { host: host || asked.host, port };
      for (let slot = first; slot <= last; slot++) owners[slot] = owner;
    }
    if (!owners.some(Boolean)) throw new Error('it has no slots: is this a Redis Cluster?');
    const known = describe(owners);
    if (known === this.#known) return;
    const first = this.#known === '';
    this.#known = known;
    this.#owners = owners;
    for (const name of this.#lost) if (!known.includes(name)) this.#lost.delete(name);
    if (first) return;
    this.#log.info({ masters: this.masters.map(nameOf) }, 'slots of the Redis cluster have moved');
    for (const listener of [...this.#onChange]) listener();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.refresh()
          .catch((thrown: unknown) => this.#log.debug({ reason: messageOf(thrown) }, 'Redis cluster is not known'))
          .finally(() => this.#schedule());
      },
      this.#lost.size > 0 ? LOST_LOOK_MS : LOOK_MS,
    );
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    void this.#forget();
  }
}

/** Ranges of slots with their owners, as text. */
function describe(owners: readonly (Address | undefined)[]): string {
  const ranges: string[] = [];
  let last: string | undefined;
  for (let slot = 0; slot < SLOTS; slot++) {
    const owner = owners[slot];
    const name = owner ? nameOf(owner) : '-';
    if (name !== last) ranges.push(`${slot} ${name}`);
    last = name;
  }
  return `${ranges.join('\n')}\n`;
}

/** That this connection is lost says nothing to an operator: those of the store do. */
function silent(log: Logger): Logger {
  return log.child({}, { level: 'silent' });
}
