import { z } from 'zod';
import { type ErrorObject, GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { storedError } from './errors.ts';
import { outputItem } from './items.ts';
import { plan } from './plan.ts';
import { warning } from './warnings.ts';

/** The response object (docs/api.md, "The response object"): every key is always present. */

/** `incomplete`: plain models only. Responses of research models are `completed`, with `incomplete_details`. */
export const responseStatus = z.enum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']);

/** A cost in the configured currency. */
export const cost = z.object({ total: z.number().nonnegative(), currency: z.string() });

export const usage = z.object({
  input_tokens: z.int().nonnegative(),
  input_tokens_details: z.object({
    cached_tokens: z.int().nonnegative(),
    /** Tokens that the provider added to its cache; 0 if it does not report them. */
    cache_write_tokens: z.int().nonnegative().default(0),
  }),
  output_tokens: z.int().nonnegative(),
  output_tokens_details: z.object({ reasoning_tokens: z.int().nonnegative() }),
  total_tokens: z.int().nonnegative(),
  num_search_queries: z.int().nonnegative(),
  num_tool_calls: z.int().nonnegative(),
  /** True if a provider reported no usage for a turn; else absent. */
  estimated: z.literal(true).optional(),
  /** Present if every route that was used has a price. */
  cost: cost.optional(),
});

/** How many sentences of an answer, or values of a structured answer, are supported by the sources they cite. */
export const claims = z.object({
  /** All that were checked against the text of a source. */
  checked: z.int().nonnegative(),
  quoted: z.int().nonnegative(),
  partial: z.int().nonnegative(),
  none: z.int().nonnegative(),
  /** Their sources were found by a search but never read. */
  unchecked: z.int().nonnegative(),
  /** Sentences with a figure or a name that cite nothing. */
  unmarked: z.int().nonnegative(),
  /** Values of a structured answer that no source supports, as JSON Pointers (RFC 6901). */
  unmarked_paths: z.array(z.string()).optional(),
});

export const incompleteReason = z.enum([
  'max_output_tokens',
  'content_filter',
  'max_tool_calls',
  'budget',
  'stuck',
  'no_sources',
]);

/** The values of `reasoning.effort`, from the least to the most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const effortName = z.enum(EFFORTS);
/** `reasoning.effort` of research: the other values are mapped to the nearest supported one. */
export const effort = effortName.transform((value): 'low' | 'medium' | 'high' => {
  if (value === 'none' || value === 'minimal') return 'low';
  return value === 'xhigh' || value === 'max' ? 'high' : value;
});

/** The requested length of reasoning summaries. All values give the same: what the model wrote. */
export const reasoningSummary = z.enum(['auto', 'concise', 'detailed']);

/** One of the client's functions, as responses show it. */
const functionTool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.custom<JsonObject>(isObject).meta({ type: 'object', additionalProperties: true }).nullable(),
  strict: z.boolean().nullable(),
  defer_loading: z.boolean().optional(),
});

/** One of the client's custom tools, which take a text. */
const customTool = z.object({
  type: z.literal('custom'),
  name: z.string(),
  description: z.string().nullable().optional(),
  format: z.union([
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() }),
  ]),
});

/** A group of the client's tools. */
const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: z.string(),
  description: z.string().nullable(),
  tools: z.array(z.union([functionTool, customTool])),
});

/** A tool defined by OpenAI that runs at the client, as responses show it. */
const shellTool = z.looseObject({ type: z.enum(['local_shell', 'shell', 'apply_patch']) });

/** A server-side tool, as responses show it: without addresses and credentials of MCP servers. */
export const hostedTool = z.looseObject({ type: z.enum(['web_search', 'file_search', 'code_interpreter', 'mcp']) });

const freeForm = z
  .record(z.string(), z.custom<JsonValue>())
  .meta({ type: 'object', additionalProperties: true, description: 'The `metadata` of the request.' });

export const responseObject = z.object({
  id: z.string().startsWith('resp_'),
  object: z.literal('response'),
  created_at: z.int(),
  started_at: z.int().nullable(),
  completed_at: z.int().nullable(),
  status: responseStatus,
  model: z.string(),
  output: z.array(outputItem),
  output_text: z.string(),
  usage,
  error: storedError.nullable(),
  incomplete_details: z.object({ reason: incompleteReason }).nullable(),
  background: z.boolean(),
  metadata: freeForm,
  instructions: z.string().nullable(),
  previous_response_id: z.string().nullable(),
  /** The conversation of the response; absent without one. */
  conversation: z.object({ id: z.string() }).optional(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.literal(0),
  frequency_penalty: z.literal(0),
  top_logprobs: z.int().min(0).max(20),
  parallel_tool_calls: z.boolean(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })]),
  /** Plain models only: the client's functions as sent, with `strict`, and server-side tools. */
  tools: z.array(z.union([functionTool, namespaceTool, customTool, shellTool, hostedTool])),
  text: z.object({
    format: z.looseObject({ type: z.string() }),
    /** Plain models only, if requested. */
    verbosity: z.string().optional(),
  }),
  reasoning: z.object({ effort: z.string().nullable(), summary: reasoningSummary.nullable() }),
  truncation: z.enum(['auto', 'disabled']),
  store: z.boolean(),
  service_tier: z.literal('default'),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  /** Programs of OpenAI's own. */
  access_programs: z.null(),
  /** The latest version of the plan. */
  plan: plan.nullable(),
  /** Present if the answer may contain charts. */
  charts: z.literal(true).optional(),
  /** Complete with the terminal event. */
  warnings: z.array(warning),
  /** Null until the run has ended, and if it found no sources. */
  claims: claims.nullable(),
});

export type Claims = z.output<typeof claims>;
export type Usage = z.output<typeof usage>;
export type IncompleteReason = z.output<typeof incompleteReason>;
export type ResponseObject = z.output<typeof responseObject>;

/** The usage of a run that has just started. */
export function zeroUsage(): Usage {
  return {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
    num_search_queries: 0,
    num_tool_calls: 0,
  };
}

/** Creates the response object of a newly submitted run. */
export function newResponse({
  id,
  created_at,
  model,
  ...fields
}: Pick<ResponseObject, 'id' | 'created_at' | 'model'> & Partial<ResponseObject>): ResponseObject {
  return {
    id,
    object: 'response',
    created_at,
    started_at: null,
    completed_at: null,
    status: 'in_progress',
    model,
    output: [],
    output_text: '',
    usage: zeroUsage(),
    error: null,
    incomplete_details: null,
    background: false,
    metadata: {},
    instructions: null,
    previous_response_id: null,
    max_output_tokens: null,
    max_tool_calls: null,
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    text: { format: { type: 'text' } },
    reasoning: { effort: 'medium', summary: null },
    truncation: 'disabled',
    store: true,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
    access_programs: null,
    plan: null,
    warnings: [],
    claims: null,
    ...fields,
  };
}

export function cancelledError(): ErrorObject {
  return new GatewayError('cancelled', 'The run was cancelled.').toObject();
}

/** An entry of `GET /v1/responses` (docs/api.md, "The other Responses endpoints"). */
export const responseListEntry = responseObject
  .pick({
    ...{ id: true, object: true, status: true, model: true, created_at: true, started_at: true, completed_at: true },
    ...{ incomplete_details: true, previous_response_id: true, metadata: true },
  })
  /** Null until the response has ended, and for responses that an earlier version stored. */
  .extend({ usage: usage.nullable() });
export type ResponseListEntry = z.output<typeof responseListEntry>;

/** Wraps a page of entries in the list object of the list endpoints. */
export function listObject<T extends { id: string }>(data: T[], hasMore: boolean) {
  return { object: 'list', data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}
