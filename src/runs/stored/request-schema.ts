import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { storedObject } from '../../base/stored-object.ts';
import { plainRequest } from '../../plain/request.ts';
import { researchRequest } from '../../research/run/request.ts';

/** A request as a record stores it. Fields added after the first version have a default or are optional. */

/** One non-streamed chat completion of a proxy model, run in the background (docs/api.md, "Async"). */
const proxyRequest = storedObject({
  kind: z.literal('proxy'),
  /** The body as the client sent it; it is forwarded byte for byte. */
  body: z.string(),
});
export type ProxyRequest = z.output<typeof proxyRequest>;

const runRequest = z.union([researchRequest, plainRequest, proxyRequest]);
export type RunRequest = z.output<typeof runRequest>;

const limitReservation = storedObject({
  /** Whether it takes one of the places of `concurrent_runs`. */
  place: z.boolean().optional(),
  /** Tokens reserved of `tokens_per_day`. */
  tokens: z.number().optional(),
  /** Millionths reserved of `cost_per_day`. */
  cost: z.number().optional(),
  /** Tokens reserved of `tokens_per_minute`. */
  minuteTokens: z.number().optional(),
  /** Millionths reserved of `cost_per_month`. */
  monthCost: z.number().optional(),
});
export type LimitReservation = z.output<typeof limitReservation>;

/**
 * What a run has reserved of its key's limits until it ends. It is stored with the run, so that whoever ends the run can
 * release it: the instance that admitted it may be gone.
 */
const runReservation = limitReservation.extend({
  /** What it has reserved of the limits of its key's team, which is the team at admission. */
  team: limitReservation.extend({ id: z.string() }).optional(),
});
export type RunReservation = z.output<typeof runReservation>;

export const storedRequestSchema = storedObject({
  /** Absent in the first version. */
  v: z.int().positive().default(1),
  /** The input as submitted. */
  input: z.array(z.custom<JsonObject>(isObject)),
  request: runRequest,
  /** The encrypted `RequestedMcpServer[]`, if the request attached any. */
  mcpServers: z.string().optional(),
  held: runReservation.optional(),
  trace: storedObject({ traceparent: z.string(), tracestate: z.string().optional() }).optional(),
  /** The tag that its usage is counted under. */
  tag: z.string().optional(),
  /** False: the run ends at once, without calling the model. */
  generate: z.literal(false).optional(),
  /** How long it is retained after its end, in milliseconds, if not for the configured time. */
  keepMs: z.number().nonnegative().optional(),
  /** The conversation that it joined, without prefix. */
  conversation: z.string().optional(),
  /** Webhooks are notified of its end: the encrypted `RequestedWebhook`, or if empty, only the key's. */
  webhook: z.string().optional(),
});
export type StoredRequest = z.output<typeof storedRequestSchema>;

/** Parsed first, because a newer gateway may have written the rest. */
export const requestVersion = storedRequestSchema.pick({ v: true });
