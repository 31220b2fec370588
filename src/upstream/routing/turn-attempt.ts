import { linkSignals } from '../../base/abort.ts';
import type { JsonObject } from '../../base/json.ts';
import { encodeTexts, stringifyInParts, wellFormedJson } from '../../base/json-bytes.ts';
import { logprobSize } from '../../protocol/items.ts';
import type { CallMeter } from '../call-meter.ts';
import { MaskedDeltas } from '../credentials/masked-deltas.ts';
import type { DecodedTurn, DecoderOptions, Delta } from '../decoding/decoded-turn.ts';
import { tokenWeight } from '../decoding/estimate.ts';
import { EventStream } from '../decoding/event-stream.ts';
import type { ProviderTarget, Receiver, ReceiverControl } from '../provider-target.ts';
import { collectedBody } from '../transport/collected-body.ts';
import type { AnswerHead } from '../transport/provider-call.ts';
import type { DeltaSink } from '../turn.ts';
import type { TurnReader, Wire } from '../wires/wire.ts';
import { AttemptFailure, brokenStream } from './attempt-failure.ts';
import type { FirstTokenTimes } from './first-token-times.ts';

/** How long to wait for the rest of a stream (usage, `[DONE]`) after the finish reason, in milliseconds. */
const AFTER_FINISH_MS = 1000;

/** How much of an error answer is read, in bytes: the beginning of a refusal is enough. */
const MAX_ERROR = 64 * 1024;

/** Characters per token, where the text itself is not available to estimate by. */
const CHARACTERS_PER_TOKEN = 4;

/** How many payloads in a row may be empty. Providers that hide reasoning may send an empty one for each token. */
const MAX_EMPTY_PAYLOADS = 100_000;

/** How many characters may wait for the turn's reader before the provider is paused. */
const MAX_QUEUED = 256 * 1024;

export interface AttemptOptions {
  target: ProviderTarget;
  wire: Wire;
  body: JsonObject;
  decoding: Omit<DecoderOptions, 'failureOf'>;
  /** Counts what is sent and delivered. */
  meter: CallMeter;
  /** See `ProviderCallOptions`. */
  onAsked?: (() => void) | undefined;
  /** Whether the request asks for a stream, which some routes refuse. */
  streamed: boolean;
  /** See `CallOptions`. */
  patience: number | undefined;
  firstTokens: FirstTokenTimes;
  /** See `TurnOptions`. */
  sink?: DeltaSink | undefined;
  signal: AbortSignal;
}

/**
 * Makes one call to a route: yields its deltas as they come, and returns the whole turn. Ending the iteration or aborting
 * the signal closes the connection at once.
 * @throws AttemptFailure, or the signal's reason.
 */
export async function* readTurn(options: AttemptOptions): AsyncGenerator<Delta, DecodedTurn, undefined> {
  const { target, wire, body, meter, signal } = options;
  const deltas = new DeltaQueue(options.sink);
  using reader = linkSignals([signal]);
  const call = target.call<AttemptEnd>(
    {
      method: 'POST',
      path: wire.path,
      api: wire.api,
      headers: HEADERS,
      // Bytes, as the HTTP client sends them: a string would stay in memory beside them until the answer is read.
      body: encodeTexts(stringifyInParts(body).map(wellFormedJson)),
    },
    {
      receiver: (head, control) => {
        if (head.status >= 300) {
          meter.answeredWithError();
          return refusalReceiver(head, control, options);
        }
        return new TurnReceiver(deltas, control, options);
      },
      unanswered: (failure) => ({ failure }),
      onAsked: options.onAsked,
      onSent: () => meter.sent(),
      patience: options.patience,
      firstTokens: options.firstTokens,
      streamed: options.streamed,
      signal: reader.signal,
    },
  );
  call.then(deltas.end, deltas.end);
  try {
    for (let ready = await deltas.next(); ready.length > 0; ready = await deltas.next()) yield* ready;
    const end = await call;
    if ('failure' in end) throw end.failure;
    return end.turn;
  } finally {
    reader.abort(READER_STOPPED);
  }
}

const HEADERS = { 'content-type': 'application/json', accept: 'text/event-stream, application/json' };

/** One shared reason: `abort()` without one makes an exception with a stack trace for each turn. */
const READER_STOPPED = new Error('the turn is read no further');

type AttemptEnd = { turn: DecodedTurn } | { failure: AttemptFailure };

/** Deltas between the provider, which pushes them, and the turn's reader, which pulls them. */
class DeltaQueue {
  readonly #sink: DeltaSink | undefined;
  #queued: Delta[] = [];
  #characters = 0;
  #isOver = false;
  #wake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;

  constructor(sink: DeltaSink | undefined) {
    this.#sink = sink;
  }

  /** Whether the reader is far behind; `onDrained` is called once it has caught up. */
  push(deltas: readonly Delta[], onDrained: () => void): boolean {
    for (const delta of deltas) {
      if (this.#passDirectly(delta)) continue;
      this.#characters += delta.delta.length + logprobSize(delta.logprobs ?? []);
      this.#queued.push(delta);
    }
    if (this.#queued.length > 0) this.#wake?.();
    if (this.#characters < MAX_QUEUED) return false;
    this.#onDrained = onDrained;
    return true;
  }

  #passDirectly(delta: Delta): boolean {
    return this.#sink !== undefined && this.#wake !== undefined && this.#queued.length === 0 && this.#sink(delta);
  }

  readonly end = (): void => {
    this.#isOver = true;
    this.#wake?.();
  };

  /** Waits for deltas and takes all that are queued; none once the call is over. */
  async next(): Promise<Delta[]> {
    if (this.#queued.length === 0 && !this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
    const deltas = this.#queued;
    this.#queued = [];
    this.#characters = 0;
    this.#onDrained?.();
    this.#onDrained = undefined;
    return deltas;
  }
}

/** Reads a streamed turn. */
class TurnReceiver implements Receiver<AttemptEnd> {
  readonly #deltas: DeltaQueue;
  readonly #control: ReceiverControl<AttemptEnd>;
  readonly #options: AttemptOptions;
  readonly #stream = new EventStream();
  readonly #decoder: TurnReader;
  readonly #masking: MaskedDeltas;
  readonly #resume = () => this.#control.resume();
  #phase: 'waiting' | 'thinking' | 'speaking' | 'finished' = 'waiting';
  /** The deltas emitted so far: their characters, and their tokens by estimate. */
  #emittedCharacters = 0;
  #emittedTokens = 0;
  /** Payloads since the answer last grew, and how long it was then. */
  #emptyPayloads = 0;
  #length = 0;

  constructor(deltas: DeltaQueue, control: ReceiverControl<AttemptEnd>, options: AttemptOptions) {
    this.#deltas = deltas;
    this.#control = control;
    this.#options = options;
    this.#masking = new MaskedDeltas(options.target.mask);
    this.#decoder = options.wire.reader({
      ...options.decoding,
      failureOf: (payload) => options.target.failureOfStreamError(payload),
    });
  }

  data(chunk: Buffer): void {
    const end = this.#captureFailure(() => {
      this.#read(this.#stream.feed(chunk));
      this.#enterPhase();
      return this.#stream.done || this.#isOver ? this.#end() : undefined;
    });
    if (end) this.#control.finish(end, { endsSoon: 'turn' in end });
  }

  end(): AttemptEnd {
    return this.#captureFailure(() => {
      this.#read(this.#stream.end());
      return this.#end();
    });
  }

  /** After the finish reason the turn is whole, and the break only cuts off what may follow. */
  broken(failure: AttemptFailure): AttemptEnd {
    if (!this.#decoder.finished) return { failure };
    return this.#captureFailure(() => this.#end());
  }

  /** Whether the last event has been read. Whatever follows it is not. */
  get #isOver(): boolean {
    return this.#options.wire.endsWithEvent === true && this.#decoder.finished;
  }

  #read(payloads: Iterable<Record<string, unknown>>): void {
    try {
      for (const payload of payloads) {
        this.#decoder.accept(payload);
        this.#requireGrowth();
        if (this.#isOver) break;
      }
      // White space is not emitted alone: until there is visible output, another route can still be tried.
      if (this.#decoder.hasOutput) this.#emit(this.#decoder.deltas.take());
    } finally {
      this.#count();
    }
  }

  /** @throws AttemptFailure after too many payloads without output. */
  #requireGrowth(): void {
    const { characters } = this.#decoder.deltas;
    this.#emptyPayloads = characters > this.#length ? 0 : this.#emptyPayloads + 1;
    this.#length = characters;
    if (this.#emptyPayloads > MAX_EMPTY_PAYLOADS) throw brokenStream('very many events that say nothing');
  }

  /** Output that is no delta, such as the arguments of tools, is counted by its length. */
  #count(): void {
    const { usage, deltas, finished } = this.#decoder;
    const { meter } = this.#options;
    const others = Math.max(0, deltas.characters - this.#emittedCharacters);
    meter.setDelivered(this.#emittedTokens + others / CHARACTERS_PER_TOKEN);
    if (usage) meter.reported(usage, { whole: finished });
  }

  #emit(deltas: readonly Delta[]): void {
    for (const { delta } of deltas) {
      this.#emittedCharacters += delta.length;
      this.#emittedTokens += tokenWeight(delta);
    }
    this.#enqueue(this.#masking.push(deltas));
  }

  #enqueue(deltas: readonly Delta[]): void {
    if (deltas.length > 0 && this.#deltas.push(this.#withLogprobs(deltas), this.#resume)) this.#control.pause();
  }

  #withLogprobs(deltas: readonly Delta[]): readonly Delta[] {
    const { logprobs } = this.#options.decoding;
    if (!logprobs) return deltas;
    return deltas.map((delta) => {
      const tokens = logprobs.take(delta.delta);
      return delta.type === 'text' && tokens.length > 0 ? { ...delta, logprobs: tokens } : delta;
    });
  }

  #enterPhase(): void {
    const { finished, hasOutput, isThinking } = this.#decoder;
    const phase = finished ? 'finished' : isThinking ? 'thinking' : hasOutput ? 'speaking' : this.#phase;
    if (phase === this.#phase) return;
    this.#phase = phase;
    const { thinkingMs, config } = this.#options.target;
    const idleMs = config.timeouts.idle;
    this.#control.started(finished ? Math.min(AFTER_FINISH_MS, idleMs) : isThinking ? thinkingMs : idleMs);
  }

  #end(): AttemptEnd {
    const { parts, turn } = this.#decoder.finish();
    this.#emit(parts);
    this.#enqueue(this.#masking.end());
    return { turn };
  }

  #captureFailure<T>(work: () => T): T | { failure: AttemptFailure } {
    try {
      return work();
    } catch (error) {
      if (error instanceof AttemptFailure) return { failure: error };
      throw error;
    }
  }
}

/** Reads an answer with an error status. */
function refusalReceiver(
  head: AnswerHead,
  control: ReceiverControl<AttemptEnd>,
  { target, body }: AttemptOptions,
): Receiver<AttemptEnd> {
  const refusal = (received: Buffer): AttemptEnd => {
    const answer = received.subarray(0, MAX_ERROR);
    const failure = target.failureOfAnswer({ ...head, body: answer });
    return { failure: failure.with({ refusal: { text: answer.toString('utf8'), body } }) };
  };
  return collectedBody(control, {
    limit: MAX_ERROR,
    whole: refusal,
    tooLong: refusal,
    broken: (_, received) => refusal(received),
  });
}
