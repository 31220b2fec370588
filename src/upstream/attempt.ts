import type { Response } from 'undici';
import type { JsonObject } from '../base/json.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { EventStream } from './event-stream.ts';
import { type ExchangeTarget, failureOfConnection, openExchange } from './exchange.ts';
import { failureOfStreamError } from './failure-of-answer.ts';
import { PhaseTimeout, PhaseTimer } from './phase-timer.ts';
import type { Scrubber } from './secrets.ts';
import type { TurnTool, TurnUsage } from './turn.ts';
import { type DecodedTurn, type Delta, TurnDecoder } from './turn-decoder.ts';

/** How long the rest of a stream (usage, `[DONE]`) is waited for after the finish reason, in milliseconds. */
const AFTER_FINISH_MS = 1000;

/** How long the end of a body is waited for after `[DONE]`, so that its connection can be used again. */
const AFTER_DONE_MS = 250;

export interface AttemptOptions {
  target: ExchangeTarget & { timeouts: { first_byte: number; first_token?: number | undefined; idle: number } };
  body: JsonObject;
  scrubber: Scrubber;
  tools: readonly TurnTool[] | undefined;
  mayBeEmpty: boolean;
  startsThinking: boolean;
  /** Tokens spent so far, for a failure after output came without a count. */
  estimate: (outputCharacters: number) => TurnUsage;
  signal: AbortSignal;
}

export type AttemptPart = Delta | { type: 'done'; turn: DecodedTurn; startsThinking: boolean | undefined };

/**
 * Asks one route once and gives the parts as they come; `done` is last. Ending the iteration or aborting the signal
 * closes the connection at once.
 * @throws AttemptFailure, or the signal's reason.
 */
export async function* attempt(options: AttemptOptions): AsyncGenerator<AttemptPart, void, undefined> {
  const { target, scrubber } = options;
  using timer = new PhaseTimer(options.signal);
  const response = await openExchange(target, options.body, { timer, scrubber });
  const decoder = new TurnDecoder({
    failureOf: (payload) => failureOfStreamError(payload, scrubber),
    tools: options.tools,
    mayBeEmpty: options.mayBeEmpty,
    startsThinking: options.startsThinking,
  });
  let clean = false;
  try {
    const { first_byte, first_token = first_byte, idle } = target.timeouts;
    for await (const deltas of decode(response, decoder, { timer, firstToken: first_token, idle })) yield* deltas;
    const { parts, turn } = decoder.finish();
    yield* parts;
    clean = true;
    yield { type: 'done', turn, startsThinking: decoder.startsThinking };
  } catch (error) {
    const failure = failureOfConnection(error, timer.signal);
    if (!(failure instanceof AttemptFailure)) throw failure;
    const spent = decoder.usage ?? (decoder.hasOutput ? options.estimate(decoder.outputCharacters) : undefined);
    throw failure.with({ usage: spent });
  } finally {
    if (!clean) timer.abort(new Error('the turn is over'));
  }
}

interface ReadLimits {
  timer: PhaseTimer;
  firstToken: number;
  idle: number;
}

/** The deltas of each network chunk, until the provider is done. */
async function* decode(response: Response, decoder: TurnDecoder, limits: ReadLimits): AsyncGenerator<Delta[]> {
  const { timer } = limits;
  const reader = response.body?.getReader();
  if (!reader) return;
  const stream = new EventStream();
  for (;;) {
    if (decoder.finished) timer.enter('idle', Math.min(AFTER_FINISH_MS, limits.idle));
    else if (decoder.hasOutput) timer.enter('idle', limits.idle);
    else timer.enterOnce('first token', limits.firstToken);
    const chunk = await reader.read().catch((error: unknown) => {
      // The turn is whole; only what may follow a finish reason did not come.
      if (decoder.finished && timer.signal.reason instanceof PhaseTimeout) return undefined;
      throw error;
    });
    if (decoder.hasOutput) timer.pause();
    if (chunk === undefined) return;
    for (const payload of chunk.value ? stream.feed(chunk.value) : stream.end()) decoder.accept(payload);
    const deltas = decoder.take();
    if (deltas.length > 0) yield deltas;
    if (chunk.done) return;
    if (stream.done) return release(reader, timer);
  }
}

/** Lets the connection end its response and go back to the pool, or closes it. Runs beside the turn. */
function release(reader: { read(): Promise<{ done: boolean }>; cancel(): Promise<void> }, timer: PhaseTimer): void {
  timer.pause();
  const limit = setTimeout(() => void reader.cancel().catch(() => {}), AFTER_DONE_MS);
  const drain = async () => {
    while (!(await reader.read()).done);
  };
  void drain()
    .catch(() => {})
    .finally(() => clearTimeout(limit));
}
