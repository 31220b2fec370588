import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Permit } from '../../base/fair-semaphore.ts';
import { exceedsTurnShare, reportIfSlow, yieldToEventLoop } from '../../base/load/event-loop.ts';
import { type AttemptFailure, brokenStream } from '../routing/attempt-failure.ts';
import type { FirstTokenTimes } from '../routing/first-token-times.ts';
import { decoderOf } from './answer-decoder.ts';
import { failureOfConnection, failureOfDeadline } from './connection-failure.ts';
import type { BufferedRequest, ConnectionPool } from './connection-pool.ts';
import { Deadline } from './deadline.ts';
import { singleValued } from './single-valued.ts';

/** Status and headers of a provider's answer. */
export interface AnswerHead {
  status: number;
  /** Names in lower case, each with one value: see `singleValued`. */
  headers: Readonly<Record<string, string | undefined>>;
}

/** An answer whose body is in memory. */
export interface BufferedAnswer extends AnswerHead {
  body: Buffer;
}

/** How long to wait for an announced end of a body, in milliseconds. */
const ANNOUNCED_END_MS = 250;

const BOM = Buffer.from('\uFEFF');

/** JSON without the byte order mark that some servers prepend, and that most readers refuse. */
export function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === BOM[0] && BOM.equals(body.subarray(0, BOM.length)) ? body.subarray(BOM.length) : body;
}

/** Takes the body of an answer and turns it into the result of the call. */
export interface Receiver<T> {
  /** `data` only collects chunks, which are processed through `soon`. */
  readonly gathers?: boolean;
  data(chunk: Buffer): void;
  /** The body is complete. */
  end(): T;
  /** The body broke off. */
  broken(failure: AttemptFailure): T;
}

/** How a receiver controls its call. */
export interface ReceiverControl<T> {
  /** The reader is slow: stops reading from the provider, and the clock of the phase. */
  pause(): void;
  resume(): void;
  /** The first token has come: from now on only the time between chunks is limited, to `ms` where given. */
  started(ms?: number): void;
  /**
   * Ends the call before the provider does, and closes the connection. `endsSoon`: the provider has announced the end of the
   * body, and gets a moment for it, so that the connection can be reused.
   */
  finish(result: T, options?: { endsSoon: boolean }): void;
  /** Runs once everything that arrived with this chunk is there, unless the call is over by then. */
  soon(action: () => void): void;
}

/** Time limits of a call, in milliseconds. */
export interface CallLimits {
  first_byte: number;
  /** As `first_byte` where absent. */
  first_token?: number | undefined;
  idle: number;
  total?: number | undefined;
  /** The total time until the first token, where that is less than the limits of its two phases. */
  patience?: number | undefined;
}

export interface ProviderCallOptions<T> {
  /** Chooses the receiver of the body by status and headers. */
  receiver: (head: AnswerHead, control: ReceiverControl<T>) => Receiver<T>;
  /** Makes the result where no answer came. */
  unanswered: (failure: AttemptFailure) => T;
  /** Called when the provider is asked: until then, the call waits for one of our own connections. */
  onAsked?: (() => void) | undefined;
  /** Called when the request is sent on a connection. */
  onSent?: (() => void) | undefined;
  firstTokens?: FirstTokenTimes | undefined;
  signal: AbortSignal;
}

type Connection = Pick<Dispatcher.DispatchController, 'pause' | 'resume' | 'abort'>;

/**
 * One call to a provider with a buffered request: sends it and feeds the decoded answer to a receiver, under the time limits
 * of the provider. Aborting the signal closes the connection at once and rejects with the signal's reason.
 */
export class ProviderCall<T> implements Dispatcher.DispatchHandler, ReceiverControl<T> {
  readonly #options: ProviderCallOptions<T>;
  readonly #limits: CallLimits;
  readonly #outcome = Promise.withResolvers<T>();
  readonly #onAbort = () => this.#cancel(this.#options.signal.reason);
  readonly #deadline: Deadline;
  #isOver = false;
  #sentAt = 0;
  /** What the call waits for from the provider until its first token. */
  #waitingFor: 'nothing' | 'answer' | 'token' = 'nothing';
  #wait: AbortController | undefined;
  #place: Permit | undefined;
  #connection: Connection | undefined;
  #decoder: Duplex | undefined;
  #receiver: Receiver<T> | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #isPaused = false;
  #hasBody = false;
  /** The answer has an error status, and one limit for its whole body. */
  #isError = false;
  /** Reading continues in the next turn of the event loop. */
  #isYielding = false;

  constructor(options: ProviderCallOptions<T>, limits: CallLimits) {
    this.#options = options;
    this.#limits = limits;
    this.#deadline = new Deadline((phase, ms) => this.#exceeded(failureOfDeadline(phase, ms)), {
      totalMs: limits.total,
    });
  }

  /** Sends the request. @throws the signal's reason, or what the receiver threw. */
  send(pool: ConnectionPool, request: BufferedRequest): Promise<T> {
    const { signal } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener('abort', this.#onAbort);
    this.#wait = pool.enter((place) => this.#begin(pool, request, place));
    if (this.#wait) this.#deadline.enter('connection', this.#limitOfAnswer);
    return this.#outcome.promise;
  }

  get #limitOfAnswer(): number {
    return Math.min(this.#limits.first_byte, this.#limits.patience ?? Number.POSITIVE_INFINITY);
  }

  /** The call may be over by the time its turn comes. */
  #begin(pool: ConnectionPool, request: BufferedRequest, place: Permit): void {
    if (this.#isOver) return void place[Symbol.dispose]();
    this.#place = place;
    this.#sentAt = performance.now();
    this.#waitingFor = 'answer';
    this.#deadline.enter('headers', this.#limitOfAnswer);
    this.#options.onAsked?.();
    try {
      pool.dispatch(request, this);
    } catch (error) {
      this.#failed(failureOfConnection(error));
    }
  }

  /** A queued request may be over by the time it gets a connection. */
  onRequestStart(connection: Connection): void {
    this.#connection = connection;
    if (this.#isOver) connection.abort(CALL_OVER);
    else this.#options.onSent?.();
  }

  onResponseStart(connection: Connection, status: number, received: IncomingHttpHeaders): void {
    if (this.#isOver || status < 200) return;
    const headers = singleValued(received);
    const { first_byte, first_token = first_byte, idle, patience } = this.#limits;
    this.#isError = status >= 300;
    this.#waitingFor = this.#isError ? 'nothing' : 'token';
    const limit = this.#isError ? idle : first_token;
    const remaining = patience === undefined ? limit : Math.round(patience - (performance.now() - this.#sentAt));
    this.#deadline.enter(this.#isError ? 'error' : 'first token', Math.min(limit, Math.max(1, remaining)));
    try {
      this.#decoder = this.#decoderOf(headers, connection);
    } catch (error) {
      this.#failed(failureOfConnection(error));
      return;
    }
    this.#runGuarded(() => {
      this.#receiver = this.#options.receiver({ status, headers }, this);
    });
  }

  #decoderOf(headers: AnswerHead['headers'], connection: Connection): Duplex | undefined {
    return decoderOf(headers)
      ?.on('data', (chunk: Buffer) => this.#data(chunk))
      .once('end', () => this.#end())
      .on('drain', () => this.#isPaused || connection.resume())
      .on('error', () => this.#failed(brokenStream('the compression of the answer is broken')));
  }

  /** Whenever a reader goes on in the middle of a body, undici calls this with an empty chunk first. */
  onResponseData(connection: Connection, chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    this.#hasBody = true;
    if (!this.#decoder) this.#data(chunk);
    else if (!this.#decoder.write(chunk)) connection.pause();
  }

  onResponseEnd(): void {
    clearTimeout(this.#lingering);
    // An empty body has nothing to decode.
    if (this.#decoder && this.#hasBody) this.#decoder.end();
    else this.#end();
  }

  onResponseError(_connection: unknown, error: unknown): void {
    clearTimeout(this.#lingering);
    this.#failed(failureOfConnection(error));
  }

  #data(chunk: Buffer): void {
    if (this.#isOver) return;
    const receiver = this.#receiver;
    if (receiver?.gathers) {
      receiver.data(chunk);
      return;
    }
    this.#deadline.touch();
    this.#read(() => receiver?.data(chunk));
  }

  /** The body is complete. Judging many answers at once would block the event loop, so each waits for its share. */
  #end(): void {
    if (this.#isOver) return;
    if (exceedsTurnShare(0)) {
      this.#deadline.pause();
      void yieldToEventLoop().then(() => this.#end());
      return;
    }
    const began = performance.now();
    this.#runGuarded(() => this.#settle(this.#receiver?.end() ?? this.#options.unanswered(brokenStream('no answer'))));
    const ms = performance.now() - began;
    reportIfSlow("judging a provider's answer", ms);
    exceedsTurnShare(ms);
  }

  pause(): void {
    if (this.#isOver) return;
    this.#isPaused = true;
    this.#deadline.pause();
    this.#pauseSource();
  }

  resume(): void {
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#deadline.resume();
    if (!this.#isYielding) this.#resumeSource();
  }

  started(ms = this.#limits.idle): void {
    if (this.#isOver || this.#isError) return;
    if (this.#waitingFor !== 'nothing') this.#options.firstTokens?.record(performance.now() - this.#sentAt);
    this.#waitingFor = 'nothing';
    this.#deadline.enter('idle', ms);
  }

  finish(result: T, { endsSoon } = { endsSoon: false }): void {
    if (this.#isOver) return;
    this.#settle(result);
    if (endsSoon) this.#lingering = setTimeout(() => this.#abort(), ANNOUNCED_END_MS);
    else this.#abort();
  }

  soon(action: () => void): void {
    process.nextTick(() => {
      if (this.#isOver) return;
      this.#deadline.touch();
      this.#read(action);
    });
  }

  /** Processes a piece of the answer. When its share of this turn of the event loop is used up, reading pauses. */
  #read(action: () => void): void {
    const began = performance.now();
    this.#runGuarded(action);
    const ms = performance.now() - began;
    reportIfSlow("reading a provider's answer", ms);
    if (this.#isOver || this.#isYielding || !exceedsTurnShare(ms)) return;
    this.#isYielding = true;
    this.#pauseSource();
    void yieldToEventLoop().then(() => {
      this.#isYielding = false;
      if (!this.#isOver && !this.#isPaused) this.#resumeSource();
    });
  }

  #exceeded(failure: AttemptFailure): void {
    if (this.#isOver) return;
    const hadAnswered = this.#waitingFor === 'token';
    if (this.#waitingFor !== 'nothing')
      this.#options.firstTokens?.gaveUp(performance.now() - this.#sentAt, { hadAnswered });
    this.#failed(failure);
  }

  #failed(failure: AttemptFailure): void {
    if (this.#isOver) return;
    this.#runGuarded(() => this.#settle(this.#receiver?.broken(failure) ?? this.#options.unanswered(failure)));
    this.#abort();
  }

  #pauseSource(): void {
    this.#decoder?.pause();
    this.#connection?.pause();
  }

  #resumeSource(): void {
    this.#decoder?.resume();
    if (!this.#decoder?.writableNeedDrain) this.#connection?.resume();
  }

  #abort(reason = CALL_OVER): void {
    this.#decoder?.destroy();
    this.#connection?.abort(reason);
  }

  #settle(result: T): void {
    this.#close();
    this.#outcome.resolve(result);
  }

  /** Ends the call and closes the provider's connection at once. */
  #cancel(reason: unknown): void {
    if (this.#isOver) return;
    this.#close();
    this.#outcome.reject(reason);
    this.#abort(reason instanceof Error ? reason : CALL_OVER);
  }

  #close(): void {
    this.#isOver = true;
    this.#deadline.stop();
    this.#wait?.abort();
    this.#place?.[Symbol.dispose]();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }

  /** Runs inside the HTTP client, which must not see what a receiver throws. */
  #runGuarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#cancel(error);
    }
  }
}

const CALL_OVER = new Error('the call is over');
