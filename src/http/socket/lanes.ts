import { GatewayError } from '../../base/errors.ts';

/** Streams of one socket that have something to do at once. */
const MOST_LANES = 16;
/** Creates that wait for their turn on one stream. */
const MOST_WAITING = 16;

/** The streams of a socket: what comes on one is done in turn, streams go on beside each other. */
export class Lanes {
  /** What waits, by the stream's name, of every stream on which something is being done. */
  readonly #waiting = new Map<string | undefined, (() => Promise<void>)[]>();
  readonly #onIdle: () => void;

  /** `onIdle`: nothing is being done on any. */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  get idle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Does `work`, which throws nothing, in its turn. @throws GatewayError `response_in_progress`. */
  add(stream: string | undefined, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(stream);
    if (waiting) {
      if (waiting.length >= MOST_WAITING) throw busy(`${MOST_WAITING} more wait on this stream`);
      waiting.push(work);
      return;
    }
    if (this.#waiting.size >= MOST_LANES) throw busy(`${MOST_LANES} streams of this socket have one`);
    const works = [work];
    this.#waiting.set(stream, works);
    void this.#through(stream, works);
  }

  async #through(stream: string | undefined, works: (() => Promise<void>)[]): Promise<void> {
    for (let next = works.shift(); next; next = works.shift()) await next();
    this.#waiting.delete(stream);
    if (this.idle) this.#onIdle();
  }
}

function busy(why: string): GatewayError {
  return new GatewayError('response_in_progress', `A response is in progress, and ${why}. Wait for one to end.`);
}
