import { Hedge } from '../base/hedge.ts';
import type { Warning } from '../protocol/warnings.ts';
import { type CallMeter, usageOf } from './call-meter.ts';
import { nearestEffort } from './dialects/requests/effort.ts';
import { IN_WORDS } from './dialects/requests/instructions.ts';
import type { RequestTraits } from './dialects/requests/traits.ts';
import { AttemptFailure } from './routing/attempt-failure.ts';
import { type Attempt, Attempts, type AttemptsOptions, type FailedRoute } from './routing/attempts.ts';
import type { Route } from './routing/routes.ts';
import { brokenTurnError, unansweredTurnError } from './routing/turn-failure.ts';
import type { Adaptation, ChatModel, DeltaSink, TurnOptions, TurnPart, TurnRequest, TurnUsage } from './turn.ts';
import { TurnSpan } from './turn-span.ts';
import { newRunTraits, type RunTraits } from './wires/replayed.ts';

export type ChatModelOptions = Omit<AttemptsOptions, 'penalties'> & {
  /** See `ChatModelQuery`. */
  onWarning?: ((warning: Warning) => void) | undefined;
  /** Called with the usage of each turn, however it ended. */
  onUsage?: ((usage: TurnUsage) => void) | undefined;
  /** How long the first route may stay silent before another one is tried beside it, in milliseconds; absent: forever. */
  hedgeMs?: number | undefined;
};

interface ChatContext extends ChatModelOptions {
  penalties: Map<string, number>;
  /** Routes that broke off a turn, until another one answers. */
  brokenRoutes: FailedRoute[];
  run: RunTraits;
}

/** The model of one run over its routes. It remembers which routes broke a stream in this run. */
export function createChatModel(options: ChatModelOptions): ChatModel {
  const context: ChatContext = { ...options, penalties: new Map(), brokenRoutes: [], run: newRunTraits() };
  return { turn: (request, options) => runTurn(request, context, options) };
}

interface Turn {
  request: TurnRequest;
  context: ChatContext;
  attempts: Attempts;
  /** One for each call to a provider, including failed and overtaken ones. */
  meters: CallMeter[];
  span: TurnSpan;
}

/** A route that has yielded its first part. */
interface OpenedTurn {
  walk: AsyncGenerator<Attempt, void, undefined>;
  attempt: Attempt;
  parts: AsyncGenerator<TurnPart, void, undefined>;
  first: IteratorResult<TurnPart, void>;
  /** Set once this is the route that is read; until then another one may overtake it. */
  output: { sink?: DeltaSink | undefined };
}

async function* runTurn(
  request: TurnRequest,
  context: ChatContext,
  { signal, sink }: TurnOptions,
): AsyncGenerator<TurnPart, void, undefined> {
  const attempts = new Attempts({ ...context, warmRoute: request.warmRoute });
  const turn: Turn = { request, context, attempts, meters: [], span: new TurnSpan(context.modelName, request) };
  using hedge = hedgeOf(turn, signal);
  try {
    const opened = await turn.span.in(() => hedge?.run() ?? open(turn, signal));
    if (!opened) throw unansweredTurnError(context.modelName, attempts.failures, usageOf(turn.meters));
    opened.output.sink = sink;
    try {
      yield* read(opened, turn);
    } finally {
      await close(opened);
    }
  } catch (thrown) {
    turn.span.failed(thrown);
    throw thrown;
  } finally {
    const usage = usageOf(turn.meters);
    turn.span.end({ usage, lastFailed: attempts.failures.at(-1)?.route.provider.name });
    context.onUsage?.(usage);
  }
}

/** Opens the turn on a second route if the first one stays silent; undefined if the model asks for no such thing. */
function hedgeOf(turn: Turn, signal: AbortSignal): Hedge<OpenedTurn> | undefined {
  const { attempts, context } = turn;
  if (context.hedgeMs === undefined) return undefined;
  return new Hedge(({ signal: racer }) => open(turn, racer), {
    afterMs: context.hedgeMs,
    hasAnother: () => attempts.hasAnother,
    discard: (late) => void close(late),
    signal,
  });
}

async function close({ parts, walk }: OpenedTurn): Promise<void> {
  await parts.return();
  await walk.return();
}

/** The first route that yields a part; undefined where none does. @throws the signal's reason. */
async function open(turn: Turn, signal: AbortSignal): Promise<OpenedTurn | undefined> {
  // Loaded with the first turn, so that the process starts sooner: half of this folder is needed only for turns.
  const { askRoute } = await import('./routing/ask-route.ts');
  const { request, context, attempts } = turn;
  const walk = attempts.walk({ signal });
  for (let next = await walk.next(); !next.done; next = await walk.next()) {
    const attempt = next.value;
    const { log, run } = context;
    const output: OpenedTurn['output'] = {};
    const sink: DeltaSink = (delta) => output.sink?.(delta) ?? false;
    const { hasAlternative, asked: onAsked } = attempt;
    const options = { meters: turn.meters, log, hasAlternative, onAsked, run, sink, signal };
    const parts = askRoute(attempt.route, request, options);
    try {
      return { walk, attempt, parts, first: await attempt.span.in(() => parts.next()), output };
    } catch (error) {
      if (error instanceof AttemptFailure) attempt.failed(error, { delivered: false });
      else {
        await walk.return();
        throw error;
      }
    }
  }
  return undefined;
}

async function* read({ attempt, parts, first }: OpenedTurn, turn: Turn): AsyncGenerator<TurnPart, void, undefined> {
  const { request, context, attempts } = turn;
  const { route } = attempt;
  try {
    for (let next = first; !next.done; next = await parts.next()) {
      // Before the last part is yielded, because its reader may not pull another one.
      if (next.value.type === 'finish') {
        attempt.succeeded();
        turn.span.finished(next.value);
        const { adapted, leftOut = [] } = next.value;
        warn(context, { request, route, failures: attempts.failures, adapted });
        for (const message of leftOut) context.onWarning?.({ code: 'output_left_out', message });
      }
      yield next.value;
    }
  } catch (error) {
    if (!(error instanceof AttemptFailure)) throw error;
    attempt.failed(error, { delivered: true });
    context.brokenRoutes.push({ route, failure: error });
    throw brokenTurnError({ route, failure: error }, usageOf(turn.meters), context.routes());
  }
}

/** Warns the client of failovers and adapted parameters (docs/api.md, "The response object", `warnings`). */
function warn(
  context: ChatContext,
  {
    request,
    route,
    failures,
    adapted = [],
  }: {
    request: TurnRequest;
    route: Route;
    failures: readonly FailedRoute[];
    adapted?: readonly Adaptation[] | undefined;
  },
): void {
  const failed = [...context.brokenRoutes.splice(0), ...failures];
  const warnings = adaptationWarnings(request, route.provider.traits(route.model), adapted);
  for (const warning of [...failoverWarnings(failed, route), ...warnings]) context.onWarning?.(warning);
}

/** A warning for each route that was given up before this one answered. */
function failoverWarnings(failed: readonly FailedRoute[], answered: Route): Warning[] {
  return failed
    .filter(({ route }) => route.provider.name !== answered.provider.name || route.model !== answered.model)
    .map(({ route, failure }) => ({
      code: 'route_failed_over',
      message: `The route to ${route.provider.name} (${route.model}) was given up for another one: ${failure.kind}.`,
    }));
}

/** A warning for each parameter that the provider takes in another form or not at all. */
function adaptationWarnings(request: TurnRequest, traits: RequestTraits, byWire: readonly Adaptation[]): Warning[] {
  const { refusedParameters, outputLimit } = traits;
  const adapted = [...byWire];
  for (const [param, value] of [
    ['temperature', request.temperature],
    ['top_p', request.topP],
    ['top_logprobs', request.logprobs],
  ] as const) {
    if (value !== undefined && refusedParameters.has(param) && !byWire.some((known) => known.param === param))
      adapted.push({ param, message: `The provider takes no ${param}: it was left out.` });
  }
  const { reasoningEffort: effort } = request;
  const sent = effort && nearestEffort(effort, traits);
  if (sent !== effort) {
    const instead = sent === undefined ? 'it was left out' : `it was asked with ${sent}`;
    adapted.push({ param: 'reasoning.effort', message: `The provider takes no effort ${effort}: ${instead}.` });
  }
  if (request.responseFormat !== undefined && refusedParameters.has('response_format')) adapted.push(IN_WORDS);
  if (outputLimit !== undefined && outputLimit < (request.maxOutputTokens ?? 0))
    adapted.push({
      param: 'max_output_tokens',
      message: `The provider writes at most ${outputLimit} tokens at a time.`,
    });
  return adapted.map((warning) => ({ code: 'parameter_adapted', ...warning }));
}
