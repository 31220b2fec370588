import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type Address, nameOf } from './target.ts';

/** Finds the server to talk to, by now: the master that the sentinels name, or the owner of a slot. */
export type Locate = () => Promise<Address>;

/** What this needs of a client. */
interface MovableClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
}

export interface MovingClientOptions<Client extends MovableClient> {
  address: Address;
  /** Absent: the server is always at its address. */
  locate: Locate | undefined;
  /** A client for an address, not connected yet. `lost` is to be called whenever it has to connect again. */
  make(address: Address, lost: () => void): Client;
  /** Told of another client in the place of the last one, once it is connected; then the last one is dropped. */
  moved(client: Client): Promise<void>;
  log: Logger;
}

const MOVE_LIMIT_MS = 3000;

/**
 * A client that is where its server is: it connects again by itself, and where the server turns out to be another one
 * by then, a new client takes its place.
 */
export class MovingClient<Client extends MovableClient> {
  readonly #options: MovingClientOptions<Client>;
  #current: Client;
  #address: Address;
  #moving: Promise<void> | undefined;
  #closed = false;

  constructor(options: MovingClientOptions<Client>) {
    this.#options = options;
    this.#address = options.address;
    this.#current = this.#make(options.address);
  }

  #make(address: Address): Client {
    return this.#options.make(address, () => this.relocate());
  }

  get current(): Client {
    return this.#current;
  }

  get address(): Address {
    return this.#address;
  }

  /** Drops the connection and makes it anew, wherever the server is by then. What was under way fails. */
  restart(lost: (thrown: unknown) => void): void {
    if (this.#closed || !this.#current.isReady) return;
    this.#current.destroy();
    this.#current.connect().catch(lost);
    this.relocate();
  }

  /** Looks whether the server is another one by now. */
  relocate(): void {
    const { locate, log } = this.#options;
    if (!locate || this.#moving || this.#closed) return;
    this.#moving = this.#move(locate)
      .catch((thrown: unknown) => log.debug({ reason: messageOf(thrown) }, 'Redis is not found elsewhere'))
      .finally(() => {
        this.#moving = undefined;
      });
  }

  async #move(locate: Locate): Promise<void> {
    const address = await locate();
    if (nameOf(address) === nameOf(this.#address) || this.#closed) return;
    const next = this.#make(address);
    try {
      await withTimeout('connecting', MOVE_LIMIT_MS, () => next.connect());
      if (this.#closed) throw new Error('it is closed');
      const last = this.#current;
      this.#current = next;
      this.#address = address;
      this.#options.log.info({ address: nameOf(address) }, 'Redis is at another address now');
      await this.#options.moved(next);
      if (last.isOpen) last.destroy();
    } catch (thrown) {
      if (this.#current !== next && next.isOpen) next.destroy();
      throw thrown;
    }
  }

  /** Nothing moves any more; the current client is the caller's to end. */
  close(): void {
    this.#closed = true;
  }
}
