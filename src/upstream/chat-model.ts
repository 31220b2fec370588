import { sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { attempt } from './attempt.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import { chatBody } from './chat-body.ts';
import { estimateInput, estimateTokens } from './estimate.ts';
import type { Route } from './routes.ts';
import { Scrubber } from './secrets.ts';
import {
  type AssistantMessage,
  type ChatModel,
  noUsage,
  type TurnPart,
  type TurnRequest,
  type TurnUsage,
} from './turn.ts';
import type { DecodedTurn } from './turn-decoder.ts';
import { TurnTries } from './turn-tries.ts';
import { addUsage } from './usage.ts';

export interface ChatModelOptions {
  modelName: string;
  /** The routes in order of preference, asked for at each round: a reload may change them. */
  routes: () => Route[];
  log: Logger;
  clock: Clock;
  random: () => number;
  backoff: BackoffPolicy;
}

/** The model of one run over its routes. It remembers which routes broke a stream in this run. */
export function createChatModel(options: ChatModelOptions): ChatModel {
  /** Streams broken in this run, by route. */
  const penalties = new Map<string, number>();
  return { turn: (request, { signal }) => runTurn(request, { ...options, penalties, signal }) };
}

interface TurnContext extends ChatModelOptions {
  penalties: Map<string, number>;
  signal: AbortSignal;
}

/**
 * Tries the routes in rounds: each usable route once in order, then a pause, then again, as often as the providers'
 * `max_retries` allow. So another provider is asked before the same one is asked again.
 */
async function* runTurn(request: TurnRequest, context: TurnContext): AsyncGenerator<TurnPart, void, undefined> {
  const { signal } = context;
  const tries = new TurnTries(context);
  for (let round = 0; ; round += 1) {
    signal.throwIfAborted();
    for (const route of tries.candidates(round)) {
      let started = false;
      try {
        for await (const part of askRoute(route, request, { tries, signal })) {
          started = true;
          yield part;
        }
        return;
      } catch (error) {
        if (!(error instanceof AttemptFailure)) throw error;
        tries.failed(route, error, { round, started });
        if (started) throw tries.brokenTurn(route, error);
        if (error.advice === 'never') throw tries.error();
      }
    }
    const pause = tries.pauseBefore(round + 1, (next) => backoffMs(context.backoff, next, context.random));
    if (pause === undefined) throw tries.error();
    await sleep(pause, { signal });
  }
}

/** Asks one route once, when its provider's limiter lets us. */
async function* askRoute(
  route: Route,
  request: TurnRequest,
  context: { tries: TurnTries; signal: AbortSignal },
): AsyncGenerator<TurnPart, void, undefined> {
  const { provider, model, credential } = route;
  const { config } = provider;
  using _use = provider.use();
  const limiter = provider.limiter(credential);
  using _slot = await limiter.enter({ signal: context.signal });
  const breaker = provider.breaker(model);
  const memory = provider.memory(model);
  const estimate = (characters: number): TurnUsage => ({
    ...noUsage(),
    inputTokens: estimateInput(request),
    outputTokens: Math.ceil(characters / 4),
    estimated: true,
  });
  breaker.begin();
  let outcome: 'healthy' | 'unhealthy' | 'unknown' = 'unknown';
  try {
    const parts = attempt({
      target: {
        baseUrl: config.base_url,
        credential,
        headers: config.headers,
        dispatcher: provider.dispatcher,
        timeouts: config.timeouts,
      },
      body: chatBody(request, model),
      scrubber: new Scrubber([credential, ...Object.values(config.headers)]),
      startsThinking: memory.startsThinking,
      estimate,
      signal: context.signal,
    });
    for await (const part of parts) {
      if (part.type !== 'done') {
        yield part;
        continue;
      }
      if (part.learnedThinking) memory.startsThinking = true;
      outcome = 'healthy';
      limiter.succeeded();
      const usage = part.turn.usage ?? estimatedUsage(request, part.turn);
      yield* wholeParts(part.turn, provider.name, addUsage(context.tries.spent, usage));
    }
  } catch (error) {
    if (error instanceof AttemptFailure) {
      if (error.unhealthy) outcome = 'unhealthy';
      if (error.kind === 'rate_limit') limiter.limited(error.retryAfterMs);
    }
    throw error;
  } finally {
    breaker.end(outcome);
  }
}

function* wholeParts(turn: DecodedTurn, provider: string, usage: TurnUsage): Generator<TurnPart> {
  for (const call of turn.calls) yield { type: 'tool_call', call };
  const message: AssistantMessage = { role: 'assistant', content: turn.text };
  if (turn.calls.length > 0) message.tool_calls = turn.calls;
  if (turn.replay) message.replay = { provider, fields: turn.replay };
  yield { type: 'finish', reason: turn.reason, usage, message };
}

function estimatedUsage(request: TurnRequest, turn: DecodedTurn): TurnUsage {
  const calls = turn.calls.reduce((sum, call) => sum + estimateTokens(call.name + call.arguments), 0);
  return {
    ...noUsage(),
    inputTokens: estimateInput(request),
    outputTokens: estimateTokens(turn.text) + calls,
    estimated: true,
  };
}
