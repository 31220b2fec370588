import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../base/errors.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Logger } from '../../../base/logger.ts';
import { Listeners, LogListeners } from '../../listeners.ts';
import type { AppendBatch, LogHandlers, RunChange } from '../../run-store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import type { RedisKeys } from '../keys.ts';

interface ChannelParts {
  /** The connection for subscriptions, which this class closes. */
  redis: RedisConnection;
  /** The connection over which subscribers read logs. */
  commands: RedisConnection;
  keys: RedisKeys;
  log: Logger;
  /** Whether the channel of a run belongs to the slot of the run, as in a cluster. */
  sharded: boolean;
}

/** The subscription to one channel: `readers` want it, and one command at a time changes it. */
interface Channel {
  readers: number;
  subscribed: boolean;
  work: Promise<void>;
}

/** How often expired claims are looked for, in milliseconds. */
const SWEEP_MS = 1000;

/**
 * Live batches and changes, over a connection of their own. Batches that this instance appends are delivered directly;
 * those of other instances arrive as messages `<instance> <first> <last> <end>\n<frames>`. The channel of a run that
 * this instance holds is not subscribed to: nobody else appends, and it would only receive its own messages. Whatever
 * may have been missed is reported as a gap.
 */
export class Channels {
  readonly #parts: ChannelParts;
  readonly #instance = randomBytes(6).toString('base64url');
  readonly #subscribers = new LogListeners();
  readonly #changes = new Listeners<RunChange>();
  readonly #channels = new Map<RunId, Channel>();
  /** When the claims of this instance end, by run, in terms of `performance.now()`. */
  readonly #heldUntil = new Map<RunId, number>();
  #sweepTimer: NodeJS.Timeout | undefined;

  private constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  /** Opens the channels and subscribes to changes. */
  static async open(parts: ChannelParts) {
    const { redis, keys } = parts;
    const channels = new Channels(parts);
    redis.onReady(() => channels.#onReconnect());
    // Subscribers that could not read yet when they got a gap get another one.
    parts.commands.onReady(() => channels.#subscribers.emitGapToAll());
    await redis.subscribe(keys.changes, (message) => channels.#onChange(message.toString()), { sharded: false });
    return channels;
  }

  /** Resolves once Redis has confirmed the subscription: every later append reaches this instance. */
  async subscribe(id: RunId, handlers: LogHandlers): Promise<Disposable> {
    const listener = this.#subscribers.add(id, handlers);
    const unused = () => ({ readers: 0, subscribed: false, work: Promise.resolve() });
    const channel = this.#channels.getOrInsertComputed(id, unused);
    channel.readers++;
    let isDisposed = false;
    const dispose = () => {
      if (isDisposed) return;
      isDisposed = true;
      listener[Symbol.dispose]();
      channel.readers--;
      this.#unsubscribeIfUnneeded(id, channel);
    };
    try {
      await this.#adjust(id, channel);
    } catch (thrown) {
      dispose();
      throw thrown;
    }
    return { [Symbol.dispose]: dispose };
  }

  /** This instance has acquired or extended the claim of the run, for `leaseMs` from now. */
  markHeld(id: RunId, leaseMs: number): void {
    this.#heldUntil.set(id, performance.now() + leaseMs);
    this.#sweepTimer ??= setInterval(() => this.#dropExpired(), SWEEP_MS).unref();
    const channel = this.#channels.get(id);
    if (channel?.subscribed) this.#unsubscribeIfUnneeded(id, channel);
  }

  /** This instance no longer has the claim of the run, so others may append. */
  markReleased(id: RunId): void {
    const channel = this.#heldUntil.delete(id) && this.#channels.get(id);
    if (channel) this.#resubscribe(id, channel);
  }

  /** Subscribes, and makes readers read what they may have missed. If it fails, the next reconnect tries again. */
  #resubscribe(id: RunId, channel: Channel): void {
    this.#adjust(id, channel).then(
      () => this.#subscribers.emitGap(id),
      (thrown: unknown) => this.#parts.log.debug({ run: id, reason: messageOf(thrown) }, 'subscribing failed'),
    );
  }

  #dropExpired(): void {
    const now = performance.now();
    for (const [id, until] of this.#heldUntil) if (until < now) this.markReleased(id);
    if (this.#heldUntil.size > 0) return;
    clearInterval(this.#sweepTimer);
    this.#sweepTimer = undefined;
  }

  /** Subscribes or unsubscribes, after the command in progress, as the readers want it by then. */
  #adjust(id: RunId, channel: Channel): Promise<void> {
    const work = channel.work.then(async () => {
      const { redis, keys, sharded } = this.#parts;
      const name = keys.live(id);
      if (channel.readers > 0 && !channel.subscribed && !this.#heldUntil.has(id)) {
        await redis.subscribe(name, (message) => this.#onMessage(id, message), { sharded });
        channel.subscribed = true;
      } else if ((channel.readers === 0 || this.#heldUntil.has(id)) && channel.subscribed) {
        await redis.unsubscribe(name, { sharded });
        channel.subscribed = false;
      }
      // Work that was waiting behind the end of this channel may find the next one.
      const isUnused = channel.readers === 0 && !channel.subscribed;
      if (isUnused && this.#channels.get(id) === channel) this.#channels.delete(id);
    });
    channel.work = work.catch(() => {});
    return work;
  }

  /** Unsubscribes in the background if nobody needs messages any more. If it fails, the next reconnect tries again. */
  #unsubscribeIfUnneeded(id: RunId, channel: Channel): void {
    this.#adjust(id, channel).catch((thrown: unknown) => {
      this.#parts.log.debug({ run: id, reason: messageOf(thrown) }, 'unsubscribing failed');
    });
  }

  #onReconnect(): void {
    this.#subscribers.emitGapToAll();
    for (const [id, channel] of this.#channels) {
      if (channel.readers === 0) this.#unsubscribeIfUnneeded(id, channel);
      else if (!channel.subscribed && !this.#heldUntil.has(id)) this.#resubscribe(id, channel);
    }
  }

  /** The header of the message that carries a batch of this instance. */
  header(batch: AppendBatch): string {
    const last = batch.first + batch.count - 1;
    return `${this.#instance} ${batch.first} ${last} ${batch.end ? 1 : 0}\n`;
  }

  /** The message that makes readers on all instances read again. */
  get gapMessage(): string {
    return '- gap\n';
  }

  /** Delivers a batch of this instance to its own readers. */
  deliver(id: RunId, batch: AppendBatch): void {
    if (batch.end) this.#heldUntil.delete(id);
    this.#subscribers.emitAppended(id, batch);
  }

  /** Makes the readers of this instance read again. */
  emitGap(id: RunId): void {
    this.#subscribers.emitGap(id);
  }

  onChange(listener: (change: RunChange) => void): Disposable {
    return this.#changes.add(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await this.#parts.redis.close();
  }

  #onMessage(id: RunId, message: Buffer): void {
    const headerEnd = message.indexOf('\n');
    const [instance, first, last, end] = message.toString('latin1', 0, headerEnd).split(' ');
    if (instance === this.#instance) return;
    if (last === undefined) {
      this.#subscribers.emitGap(id);
      return;
    }
    const frames = message.subarray(headerEnd + 1);
    this.#subscribers.emitBatch(id, { first: Number(first), last: Number(last), frames, end: end === '1' });
  }

  #onChange(message: string): void {
    const [type, id] = message.split(' ');
    if ((type === 'cancel' || type === 'claimable') && id !== undefined) this.#changes.emit({ type, id });
  }
}
