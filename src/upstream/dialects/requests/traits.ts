import { isDeepStrictEqual } from 'node:util';
import type { TurnRequest } from '../../turn.ts';
import { cacheMarks } from './cache-marks.ts';
import { callsLast } from './calls-last.ts';
import { reasoningEffort } from './effort.ts';
import { emptyContent } from './empty-content.ts';
import { instructionRole } from './instruction-role.ts';
import { messageOrder } from './message-order.ts';
import { outputLimit } from './output-limit.ts';
import { refusedParameters } from './refused-parameters.ts';
import { replay } from './replay.ts';
import { thinking } from './thinking.ts';
import { toolCallIds } from './tool-call-ids.ts';
import { toolProtocol } from './tool-protocol.ts';
import { toolSchemas } from './tool-schemas.ts';
import type { ChatBody, RefusedRequest, Trait } from './trait.ts';

/** How a route wants its requests: the provider's dialect at first, then what refusals teach. */
export type RequestTraits = ReturnType<typeof defaultTraits>;

export function defaultTraits() {
  return {
    /** Learned from answers: reasoning is counted in neither the completion tokens nor the total. */
    excludesReasoning: false,
    /** Learned from answers: the model begins with reasoning and writes only the closing tag. */
    startsThinking: false,
    ...cacheMarks.start(),
    ...callsLast.start(),
    ...reasoningEffort.start(),
    ...emptyContent.start(),
    ...instructionRole.start(),
    ...messageOrder.start(),
    ...outputLimit.start(),
    ...refusedParameters.start(),
    ...replay.start(),
    ...thinking.start(),
    ...toolCallIds.start(),
    ...toolProtocol.start(),
    ...toolSchemas.start(),
  };
}

/** From the most to the least specific: the first that recognises a refusal learns from it. */
const TRAITS: readonly Trait<object, RequestTraits>[] = [
  toolCallIds,
  outputLimit,
  reasoningEffort,
  thinking,
  cacheMarks,
  callsLast,
  replay,
  refusedParameters,
  toolProtocol,
  toolSchemas,
  messageOrder,
  instructionRole,
  emptyContent,
];
/** The general shape of a request is settled before its details. */
const SHAPING = TRAITS.toReversed();

/** Learns from a refusal what the route wants. True if the request may succeed in its new form. */
export function learn(refusal: RefusedRequest, traits: RequestTraits): boolean {
  return TRAITS.some((trait) => trait.learn?.(refusal, traits));
}

/** The request as the route wants it. `api`: see `Wire`. */
export function shapedRequest(request: TurnRequest, traits: RequestTraits, api: string): TurnRequest {
  return SHAPING.reduce((shaped, trait) => trait.shape?.(shaped, traits, api) ?? shaped, request);
}

/** Gives the body of a chat completion the form that the route wants. `changing`: see `Trait`. */
export function shapeChat(body: ChatBody, traits: RequestTraits, changing: number): void {
  for (const trait of SHAPING) trait.shapeChat?.(body, traits, changing);
}

/** Adds to `known`, which other turns may have changed meanwhile, what one turn has `learned` since `before`. */
export function keepLearned(known: RequestTraits, learned: RequestTraits, before: RequestTraits): void {
  const merged = Object.entries(learned).flatMap(([trait, value]) => {
    const name = trait as keyof RequestTraits;
    const [now, was] = [known[name], before[name]];
    if (isDeepStrictEqual(value, was)) return [];
    const areSets = value instanceof Set && now instanceof Set && was instanceof Set;
    return [[name, areSets ? now.difference(was.difference(value)).union(value.difference(was)) : value]];
  });
  Object.assign(known, Object.fromEntries(merged));
}

/** What refusals taught since `before`, for people to read. */
export function learnedSince(before: RequestTraits, learned: RequestTraits): string[] {
  return TRAITS.flatMap((trait) => trait.findings?.(learned, before) ?? []);
}
