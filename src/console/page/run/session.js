import { ApiError } from '../client.js';
import { RunState } from './fold.js';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
/**
 * A stream that is silent for longer is dead, whatever the network says: heartbeats come every 15 s by default. Where
 * they come more rarely, each silence makes the next one twice as long.
 */
const SILENCE_MS = 50_000;
const MAX_SILENCE_MS = 600_000;
/** How long it is shown that the connection is back, in milliseconds. */
const BACK_MS = 10_000;

/**
 * One run as the page follows it: its events, the state they add up to, and the connection. It reconnects by itself
 * and goes on after the last event that it saw.
 */
export class RunSession {
  events = [];
  state = new RunState();
  /** `connecting`, `live`, `lost`, `ended`, `gone` or `refused`. */
  connection = 'connecting';
  /** When the next attempt to reconnect begins, in Unix milliseconds. */
  retryAt = 0;
  error = null;
  /** Whether the connection was lost since it was last fine; shown for a moment when it is back. */
  resumed = false;
  #client;
  #listeners = new Set();
  #drawing = 0;
  #back = 0;
  #silenceMs = SILENCE_MS;
  #stopped = new AbortController();
  #wake = () => {};
  #replay = { state: new RunState(), at: 0 };

  constructor({ client, id }) {
    this.#client = client;
    this.id = id;
  }

  /**
   * Calls `listener` after each change; gives what stops it. The connection is open while somebody listens: browsers
   * have few for one address, and a run goes on without any.
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
    clearTimeout(this.#back);
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
    // Views compare what they were given with what they had: another object each time.
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
        this.#set(problem.status === 404 ? 'gone' : 'refused');
        return;
      }
      failures = this.state.last > before ? 0 : failures + 1;
      const pause = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
      this.retryAt = Date.now() + pause;
      this.resumed = true;
      this.#set('lost');
      await this.#pause(pause, signal);
    }
    if (signal.aborted) return;
    this.resumed = false;
    this.#set('ended');
  }

  /** Reads until the connection ends; gives what ended it, if it was a failure. */
  async #readOnce(signal) {
    const silence = new AbortController();
    let watch;
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(() => {
        this.#silenceMs = Math.min(MAX_SILENCE_MS, this.#silenceMs * 2);
        silence.abort(new Error('The connection is silent.'));
      }, this.#silenceMs);
    };
    heard();
    try {
      const onOpen = () => {
        this.#set('live');
        clearTimeout(this.#back);
        this.#back = setTimeout(() => {
          this.resumed = this.connection === 'lost';
          this.#draw();
        }, BACK_MS);
      };
      const either = AbortSignal.any([signal, silence.signal]);
      const options = { after: this.state.last, signal: either, onBytes: heard, onOpen };
      for await (const events of this.#client.stream(this.id, options)) this.#take(events);
      return undefined;
    } catch (thrown) {
      return thrown;
    } finally {
      clearTimeout(watch);
    }
  }

  #take(events) {
    for (const event of events) {
      // A repeat after a reconnection, though the gateway sends none.
      if (event.sequence_number <= this.state.last) continue;
      this.events.push(event);
      this.state.apply(event);
    }
    this.#draw();
  }

  #set(connection) {
    this.connection = connection;
    this.#draw();
  }

  /** Views are drawn once a frame at most, however many events arrive. */
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
