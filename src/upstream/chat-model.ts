import { sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { askRoute } from './ask-route.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import type { Route } from './routes.ts';
import type { ChatModel, TurnPart, TurnRequest } from './turn.ts';
import { TurnTries } from './turn-tries.ts';

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
        for await (const part of askRoute(route, request, tries.ask(route, signal))) {
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
