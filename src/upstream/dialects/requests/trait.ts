import type { JsonObject } from '../../../base/json.ts';
import type { TurnRequest } from '../../turn.ts';

/**
 * One respect in which routes want their requests to differ: its initial state, how a refusal changes it, how it shapes a
 * request, and what `probe` reports of it. `Known`: the fields that it reads, its own and those of other traits.
 */
export interface Trait<Own, Known = Own> {
  /** Its fields before anything is learned. */
  start(): Own;
  /** Learns from a refusal. True if something new was learned, so that asking again may succeed. */
  learn?(refusal: RefusedRequest, traits: Known): boolean;
  /** The request as the route wants it, before a wire turns it into a body. `api`: see `Wire`. */
  shape?(request: TurnRequest, traits: Known, api: string): TurnRequest;
  /** Changes the body of a chat completion. `changing`: how many of its last messages no later request repeats. */
  shapeChat?(body: ChatBody, traits: Known, changing: number): void;
  /** What was learned since `before`, for people to read. */
  findings?(learned: Known, before: Known): string[];
}

export type ChatBody = JsonObject & { messages: JsonObject[] };

/** A request and the refusal that it got. */
export interface RefusedRequest {
  /** The body of the answer. */
  text: string;
  /** The request that was refused. */
  body: Readonly<Record<string, unknown>>;
}

/** Whether the text names this field (a pattern) and says that something is not accepted. */
export function refuses(text: string, field: string): boolean {
  const isNamed = new RegExp(`(?<!\\w)${field}(?!\\w)`, 'i').test(text);
  return isNamed && NOT_ACCEPTED.test(text);
}

const NOT_ACCEPTED =
  /not support|unsupported|unknown|unrecognized|unexpected|extra (?:input|field|param)|extra_forbidden|not permitted|not allowed|disallowed|forbidden|does ?n[o']t support|invalid|only the default|deprecated|is not enabled|not one of|cannot|can't|not available|additional propert|must not|no such|not accept|not recognized|not valid|mutually exclusive|should not|remove/i;
