import { AttemptFailure, brokenStream } from '../upstream/attempt-failure.ts';
import { failureOfConnection } from '../upstream/exchange.ts';
import type { PhaseTimeout } from '../upstream/phase-timer.ts';
import type { Answer, AnswerHead, Engine, Exchange, ExchangeListener } from './exchange.ts';
import type { OutgoingRequest } from './outgoing-request.ts';
import { PhaseLimit } from './phase-limit.ts';

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
export function askProvider(request: OutgoingRequest, options: AskOptions): Promise<Asked> {
  return new Asking(options).run(request);
}

class Asking implements ExchangeListener, ReceiverControl {
  readonly #options: AskOptions;
  readonly #over = Promise.withResolvers<Asked>();
  readonly #onLeft = () => this.#left();
  readonly #limit: PhaseLimit;
  #isOver = false;
  #exchange: Exchange | undefined;
  #receiver: Receiver | undefined;

  constructor(options: AskOptions) {
    this.#options = options;
    this.#limit = new PhaseLimit((timeout) => this.#timedOut(timeout));
  }

  run(request: OutgoingRequest): Promise<Asked> {
    const { signal, engine, timeouts } = this.#options;
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener('abort', this.#onLeft);
    this.#limit.enter('headers', timeouts.first_byte);
    this.#exchange = engine(request, this);
    if (this.#isOver) this.#exchange.abort(OVER);
    return this.#over.promise;
  }

  head(head: AnswerHead): void {
    if (this.#isOver) return;
    const { first_byte, first_token = first_byte } = this.#options.timeouts;
    this.#limit.enter('first token', first_token);
    this.#guarded(() => {
      this.#receiver = this.#options.receiver(head, this);
    });
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#limit.touch('idle');
    this.#guarded(() => this.#receiver?.data(chunk));
  }

  end(): void {
    if (this.#isOver) return;
    this.#guarded(() => this.#settle(this.#receiver?.end() ?? { is: 'failed', failure: brokenStream('no answer') }));
  }

  error(error: unknown): void {
    if (this.#isOver) return;
    const failure = failureOfConnection(error, this.#options.signal);
    if (failure instanceof AttemptFailure) this.#fail(failure);
    else this.#reject(failure);
  }

  pause(): void {
    this.#limit.pause();
    this.#exchange?.pause();
  }

  resume(): void {
    if (this.#isOver) return;
    this.#limit.resume();
    this.#exchange?.resume();
  }

  started(): void {
    this.#limit.enter('idle', this.#options.timeouts.idle);
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

  #timedOut(timeout: PhaseTimeout): void {
    if (this.#isOver) return;
    this.#fail(new AttemptFailure(timeout.message, { kind: 'timeout', advice: 'again', unhealthy: true }));
    this.#exchange?.abort(timeout);
  }

  /** The client left: the provider's connection closes at once. */
  #left(): void {
    if (this.#isOver) return;
    const reason: unknown = this.#options.signal.reason;
    this.#reject(reason);
    this.#exchange?.abort(reason instanceof Error ? reason : OVER);
  }

  #fail(failure: AttemptFailure): void {
    this.#guarded(() => this.#settle(this.#receiver?.broken(failure) ?? { is: 'failed', failure }));
  }

  #settle(asked: Asked): void {
    this.#close();
    this.#over.resolve(asked);
  }

  #reject(reason: unknown): void {
    this.#close();
    this.#over.reject(reason);
  }

  #close(): void {
    this.#isOver = true;
    this.#limit.pause();
    this.#options.signal.removeEventListener('abort', this.#onLeft);
  }

  /** Called from inside the HTTP client, which must not see what a receiver throws. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#reject(error);
      this.#exchange?.abort(OVER);
    }
  }
}

const OVER = new Error('the exchange is over');
