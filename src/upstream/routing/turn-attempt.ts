import { linkSignals } from '../../base/abort.ts';
import type { JsonObject } from '../../base/json.ts';
import { joinedBytes, jsonTexts } from '../../base/json-bytes.ts';
import { logprobSize } from '../../protocol/items.ts';
import type { CallMeter } from '../call-meter.ts';
import { MaskedDeltas } from '../credentials/masked-deltas.ts';
import type { DecodedTurn, DecoderOptions, Delta } from '../decoding/decoded-turn.ts';
import { tokenWeight } from '../decoding/estimate.ts';
import { EventStream } from '../decoding/event-stream.ts';
import type { ProviderTarget, Receiver, ReceiverControl } from '../provider-target.ts';
import { collectedBody } from '../transport/collected-body.ts';
import type { AnswerHead } from '../transport/held-call.ts';
import type { PassDelta } from '../turn.ts';
import type { TurnReader, Wire } from '../wires/wire.ts';
import { AttemptFailure, brokenStream } from './attempt-failure.ts';
import type { FirstTokenTimes } from './first-token-times.ts';

/** How long the rest of a stream (usage, `[DONE]`) is waited for after the finish reason, in milliseconds. */
const AFTER_FINISH_MS = 1000;

/** How long the end of a body is waited for after `[DONE]`, so that its connection can be used again. */
const AFTER_DONE_MS = 250;

/** The most that is read of an error answer, in bytes. */
const MAX_ERROR = 64 * 1024;

/** Characters of a token, where no text is at hand to be looked at. */
const CHARACTERS = 4;

/** Payloads in a row that bring nothing of an answer. Providers that hide thoughts may send an empty one for each token. */
const MAX_SILENT = 100_000;

/** Deltas that wait for their reader are at most this long together before nothing more is read, in characters. */
const MAX_WAITING = 256 * 1024;

export interface AttemptOptions {
  target: ProviderTarget;
  wire: Wire;
  body: JsonObject;
  reading: Omit<DecoderOptions, 'failureOf'>;
  /** What is sent and delivered is counted here. */
  meter: CallMeter;
  /** See `CallOptions`. */
  patience: number | undefined;
  watch: FirstTokenTimes;
  /** See `TurnOptions`. */
  pass?: PassDelta | undefined;
  signal: AbortSignal;
}

/**
 * Asks one route once: gives its deltas as they come, and returns the whole turn. Ending the iteration or aborting the
 * signal closes the connection at once.
 * @throws AttemptFailure, or the signal's reason.
 */
export async function* readTurn(options: AttemptOptions): AsyncGenerator<Delta, DecodedTurn, undefined> {
  const { target, wire, body, meter, signal } = options;
  const deltas = new WaitingDeltas(options.pass);
  using left = linkSignals([signal]);
  const call = target.call<AttemptEnd>(
    {
      method: 'POST',
      path: wire.path,
      api: wire.api,
      headers: HEADERS,
      // Bytes, as the HTTP client sends them: the text of a long research would be held beside them until its answer is read.
      body: joinedBytes(jsonTexts(body)),
    },
    {
      receiver: (head, control) => {
        if (head.status >= 300) {
          meter.errorStatus();
          return refusalReceiver(head, control, options);
        }
        return new TurnReceiver(deltas, control, options);
      },
      unanswered: (failure) => ({ failure }),
      sent: () => meter.sent(),
      patience: options.patience,
      watch: options.watch,
      signal: left.signal,
    },
  );
  call.then(deltas.over, deltas.over);
  try {
    for (let ready = await deltas.next(); ready.length > 0; ready = await deltas.next()) yield* ready;
    const end = await call;
    if ('failure' in end) throw end.failure;
    return end.turn;
  } finally {
    left.abort(READ_NO_FURTHER);
  }
}

const HEADERS = { 'content-type': 'application/json', accept: 'text/event-stream, application/json' };

/** A reason of its own: without one, an exception with a stack trace is made for each turn. */
const READ_NO_FURTHER = new Error('the turn is read no further');

type AttemptEnd = { turn: DecodedTurn } | { failure: AttemptFailure };

/** Deltas between the provider that sends and the turn's reader that takes. */
class WaitingDeltas {
  readonly #pass: PassDelta | undefined;
  #ready: Delta[] = [];
  #characters = 0;
  #isOver = false;
  #wake: (() => void) | undefined;
  #onTaken: (() => void) | undefined;

  constructor(pass: PassDelta | undefined) {
    this.#pass = pass;
  }

  /** Whether the reader is far behind; `onTaken` is called once it is not. */
  push(deltas: readonly Delta[], onTaken: () => void): boolean {
    for (const delta of deltas) {
      if (this.#passOn(delta)) continue;
      this.#characters += delta.delta.length + logprobSize(delta.logprobs ?? []);
      this.#ready.push(delta);
    }
    if (this.#ready.length > 0) this.#wake?.();
    if (this.#characters < MAX_WAITING) return false;
    this.#onTaken = onTaken;
    return true;
  }

  #passOn(delta: Delta): boolean {
    return this.#pass !== undefined && this.#wake !== undefined && this.#ready.length === 0 && this.#pass(delta);
  }

  readonly over = (): void => {
    this.#isOver = true;
    this.#wake?.();
  };

  /** What came since the last call, waited for; nothing once all came. */
  async next(): Promise<Delta[]> {
    if (this.#ready.length === 0 && !this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
    const taken = this.#ready;
    this.#ready = [];
    this.#characters = 0;
    this.#onTaken?.();
    this.#onTaken = undefined;
    return taken;
  }
}

/** Reads a streamed turn. */
class TurnReceiver implements Receiver<AttemptEnd> {
  readonly #deltas: WaitingDeltas;
  readonly #control: ReceiverControl<AttemptEnd>;
  readonly #options: AttemptOptions;
  readonly #stream = new EventStream();
  readonly #decoder: TurnReader;
  readonly #masked: MaskedDeltas;
  readonly #resume = () => this.#control.resume();
  #phase: 'waiting' | 'thinking' | 'speaking' | 'finished' = 'waiting';
  /** Characters that were given as deltas. */
  #given = 0;
  #weight = 0;
  /** Payloads since the answer grew last, and how long it was. */
  #silent = 0;
  #length = 0;

  constructor(deltas: WaitingDeltas, control: ReceiverControl<AttemptEnd>, options: AttemptOptions) {
    this.#deltas = deltas;
    this.#control = control;
    this.#options = options;
    this.#masked = new MaskedDeltas(options.target.mask);
    this.#decoder = options.wire.reader({
      ...options.reading,
      failureOf: (payload) => options.target.failureOfStreamError(payload),
    });
  }

  data(chunk: Buffer): void {
    const end = this.#caught(() => {
      this.#read(this.#stream.feed(chunk));
      this.#enterPhase();
      const isOver = this.#stream.done || (this.#options.wire.endsWithEvent && this.#decoder.finished);
      return isOver ? this.#end() : undefined;
    });
    if (end) this.#control.finish(end, 'turn' in end ? { lingerMs: AFTER_DONE_MS } : undefined);
  }

  end(): AttemptEnd {
    return this.#caught(() => {
      this.#read(this.#stream.end());
      return this.#end();
    });
  }

  /** Once the finish reason is there the turn is whole; only what may follow did not come. */
  broken(failure: AttemptFailure): AttemptEnd {
    if (!this.#decoder.finished || failure.kind !== 'timeout') return { failure };
    return this.#caught(() => this.#end());
  }

  #read(payloads: readonly Record<string, unknown>[]): void {
    for (const payload of payloads) {
      this.#decoder.accept(payload);
      this.#requireGrowth();
    }
    // White space is no beginning: until something is said another route can be asked.
    if (this.#decoder.hasOutput) this.#give(this.#decoder.deltas.take());
    this.#count();
  }

  /** @throws AttemptFailure where very much comes that is nothing. */
  #requireGrowth(): void {
    const { characters } = this.#decoder.deltas;
    this.#silent = characters > this.#length ? 0 : this.#silent + 1;
    this.#length = characters;
    if (this.#silent > MAX_SILENT) throw brokenStream('very many events that say nothing');
  }

  /** What is no delta, the arguments of tools, is counted by its length. */
  #count(): void {
    const { usage, deltas } = this.#decoder;
    const { meter } = this.#options;
    meter.deliveredInAll(this.#weight + Math.max(0, deltas.characters - this.#given) / CHARACTERS);
    if (usage) meter.reported(usage, { whole: false });
  }

  #give(deltas: readonly Delta[]): void {
    for (const { delta } of deltas) {
      this.#given += delta.length;
      this.#weight += tokenWeight(delta);
    }
    this.#show(this.#masked.push(deltas));
  }

  #show(deltas: readonly Delta[]): void {
    if (deltas.length > 0 && this.#deltas.push(this.#withLogprobs(deltas), this.#resume)) this.#control.pause();
  }

  #withLogprobs(deltas: readonly Delta[]): readonly Delta[] {
    const { logprobs } = this.#options.reading;
    if (!logprobs) return deltas;
    return deltas.map((shown) => {
      const of = logprobs.of(shown.delta);
      return shown.type === 'text' && of.length > 0 ? { ...shown, logprobs: of } : shown;
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
    this.#give(parts);
    this.#show(this.#masked.end());
    return { turn };
  }

  #caught<T>(work: () => T): T | { failure: AttemptFailure } {
    try {
      return work();
    } catch (error) {
      if (error instanceof AttemptFailure) return { failure: error };
      throw error;
    }
  }
}

/** Reads an answer that is no turn, up to 64 KiB: the beginning of a refusal is enough. */
function refusalReceiver(
  head: AnswerHead,
  control: ReceiverControl<AttemptEnd>,
  { target, body }: AttemptOptions,
): Receiver<AttemptEnd> {
  const refusal = (all: Buffer): AttemptEnd => {
    const said = all.subarray(0, MAX_ERROR);
    const failure = target.failureOfAnswer({ ...head, body: said });
    return { failure: failure.with({ refusal: { text: said.toString('utf8'), body } }) };
  };
  return collectedBody(control, {
    limit: MAX_ERROR,
    whole: refusal,
    tooLong: refusal,
    broken: (_, all) => refusal(all),
  });
}
