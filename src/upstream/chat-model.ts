import { askRoute } from './ask-route.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { RouteTries, type RouteTriesOptions } from './route-tries.ts';
import { type ChatModel, noUsage, type TurnPart, type TurnRequest } from './turn.ts';
import { brokenTurn, failedTurn } from './turn-failure.ts';
import { addUsage } from './usage.ts';

export type ChatModelOptions = Omit<RouteTriesOptions, 'penalties'>;

/** The model of one run over its routes. It remembers which routes broke a stream in this run. */
export function createChatModel(options: ChatModelOptions): ChatModel {
  const context = { ...options, penalties: new Map<string, number>() };
  return { turn: (request, { signal }) => runTurn(request, context, signal) };
}

async function* runTurn(
  request: TurnRequest,
  context: RouteTriesOptions,
  signal: AbortSignal,
): AsyncGenerator<TurnPart, void, undefined> {
  const tries = new RouteTries(context);
  let spent = noUsage();
  for await (const attempt of tries.attempts({ signal })) {
    const { route } = attempt;
    let started = false;
    try {
      for await (const part of askRoute(route, request, {
        spent,
        log: context.log,
        patient: !attempt.hasAlternative,
        signal,
      })) {
        // Before the last part goes out: its reader asks for no further one.
        if (part.type === 'finish') attempt.succeeded();
        started = true;
        yield part;
      }
      return;
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      attempt.failed(error, { delivered: started });
      if (error.usage) spent = addUsage(spent, error.usage);
      if (started) throw brokenTurn({ route, failure: error }, spent);
    }
  }
  throw failedTurn(context.modelName, tries.failures, spent);
}
