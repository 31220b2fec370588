import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../base/errors.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Logger } from '../../../base/logger.ts';
import { Listeners, LogListeners } from '../../listeners.ts';
import type { Append, LogHandlers, RunChange } from '../../run-store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import type { Keys } from '../keys.ts';

interface ChannelParts {
  /** Taken over; it does nothing else. */
  redis: RedisConnection;
  /** The connection that readers read over. */
  commands: RedisConnection;
  keys: Keys;
  log: Logger;
  /** The channels of runs belong to the slots of their runs, as in a cluster. */
  sharded: boolean;
}

/** One channel's subscription: wanted by `readers`, changed by one command at a time. */
interface Channel {
  readers: number;
  subscribed: boolean;
  work: Promise<void>;
}

/** How often claims that ran out are looked for, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Live news over a connection of its own. Batches that this instance appends come from the append itself, at once;
 * those of other instances as messages `<instance> <first> <last> <end>\n<frames>`. The channel of a run that this
 * instance holds is not subscribed to: nobody else appends, and its own messages would be read for nothing. Whatever
 * may have been missed is a gap.
 */
export class Channels {
  readonly #parts: ChannelParts;
  readonly #instance = randomBytes(6).toString('base64url');
  readonly #readers = new LogListeners();
  readonly #changes = new Listeners<RunChange>();
  readonly #channels = new Map<RunId, Channel>();
  /** Runs that this instance holds, with the time until which it does, by `performance.now()`. */
  readonly #held = new Map<RunId, number>();
  #look: NodeJS.Timeout | undefined;

  private constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  /** Listens to changes from the start. */
  static async open(parts: ChannelParts) {
    const { redis, keys } = parts;
    const channels = new Channels(parts);
    redis.onReady(() => channels.#onReconnect());
    // A reader that heard of it before it could read hears of it again.
    parts.commands.onReady(() => channels.#readers.gapEverywhere());
    await redis.subscribe(keys.changes, (message) => channels.#onChange(message.toString()), { sharded: false });
    return channels;
  }

  /** Resolves once Redis has confirmed: what is appended later arrives here. */
  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    const listener = this.#readers.add(id, handlers);
    const channel = this.#channels.get(id) ?? { readers: 0, subscribed: false, work: Promise.resolve() };
    this.#channels.set(id, channel);
    channel.readers++;
    let left = false;
    const leave = () => {
      if (left) return;
      left = true;
      listener[Symbol.dispose]();
      channel.readers--;
      this.#tidy(id, channel);
    };
    try {
      await this.#adjust(id, channel);
    } catch (thrown) {
      leave();
      throw thrown;
    }
    return { [Symbol.dispose]: leave };
  }

  /** This instance has the run's claim, for `leaseMs` from now on. */
  holds(id: RunId, leaseMs: number): void {
    this.#held.set(id, performance.now() + leaseMs);
    this.#look ??= setInterval(() => this.#dropExpired(), LOOK_MS).unref();
    const channel = this.#channels.get(id);
    if (channel?.subscribed) this.#tidy(id, channel);
  }

  /** This instance no longer has the run's claim: others may append. */
  letsGo(id: RunId): void {
    const channel = this.#held.delete(id) && this.#channels.get(id);
    if (channel) this.#listenAgain(id, channel);
  }

  /** Subscribes, and has its readers read what they may have missed. After a failure the next reconnect tries again. */
  #listenAgain(id: RunId, channel: Channel): void {
    this.#adjust(id, channel).then(
      () => this.#readers.gap(id),
      (thrown: unknown) => this.#parts.log.debug({ run: id, reason: messageOf(thrown) }, 'subscribing failed'),
    );
  }

  #dropExpired(): void {
    const now = performance.now();
    for (const [id, until] of this.#held) if (until < now) this.letsGo(id);
    if (this.#held.size > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }

  /** Subscribes or unsubscribes as the readers want it by then, after what is under way. */
  #adjust(id: RunId, channel: Channel): Promise<void> {
    const work = channel.work.then(async () => {
      const { redis, keys, sharded } = this.#parts;
      const name = keys.live(id);
      if (channel.readers > 0 && !channel.subscribed && !this.#held.has(id)) {
        await redis.subscribe(name, (message) => this.#onMessage(id, message), { sharded });
        channel.subscribed = true;
      } else if ((channel.readers === 0 || this.#held.has(id)) && channel.subscribed) {
        await redis.unsubscribe(name, { sharded });
        channel.subscribed = false;
      }
      if (channel.readers === 0 && !channel.subscribed) this.#channels.delete(id);
    });
    channel.work = work.catch(() => {});
    return work;
  }

  /**
   * Unsubscribes where nobody needs messages any more. Nobody waits for it; after a failure the next reconnect tries
   * again.
   */
  #tidy(id: RunId, channel: Channel): void {
    this.#adjust(id, channel).catch((thrown: unknown) => {
      this.#parts.log.debug({ run: id, reason: messageOf(thrown) }, 'unsubscribing failed');
    });
  }

  #onReconnect(): void {
    this.#readers.gapEverywhere();
    for (const [id, channel] of this.#channels) {
      if (channel.readers === 0) this.#tidy(id, channel);
      else if (!channel.subscribed && !this.#held.has(id)) this.#listenAgain(id, channel);
    }
  }

  /** What stands before the frames of this instance's batch. */
  header(batch: Append): string {
    const last = batch.first + batch.count - 1;
    return `${this.#instance} ${batch.first} ${last} ${batch.end ? 1 : 0}\n`;
  }

  /** The message that makes readers everywhere read again. */
  get notice(): string {
    return '- gap\n';
  }

  /** Delivers a batch of this instance. */
  deliver(id: RunId, batch: Append): void {
    if (batch.end) this.#held.delete(id);
    this.#readers.appended(id, batch);
  }

  /** Tells this instance's readers to read again. */
  gap(id: RunId): void {
    this.#readers.gap(id);
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#changes.add(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#look);
    await this.#parts.redis.close();
  }

  #onMessage(id: RunId, message: Buffer): void {
    const headerEnd = message.indexOf('\n');
    const [instance, first, last, end] = message.toString('latin1', 0, headerEnd).split(' ');
    if (instance === this.#instance) return;
    if (last === undefined) {
      this.#readers.gap(id);
      return;
    }
    const frames = message.subarray(headerEnd + 1);
    this.#readers.batch(id, { first: Number(first), last: Number(last), frames, end: end === '1' });
  }

  #onChange(message: string): void {
    const [type, id] = message.split(' ');
    if ((type === 'cancel' || type === 'claimable') && id !== undefined) this.#changes.tell({ type, id });
  }
}
