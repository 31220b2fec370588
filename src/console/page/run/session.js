import { ApiError } from '../client.js';
import { RunState } from './fold.js';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
/**
 * A stream that is silent for longer counts as dead: heartbeats come every 15 s by default. If they come less often, each
 * silence doubles the limit of the next.
 */
const SILENCE_MS = 50_000;
const MAX_SILENCE_MS = 600_000;
/** How long a new connection is announced, in milliseconds. */
const RECONNECTED_MS = 10_000;

/**
 * Follows one run: its events, the state that they add up to, and the connection. It reconnects by itself and continues
 * after the last event that it has.
 */
export class RunSession {
  events = [];
  state = new RunState();
  /** `connecting`, `live`, `lost`, `ended`, `gone` or `refused`. */
  connection = 'connecting';
  /** When the next attempt to reconnect starts, in Unix milliseconds. */
  retryAt = 0;
  error = null;
  /** Whether the connection was lost; stays true for a moment when it is back, so that the page can say so. */
  resumed = false;
  #client;
  #listeners = new Set();
  #drawing = 0;
  #bannerTimer = 0;
  #silenceMs = SILENCE_MS;
  #stopped = new AbortController();
  #wake = () => {};
  #replay = { state: new RunState(), at: 0 };

  constructor({ client, id }) {
    this.#client = client;
    this.id = id;
  }

  /**
   * Calls `listener` after each change. Returns a function that unsubscribes it. The connection is open only while there are
   * listeners, because browsers allow few per host, and a run continues without any.
   */
  listen(listener) {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  retryNow = () => this.#wake();

  stop() {
    this.#stopped.abort(new DOMException('The page left the run.', 'AbortError'));
    removeEventListener('online', this.retryNow);
    clearTimeout(this.#bannerTimer);
    cancelAnimationFrame(this.#drawing);
    this.#drawing = 0;
  }

  #begin() {
    if (this.state.ended || this.connection === 'gone') return;
    this.#stopped = new AbortController();
    addEventListener('online', this.retryNow);
    void this.#follow(this.#stopped.signal);
  }

  /** The state after the event with this number. */
  stateAt(position) {
    if (position >= this.state.last) return this.state;
    if (this.#replay.state.last > position) this.#replay = { state: new RunState(), at: 0 };
    const replay = this.#replay;
    while (replay.at < this.events.length && this.events[replay.at].sequence_number <= position) {
      replay.state.apply(this.events[replay.at]);
      replay.at += 1;
    }
    // A new object each time, because views compare it with the last one.
    return Object.assign(Object.create(RunState.prototype), replay.state);
  }

  async #follow(signal) {
    let failures = 0;
    while (!signal.aborted && !this.state.ended) {
      const before = this.state.last;
      const problem = await this.#readOnce(signal);
      if (signal.aborted) return;
      if (this.state.ended) break;
      if (problem instanceof ApiError && problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
        this.error = problem;
        this.#setConnection(problem.status === 404 ? 'gone' : 'refused');
        return;
      }
      failures = this.state.last > before ? 0 : failures + 1;
      const pause = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
      this.retryAt = Date.now() + pause;
      this.resumed = true;
      this.#setConnection('lost');
      await this.#pause(pause, signal);
    }
    if (signal.aborted) return;
    this.resumed = false;
    this.#setConnection('ended');
  }

  /** Reads until the connection ends. Returns the error if one ended it. */
  async #readOnce(signal) {
    const silence = new AbortController();
    let timer;
    const resetTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.#silenceMs = Math.min(MAX_SILENCE_MS, this.#silenceMs * 2);
        silence.abort(new Error('The connection is silent.'));
      }, this.#silenceMs);
    };
    resetTimer();
    try {
      const onOpen = () => {
        this.#setConnection('live');
        clearTimeout(this.#bannerTimer);
        this.#bannerTimer = setTimeout(() => {
          this.resumed = this.connection === 'lost';
          this.#draw();
        }, RECONNECTED_MS);
      };
      const either = AbortSignal.any([signal, silence.signal]);
      const options = { after: this.state.last, signal: either, onBytes: resetTimer, onOpen };
      for await (const events of this.#client.stream(this.id, options)) this.#append(events);
      return undefined;
    } catch (thrown) {
      return thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  #append(events) {
    for (const event of events) {
      // Skips repeats after a reconnection, although the gateway sends none.
      if (event.sequence_number <= this.state.last) continue;
      this.events.push(event);
      this.state.apply(event);
    }
    this.#draw();
  }

  #setConnection(connection) {
    this.connection = connection;
    this.#draw();
  }

  /** Draws views at most once a frame, however many events arrive. */
  #draw() {
    if (this.#drawing !== 0) return;
    const draw = () => {
      this.#drawing = 0;
      for (const listener of [...this.#listeners]) listener();
    };
    this.#drawing = document.hidden ? setTimeout(draw, 250) : requestAnimationFrame(draw);
  }

  #pause(ms, signal) {
    const { promise, resolve } = Promise.withResolvers();
    const timer = setTimeout(resolve, ms);
    this.#wake = resolve;
    signal.addEventListener('abort', resolve, { once: true });
    return promise.finally(() => clearTimeout(timer));
  }
}
