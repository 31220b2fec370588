import type { JsonObject } from '../../base/json.ts';
import { type Logger, REDACTED } from '../../base/logger.ts';
import { CallMeter, usageOf } from '../call-meter.ts';
import type { DecodedTurn } from '../decoding/decoded-turn.ts';
import { estimateInput, estimateTokens } from '../decoding/estimate.ts';
import { TokenLogprobs } from '../decoding/token-logprobs.ts';
import { learnLargestOutput } from '../dialects/requests/output-limit.ts';
import type { ToolNames } from '../dialects/requests/tool-names.ts';
import { keepLearned, learn, type RequestTraits } from '../dialects/requests/traits.ts';
import { quotationsIn } from '../dialects/text-tool-calls/quoted-calls.ts';
import type { Adaptation, AssistantMessage, DeltaSink, TurnPart, TurnRequest, TurnUsage } from '../turn.ts';
import { learnReplayRefusal, type RunTraits } from '../wires/replayed.ts';
import { WIRES } from '../wires/wires.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { refusesCredential } from './refusals.ts';
import type { Route } from './routes.ts';
import { readTurn } from './turn-attempt.ts';

/** How many refusals in a row one turn learns from: more than any provider needs, because the next turn begins anew. */
const MAX_LEARNED = 10;

export interface RouteRequestOptions {
  /** The meters of the turn's calls so far; each new call adds its own. */
  meters: CallMeter[];
  log: Logger;
  /** Another route could be tried, so a silent one is abandoned sooner. */
  hasAlternative?: boolean;
  /** See `ProviderCallOptions`. */
  onAsked?: () => void;
  /** What the run learned about its history. */
  run: RunTraits;
  /** Called with the decoded turn before its last parts are yielded. */
  onTurn?: (turn: DecodedTurn) => void;
  /** See `TurnOptions`. */
  sink?: DeltaSink;
  signal: AbortSignal;
}

/**
 * Asks one route for a turn. After a refusal that teaches how the provider wants its requests, asks again at once in
 * that way. Other turns take that over once the provider has answered: a request that is refused in every form teaches
 * nothing, because its refusal may repeat words of the client.
 * @throws AttemptFailure, or the signal's reason.
 */
export async function* askRoute(
  route: Route,
  request: TurnRequest,
  options: RouteRequestOptions,
): AsyncGenerator<TurnPart, void, undefined> {
  const { run } = options;
  const known = route.provider.traits(route.model);
  const before = structuredClone(known);
  const traits = structuredClone(known);
  const onTurn = (turn: DecodedTurn) => {
    keepLearned(known, traits, before);
    options.onTurn?.(turn);
  };
  for (let learned = 0; ; learned += 1) {
    try {
      yield* askOnce(route, request, { ...options, onTurn, traits });
      return;
    } catch (error) {
      if (!(error instanceof AttemptFailure) || learned === MAX_LEARNED) throw error;
      if (!learnFromRefusal(error, traits, { request, run })) throw error;
      const where = { provider: route.provider.name, upstream_model: route.model };
      options.log.info(where, `provider ${route.provider.name} is asked in another way after: ${error.message}`);
    }
  }
}

async function* askOnce(
  route: Route,
  request: TurnRequest,
  { traits, ...options }: RouteRequestOptions & { traits: RequestTraits },
): AsyncGenerator<TurnPart> {
  const { provider, model, credential, rules } = route;
  const target = provider.target(credential, rules);
  const wire = WIRES[provider.config.wire];
  const mask = (text: string) => target.mask.maskText(text, REDACTED);
  const { body, names, adapted } = wire.request(request, { provider: provider.name, model, traits, run: options.run });
  const meter = new CallMeter(route, { prompt: () => estimateInput(request) });
  options.meters.push(meter);
  const streamed = body.stream === true;
  const turn = yield* readTurn({
    target,
    wire,
    body,
    decoding: {
      tools: request.tools?.length ? request.tools : request.earlierTools,
      isQuotation: traits.toolProtocol === 'native' ? quotationsIn(request.messages) : undefined,
      mayBeEmpty: request.mayBeEmpty ?? false,
      reasoningIsText: request.reasoningIsText,
      takesImages: request.takesImages ?? false,
      learned: provider.traits(model),
      logprobs: request.logprobs === undefined ? undefined : new TokenLogprobs(request.logprobs),
    },
    meter,
    onAsked: options.onAsked,
    streamed,
    patience: options.hasAlternative
      ? provider.patience(model, { streamed, bytes: estimateInput(request) * 4 })
      : undefined,
    firstTokens: provider.firstTokens(model, { streamed }),
    sink: options.sink,
    signal: options.signal,
  });
  options.onTurn?.(turn);
  meter.setDelivered(outputTokens(turn));
  if (turn.usage) meter.reported(turn.usage, { whole: true });
  yield* finalParts(turn, { route, names, adapted, usage: usageOf(options.meters), mask });
}

/** Learns from a refusal how to ask again; false where it teaches nothing new. */
function learnFromRefusal(
  failure: AttemptFailure,
  traits: RequestTraits,
  { request, run }: { request: TurnRequest; run: RunTraits },
): boolean {
  const { refusal, status } = failure;
  if (refusal === undefined || status === undefined) return false;
  if (refusesCredential(status) || status === 408 || status === 429) return false;
  if (status !== 500 && status !== 501 && (status < 400 || status >= 500)) return false;
  if (learnReplayRefusal(refusal.text, request.messages, run)) return true;
  return failure.kind === 'context_length' ? learnLargestOutput(refusal, traits) : learn(refusal, traits);
}

function* finalParts(
  turn: DecodedTurn,
  context: {
    route: Route;
    names: ToolNames;
    adapted: readonly Adaptation[] | undefined;
    usage: TurnUsage;
    mask(text: string): string;
  },
): Generator<TurnPart> {
  const { route, names, adapted, usage, mask } = context;
  const { provider, model, contextLength, price } = route;
  const calls = turn.calls.map((call) => ({
    ...call,
    id: mask(call.id),
    name: mask(names.original(call.name)),
    arguments: mask(call.arguments),
  }));
  for (const call of calls) yield { type: 'tool_call', call };
  const message: AssistantMessage = { role: 'assistant', content: mask(turn.text) };
  if (calls.length > 0) message.tool_calls = calls;
  if (turn.images.length > 0) message.images = turn.images.map(mask);
  if (turn.replay)
    message.replay = { provider: provider.name, fields: replayFields(maskFields(turn.replay, mask), route) };
  const citations = turn.citations.map((cited) => ({ ...cited, url: mask(cited.url), title: mask(cited.title) }));
  const answeringRoute = { provider: provider.name, model, contextLength, price };
  yield {
    ...{ type: 'finish', reason: turn.reason, usage, message, route: answeringRoute },
    ...(adapted && { adapted }),
    ...(citations.length > 0 && { citations }),
    ...(turn.leftOut.length > 0 && { leftOut: turn.leftOut }),
  };
}

function maskFields(fields: JsonObject, mask: (text: string) => string): JsonObject {
  const text = JSON.stringify(fields);
  const masked = mask(text);
  return masked === text ? fields : JSON.parse(masked);
}

/** Only the model that wrote encrypted or signed reasoning can read it, so wire and model are stored with it. */
function replayFields(fields: JsonObject, { provider, model }: Route): JsonObject {
  const { wire } = provider.config;
  return wire === 'chat' ? fields : { ...fields, wire, model };
}

function outputTokens(turn: DecodedTurn): number {
  const calls = turn.calls.reduce((sum, call) => sum + estimateTokens(call.name + call.arguments), 0);
  return estimateTokens(turn.text) + turn.reasoningTokens + calls;
}
