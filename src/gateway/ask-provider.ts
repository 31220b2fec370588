import { AttemptFailure, brokenStream } from '../upstream/attempt-failure.ts';
import { failureOfConnection } from '../upstream/exchange.ts';
import { PhaseTimer } from '../upstream/phase-timer.ts';
import type { Answer, AnswerHead, Engine, Exchange, ExchangeListener } from './exchange.ts';
import type { OutgoingRequest } from './outgoing-request.ts';

/** What became of asking one provider. */
export type Asked =
  /** The answer is whole in memory; nothing of it went to the client. */
  | { is: 'answered'; answer: Answer; tokens: number | null }
  /** It went to the client to its end, or, with `failure`, broke off in a way that the client was told of. */
  | { is: 'delivered'; tokens: number | null; failure?: AttemptFailure }
  /** Nothing that counts went to the client. `answer`: what the provider said, where it is one to pass on. */
  | { is: 'failed'; failure: AttemptFailure; answer?: Answer };

/** Takes the body of an answer. */
export interface Receiver {
  data(chunk: Buffer): void;
  /** The body ended in order. */
  end(): Asked;
  /** It did not. */
  broken(failure: AttemptFailure): Asked;
}

/** What a receiver can do to the exchange that it receives. */
export interface ReceiverControl {
  /** The client is slow: nothing is read, and the clock stands. */
  pause(): void;
  resume(): void;
  /** The first token is there: from now on the limit is the one between chunks. */
  started(): void;
  /** It is over before the provider's end of it; the connection is closed. */
  finish(asked: Asked): void;
  /** Runs once everything that came with this chunk is there, unless it is over by then. */
  soon(action: () => void): void;
}

export interface AskOptions {
  engine: Engine;
  timeouts: { first_byte: number; first_token?: number | undefined; idle: number };
  /** Chooses who takes the body, by status and headers. */
  receiver: (head: AnswerHead, control: ReceiverControl) => Receiver;
  signal: AbortSignal;
}

/**
 * Sends a request to a provider and follows its answer to the end, under the timers of the provider.
 * @throws the signal's reason; the provider's connection is closed then.
 */
export async function askProvider(request: OutgoingRequest, options: AskOptions): Promise<Asked> {
  using timer = new PhaseTimer(options.signal);
  return await new Asking(timer, options).run(request);
}

class Asking implements ExchangeListener, ReceiverControl {
  readonly #timer: PhaseTimer;
  readonly #options: AskOptions;
  readonly #over = Promise.withResolvers<Asked>();
  #isOver = false;
  #phase: 'headers' | 'first token' | 'idle' = 'headers';
  #exchange: Exchange | undefined;
  #receiver: Receiver | undefined;

  constructor(timer: PhaseTimer, options: AskOptions) {
    this.#timer = timer;
    this.#options = options;
  }

  run(request: OutgoingRequest): Promise<Asked> {
    const { signal } = this.#timer;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener('abort', () => this.#aborted(signal.reason), { once: true });
    this.#clock();
    this.#exchange = this.#options.engine(request, this);
    if (this.#isOver) this.#exchange.abort(OVER);
    return this.#over.promise;
  }

  head(head: AnswerHead): void {
    if (this.#isOver) return;
    this.#phase = 'first token';
    this.#clock();
    this.#guarded(() => {
      this.#receiver = this.#options.receiver(head, this);
    });
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#phase === 'idle') this.#clock();
    this.#guarded(() => this.#receiver?.data(chunk));
  }

  end(): void {
    if (this.#isOver) return;
    this.#guarded(() => this.#settle(this.#receiver?.end() ?? { is: 'failed', failure: brokenStream('no answer') }));
  }

  error(error: unknown): void {
    if (!this.#isOver) this.#fail(error);
  }

  pause(): void {
    this.#timer.pause();
    this.#exchange?.pause();
  }

  resume(): void {
    if (this.#isOver) return;
    this.#clock();
    this.#exchange?.resume();
  }

  started(): void {
    this.#phase = 'idle';
    this.#clock();
  }

  finish(asked: Asked): void {
    if (this.#isOver) return;
    this.#settle(asked);
    this.#exchange?.abort(OVER);
  }

  soon(action: () => void): void {
    process.nextTick(() => {
      if (!this.#isOver) this.#guarded(action);
    });
  }

  #clock(): void {
    const { first_byte, first_token = first_byte, idle } = this.#options.timeouts;
    if (this.#phase === 'headers') this.#timer.enter('headers', first_byte);
    else if (this.#phase === 'first token') this.#timer.enter('first token', first_token);
    else this.#timer.enter('idle', idle);
  }

  /** A time limit of ours ends in an answer; a client that left in a rejection, at once. */
  #aborted(reason: unknown): void {
    if (this.#isOver) return;
    this.#fail(reason);
    this.#exchange?.abort(reason instanceof Error ? reason : OVER);
  }

  #fail(error: unknown): void {
    const failure = failureOfConnection(error, this.#timer.signal);
    if (!(failure instanceof AttemptFailure)) {
      this.#isOver = true;
      this.#over.reject(failure);
      return;
    }
    this.#guarded(() => this.#settle(this.#receiver?.broken(failure) ?? { is: 'failed', failure }));
  }

  #settle(asked: Asked): void {
    this.#isOver = true;
    this.#over.resolve(asked);
  }

  /** Called from inside the HTTP client, which must not see what a receiver throws. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#isOver = true;
      this.#over.reject(error);
      this.#exchange?.abort(OVER);
    }
  }
}

const OVER = new Error('the exchange is over');
