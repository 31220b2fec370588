import type { Warning } from '../protocol/warnings.ts';
import { askRoute } from './ask-route.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type FailedRoute, RouteTries, type RouteTriesOptions } from './route-tries.ts';
import type { Route } from './routes.ts';
import { type ChatModel, noUsage, type TurnPart, type TurnRequest } from './turn.ts';
import { brokenTurn, failedTurn } from './turn-failure.ts';
import { adaptedParameters, failedOver } from './turn-warnings.ts';
import { addUsage, priced } from './usage.ts';
import { newRunTraits, type RunTraits } from './wires/replay-lessons.ts';

export type ChatModelOptions = Omit<RouteTriesOptions, 'penalties'> & {
  /** Told of what a client should know, again with every turn. */
  onWarning?: ((warning: Warning) => void) | undefined;
};

interface ChatContext extends ChatModelOptions {
  penalties: Map<string, number>;
  /** Routes that broke off a turn, until another one has answered. */
  broken: FailedRoute[];
  run: RunTraits;
}

/** The model of one run over its routes. It remembers which routes broke a stream in this run. */
export function createChatModel(options: ChatModelOptions): ChatModel {
  const context: ChatContext = { ...options, penalties: new Map(), broken: [], run: newRunTraits() };
  return { turn: (request, { signal }) => runTurn(request, context, signal) };
}

async function* runTurn(
  request: TurnRequest,
  context: ChatContext,
  signal: AbortSignal,
): AsyncGenerator<TurnPart, void, undefined> {
  const tries = new RouteTries({ ...context, warm: request.warmRoute });
  let spent = noUsage();
  for await (const attempt of tries.attempts({ signal })) {
    const { route } = attempt;
    let started = false;
    try {
      for await (const part of askRoute(route, request, {
        spent,
        log: context.log,
        patient: !attempt.hasAlternative,
        run: context.run,
        signal,
      })) {
        // Before the last part goes out: its reader asks for no further one.
        if (part.type === 'finish') {
          attempt.succeeded();
          warn(context, { request, route, failures: tries.failures });
        }
        started = true;
        yield part;
      }
      return;
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      attempt.failed(error, { delivered: started });
      if (error.usage) spent = addUsage(spent, priced(error.usage, route.price));
      if (!started) continue;
      context.broken.push({ route, failure: error });
      throw brokenTurn({ route, failure: error }, spent);
    }
  }
  throw failedTurn(context.modelName, tries.failures, spent);
}

/** Tells of what was done to get an answer. */
function warn(
  context: ChatContext,
  { request, route, failures }: { request: TurnRequest; route: Route; failures: readonly FailedRoute[] },
): void {
  const failed = [...context.broken.splice(0), ...failures];
  const adapted = adaptedParameters(request, route.provider.traits(route.model));
  for (const warning of [...failedOver(failed, route), ...adapted]) context.onWarning?.(warning);
}
