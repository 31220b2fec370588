import { GatewayError } from '../../base/errors.ts';

/** How many streams of one socket may be busy at once. */
const MAX_LANES = 16;
/** How many creates may wait for their turn on one stream. */
const MAX_WAITING = 16;

/** The streams of a socket. Each stream does one piece of work at a time; streams run concurrently. */
export class Lanes {
  /** The waiting work of every busy stream, by the stream's name. */
  readonly #waiting = new Map<string | undefined, (() => Promise<void>)[]>();
  readonly #onIdle: () => void;

  /** `onIdle`: called when no stream is busy any more. */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  get idle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Runs `work`, which must not throw, in its turn. @throws GatewayError `response_in_progress`. */
  add(stream: string | undefined, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(stream);
    if (waiting) {
      if (waiting.length >= MAX_WAITING) throw busy(`${MAX_WAITING} more wait on this stream`);
      waiting.push(work);
      return;
    }
    if (this.#waiting.size >= MAX_LANES) throw busy(`${MAX_LANES} streams of this socket have one`);
    const queue = [work];
    this.#waiting.set(stream, queue);
    void this.#runAll(stream, queue);
  }

  async #runAll(stream: string | undefined, queue: (() => Promise<void>)[]): Promise<void> {
    for (let next = queue.shift(); next; next = queue.shift()) await next();
    this.#waiting.delete(stream);
    if (this.idle) this.#onIdle();
  }
}

function busy(why: string): GatewayError {
  return new GatewayError('response_in_progress', `A response is in progress, and ${why}. Wait for one to end.`);
}
