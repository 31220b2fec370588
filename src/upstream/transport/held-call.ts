import { hadItsShare, nextTurn, toldIfSlow } from '../../base/load/event-loop.ts';
import { type AttemptFailure, brokenStream } from '../routing/attempt-failure.ts';
import { failureOfConnection, failureOfDeadline } from './connection-failure.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { Deadline, type DeadlineExceeded } from './deadline.ts';
import type { AnswerHead, Exchange, ExchangeListener, HeldRequest } from './exchange.ts';

/** Takes the body of an answer and makes the result of the call of it. */
export interface Receiver<T> {
  data(chunk: Buffer): void;
  /** The body ended in order. */
  end(): T;
  /** It did not. */
  broken(failure: AttemptFailure): T;
}

/** What a receiver can do to the call that it receives. */
export interface ReceiverControl<T> {
  /** The reader is slow: nothing is read from the provider, and the clock stands. */
  pause(): void;
  resume(): void;
  /** The first token is there: from now on the limit is the one between chunks; `ms` replaces it. */
  started(ms?: number): void;
  /** It is over before the provider's end of it: the connection is closed, or after `lingerMs` if it has not ended. */
  finish(result: T, options?: { lingerMs: number }): void;
  /** Runs once everything that came with this chunk is there, unless it is over by then. */
  soon(action: () => void): void;
}

/** Time limits of a call, in milliseconds. */
export interface CallLimits {
  first_byte: number;
  /** As `first_byte` where it is not given. */
  first_token?: number | undefined;
  idle: number;
  total?: number | undefined;
  /** Until the first token in all, where less than the two of its phases is given. */
  patience?: number | undefined;
}

/** Is told how long the first token was waited for, in milliseconds. */
export interface FirstTokenWatch {
  spoke(ms: number): void;
  left(ms: number, details: { present: boolean }): void;
}

export interface HeldCallOptions<T> {
  /** Chooses who takes the body, by status and headers. */
  receiver: (head: AnswerHead, control: ReceiverControl<T>) => Receiver<T>;
  /** The result where no answer came at all. */
  unanswered: (failure: AttemptFailure) => T;
  /** Called when the request goes out on a connection. */
  sent?: (() => void) | undefined;
  watch?: FirstTokenWatch | undefined;
  signal: AbortSignal;
}

/**
 * The one way in which a held request reaches a provider: sends it and follows its answer to the end, under the time
 * limits of the provider. Aborting the signal closes the connection at once and rejects with the signal's reason.
 */
export class HeldCall<T> implements ExchangeListener, ReceiverControl<T> {
  readonly #options: HeldCallOptions<T>;
  readonly #limits: CallLimits;
  readonly #over = Promise.withResolvers<T>();
  readonly #onLeft = () => this.cancel(this.#options.signal.reason);
  readonly #deadline: Deadline;
  #isOver = false;
  #sentAt = 0;
  /** Whether it is waited for the first token, and whether the provider has answered. */
  #waits: 'no' | 'for an answer' | 'for a token' = 'no';
  #exchange: Exchange | undefined;
  #receiver: Receiver<T> | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #isPaused = false;
  /** The rest is read in the next turn of the event loop. */
  #yields = false;

  constructor(options: HeldCallOptions<T>, limits: CallLimits) {
    this.#options = options;
    this.#limits = limits;
    this.#deadline = new Deadline((exceeded) => this.#exceeded(exceeded), {
      totalMs: limits.total,
      shortestMs: limits.idle,
    });
  }

  /** Sends the request. @throws the signal's reason, or what the receiver threw. */
  send(pool: ConnectionPool, request: HeldRequest): Promise<T> {
    const { signal } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener('abort', this.#onLeft);
    this.#sentAt = performance.now();
    this.#waits = 'for an answer';
    const { first_byte, patience = first_byte } = this.#limits;
    this.#deadline.enter('headers', Math.min(first_byte, patience));
    this.#exchange = pool.send(request, this);
    if (this.#isOver) this.#exchange.abort(OVER);
    return this.#over.promise;
  }

  /** Ends the call: the provider's connection closes at once. */
  cancel(reason: unknown): void {
    if (this.#isOver) return;
    this.#reject(reason);
    this.#exchange?.abort(reason instanceof Error ? reason : OVER);
  }

  sent(): void {
    this.#options.sent?.();
  }

  head(head: AnswerHead): void {
    if (this.#isOver) return;
    const { first_byte, first_token = first_byte, patience } = this.#limits;
    const left = patience === undefined ? first_token : patience - (performance.now() - this.#sentAt);
    this.#waits = head.status < 300 ? 'for a token' : 'no';
    this.#deadline.enter('first token', Math.min(first_token, Math.max(1, left)));
    this.#guarded(() => {
      this.#receiver = this.#options.receiver(head, this);
    });
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#deadline.touch('idle');
    this.#read(() => this.#receiver?.data(chunk));
  }

  end(): void {
    clearTimeout(this.#lingering);
    if (this.#isOver) return;
    this.#guarded(() => this.#settle(this.#receiver?.end() ?? this.#options.unanswered(brokenStream('no answer'))));
  }

  error(error: unknown): void {
    clearTimeout(this.#lingering);
    if (this.#isOver) return;
    this.#fail(failureOfConnection(error));
    // What was wrong may be the answer and not its connection.
    this.#exchange?.abort(OVER);
  }

  pause(): void {
    if (this.#isOver) return;
    this.#isPaused = true;
    this.#deadline.pause();
    this.#exchange?.pause();
  }

  resume(): void {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#deadline.resume();
    if (!this.#yields) this.#exchange?.resume();
  }

  started(ms = this.#limits.idle): void {
    if (this.#isOver) return;
    if (this.#waits !== 'no') this.#options.watch?.spoke(performance.now() - this.#sentAt);
    this.#waits = 'no';
    this.#deadline.enter('idle', ms);
  }

  finish(result: T, options?: { lingerMs: number }): void {
    if (this.#isOver) return;
    this.#settle(result);
    if (options) this.#lingering = setTimeout(() => this.#exchange?.abort(OVER), options.lingerMs);
    else this.#exchange?.abort(OVER);
  }

  soon(action: () => void): void {
    process.nextTick(() => {
      if (!this.#isOver) this.#read(action);
    });
  }

  /** A piece of the answer is read. Where this turn had enough of that, the provider is not heard until the next one. */
  #read(action: () => void): void {
    const began = performance.now();
    this.#guarded(action);
    const ms = performance.now() - began;
    toldIfSlow("reading a provider's answer", ms);
    if (this.#isOver || this.#yields || !hadItsShare(ms)) return;
    this.#yields = true;
    this.#exchange?.pause();
    void nextTurn().then(() => {
      this.#yields = false;
      if (!this.#isOver && !this.#isPaused) this.#exchange?.resume();
    });
  }

  #exceeded(exceeded: DeadlineExceeded): void {
    if (this.#isOver) return;
    const present = this.#waits === 'for a token';
    if (this.#waits !== 'no') this.#options.watch?.left(performance.now() - this.#sentAt, { present });
    this.#fail(failureOfDeadline(exceeded));
    this.#exchange?.abort(exceeded);
  }

  #fail(failure: AttemptFailure): void {
    this.#guarded(() => this.#settle(this.#receiver?.broken(failure) ?? this.#options.unanswered(failure)));
  }

  #settle(result: T): void {
    this.#close();
    this.#over.resolve(result);
  }

  #reject(reason: unknown): void {
    this.#close();
    this.#over.reject(reason);
  }

  #close(): void {
    this.#isOver = true;
    this.#deadline.stop();
    this.#options.signal.removeEventListener('abort', this.#onLeft);
  }

  /** Called from inside the HTTP client, which must not see what a receiver throws. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (this.#isOver) return;
      this.#reject(error);
      this.#exchange?.abort(OVER);
    }
  }
}

const OVER = new Error('the call is over');
