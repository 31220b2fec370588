import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { TraceContext } from '../../base/trace-context.ts';
import { effortLevel } from '../../config/schema/models.ts';
import type { PlainRequest } from '../../plain/request.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import { reasoningSummary } from '../../protocol/response.ts';
import type { ResearchRequest } from '../../research/run/request.ts';
import { approvedCall, assistantMessage, transcriptEntry } from '../../research/run/transcript.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import type { RunRequest, RunReservation } from '../submission.ts';

/**
 * A request as a record stores it: the input as submitted, and credentials of MCP servers encrypted. Fields added after
 * the first version have a default or are optional.
 */
export interface StoredRequest {
  /** Absent in the first version. */
  v: number;
  input: JsonObject[];
  request: RunRequest;
  /** The encrypted `RequestedMcpServer[]`, if the request attached any. */
  mcpServers?: string;
  held?: RunReservation;
  trace?: TraceContext;
  /** The tag that its usage is counted under. */
  tag?: string;
  /** False: the run ends at once, without calling the model. */
  generate?: false;
  /** How long it is retained after its end, in milliseconds, if not for the configured time. */
  keepMs?: number;
  /** The conversation that it joined, without prefix. */
  conversation?: string;
  /** Webhooks are notified of its end: the encrypted `RequestedWebhook`, or if empty, only the key's. */
  webhook?: string;
}

const jsonObject = z.custom<JsonObject>(isObject);
const message = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('image'), url: z.string() }),
    ]),
  ),
});
/** The schema of `RequestedMcpServer`. */
export const mcpServer = z.looseObject({
  name: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()).optional(),
  accessToken: z.string().optional(),
  allowedTools: z.array(z.string()).optional(),
  oauth: z
    .looseObject({
      clientId: z.string(),
      clientSecret: z.string(),
      tokenUrl: z.string().optional(),
      issuer: z.string().optional(),
      scope: z.string().optional(),
    })
    .optional(),
});
const format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z
    .looseObject({
      type: z.literal('json_schema'),
      name: z.string().optional(),
      schema: jsonObject,
      strict: z.boolean().optional(),
      description: z.string().optional(),
    })
    // JSON has no undefined: make the optional fields explicit.
    .transform(({ name, strict, description, ...rest }) => ({ ...rest, name, strict, description })),
]);

const builtinTools = z.looseObject({
  builtin: z.array(z.string()),
  allowedDomains: z.array(z.string()),
  country: z.string().optional(),
  searchContextSize: z.enum(['low', 'medium', 'high']).optional(),
  fileSearch: z
    .looseObject({
      stores: z.array(z.string()),
      files: z.array(z.string()).optional(),
      filter: z.unknown().optional(),
      limit: z.number().optional(),
      scoreThreshold: z.number().optional(),
    })
    .optional(),
});
const sources = z.looseObject({
  allowedDomains: z.array(z.string()),
  blockedDomains: z.array(z.string()).optional(),
  after: z.string().optional(),
  before: z.string().optional(),
  metOnly: z.boolean().optional(),
});

const turnTool = z.looseObject({
  name: z.string(),
  description: z.string(),
  parameters: jsonObject,
  strict: z.boolean().optional(),
  deferred: z.string().optional(),
  grammar: z
    .looseObject({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() })
    .optional(),
});
const turnToolChoice = z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ name: z.string() })]);

const approvals = z.array(
  z.looseObject({ server: z.string(), always: z.array(z.string()).optional(), never: z.array(z.string()).optional() }),
);

const settings = z.looseObject({
  tools: z.array(z.custom<ResponseTool>(isObject)).optional(),
  effort: z.string().optional(),
  format: format.optional(),
});

const research: z.ZodType<ResearchRequest> = z.looseObject({
  kind: z.literal('research'),
  history: z.array(message),
  earlierSources: z.array(
    z.looseObject({ url: z.string(), title: z.string(), snippet: z.string(), facts: z.string().optional() }),
  ),
  conversation: z.array(message),
  instructions: z.string().nullable(),
  effort: effortLevel,
  tools: builtinTools.nullable(),
  toolChoice: z.enum(['auto', 'none']),
  mcpServers: z.array(mcpServer),
  functions: z.array(turnTool).optional(),
  functionChoice: turnToolChoice.optional(),
  goesOn: z
    .looseObject({
      entries: z.array(transcriptEntry),
      from: z.string(),
      after: z.string().optional(),
      approved: z.array(approvedCall).optional(),
    })
    .optional(),
  approvals: approvals.optional(),
  plan: z.enum(['auto', 'propose', 'off']).optional(),
  clarify: z.boolean().optional(),
  report: z.enum(['short', 'full']).optional(),
  verify: z.boolean().optional(),
  lanes: z.int().optional(),
  attempts: z.int().optional(),
  charts: z.boolean().optional(),
  sources: sources.optional(),
  maxOutputTokens: z.number().nullable(),
  maxToolCalls: z.number().nullable(),
  temperature: z.number().nullable(),
  topP: z.number().nullable(),
  maxCost: z.number().positive().optional(),
  format: format.nullable(),
  settings: settings.optional(),
});

const turnMessage: z.ZodType<TurnMessage> = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: z.string() }),
  z.looseObject({
    role: z.literal('user'),
    content: z.union([
      z.string(),
      z.array(
        z.discriminatedUnion('type', [
          z.looseObject({ type: z.literal('text'), text: z.string() }),
          z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }),
          z.looseObject({
            type: z.literal('file'),
            file: z.looseObject({ filename: z.string(), file_data: z.string() }),
          }),
          z.looseObject({
            type: z.literal('input_audio'),
            input_audio: z.looseObject({ data: z.string(), format: z.string() }),
          }),
        ]),
      ),
    ]),
  }),
  assistantMessage,
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
]);
const plain: z.ZodType<PlainRequest> = z.looseObject({
  kind: z.literal('plain'),
  messages: z.array(turnMessage),
  instructions: z.string().nullable(),
  tools: z.array(
    turnTool.extend({
      custom: z.literal(true).optional(),
      search: z.literal(true).optional(),
      shell: z.enum(['local_shell', 'shell', 'apply_patch']).optional(),
    }),
  ),
  hosted: builtinTools.optional(),
  sources: sources.optional(),
  mcpServers: z.array(mcpServer),
  approvals: approvals.optional(),
  approved: z.looseObject({ message: assistantMessage, requests: z.array(z.string()) }).optional(),
  maxToolCalls: z.number().nullable(),
  toolChoice: turnToolChoice,
  oneCallAtOnce: z.boolean(),
  maxOutputTokens: z.number().nullable(),
  temperature: z.number().nullable(),
  topP: z.number().nullable(),
  stop: z.array(z.string()).optional(),
  format: format.nullable(),
  reasoningEffort: z.string().nullable(),
  verbosity: z.string().optional(),
  reasoningSummary: reasoningSummary.optional(),
  compactAt: z.number().positive().optional(),
  compacts: z.literal(true).optional(),
  truncates: z.literal(true).optional(),
  encryptedReasoning: z.literal(true).optional(),
  logprobs: z.int().nonnegative().optional(),
  cacheKey: z.string().optional(),
  settings: settings.optional(),
});

const heldLimits = z.looseObject({
  place: z.boolean().optional(),
  tokens: z.number().optional(),
  cost: z.number().optional(),
  minuteTokens: z.number().optional(),
  monthCost: z.number().optional(),
});

export const storedRequestSchema: z.ZodType<StoredRequest> = z.looseObject({
  v: z.int().positive().default(1),
  input: z.array(jsonObject),
  request: z.union([research, plain, z.looseObject({ kind: z.literal('proxy'), body: z.string() })]),
  mcpServers: z.string().optional(),
  held: heldLimits.extend({ team: heldLimits.extend({ id: z.string() }).optional() }).optional(),
  tag: z.string().optional(),
  trace: z.looseObject({ traceparent: z.string(), tracestate: z.string().optional() }).optional(),
  generate: z.literal(false).optional(),
  keepMs: z.number().nonnegative().optional(),
  conversation: z.string().optional(),
  webhook: z.string().optional(),
});
/** Parsed first, because a newer gateway may have written the rest. */
export const requestVersion = z.looseObject({ v: z.int().positive().default(1) });
