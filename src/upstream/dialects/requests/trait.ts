import type { JsonObject } from '../../../base/json.ts';
import type { TurnRequest } from '../../turn.ts';

/**
 * One thing in which routes want their requests different: how it starts, how a refusal teaches it, how it shapes a
 * request, and what `probe` says of it. `Known`: the fields of other traits that it looks at, besides its own.
 */
export interface Trait<Own, Known = Own> {
  /** Its fields before anything was learned. */
  start(): Own;
  /** Reads it from a refusal. True: something new was learned, so that asking again may succeed. */
  learn?(refusal: RefusedRequest, traits: Known): boolean;
  /** The request as the route wants it, before it is written in the words of a wire. `api`: see `Wire`. */
  shape?(request: TurnRequest, traits: Known, api: string): TurnRequest;
  /** Changes the body of a chat completion. */
  shapeChat?(body: ChatBody, traits: Known): void;
  /** What was learned since `before`, for people. */
  findings?(learned: Known, before: Known): string[];
}

export type ChatBody = JsonObject & { messages: JsonObject[] };

/** A provider's refusal of a request that may teach something. */
export interface RefusedRequest {
  /** The body of the answer. */
  text: string;
  /** The request that was refused. */
  body: Readonly<Record<string, unknown>>;
}

/** Whether a refusal is about this field: it names it and says that it is not wanted. */
export function refuses(text: string, field: string): boolean {
  const named = new RegExp(`(?<!\\w)${field}(?!\\w)`, 'i').test(text);
  return named && NOT_WANTED.test(text);
}

const NOT_WANTED =
  /not support|unsupported|unknown|unrecognized|unexpected|extra (?:input|field|param)|extra_forbidden|not permitted|not allowed|disallowed|forbidden|does ?n[o']t support|invalid|only the default|deprecated|is not enabled|not one of|cannot|can't|not available|additional propert|must not|no such|not accept|not recognized|not valid|mutually exclusive|should not|remove/i;
