import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { storedObject } from '../../base/stored-object.ts';
import { effortLevel, profile } from '../../config/schema/models.ts';
import type { ContentPart } from '../../protocol/requests/content-parts.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import { reasoningSummary } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { requestedMcpServer } from '../../tools/mcp/mcp-server.ts';
import { type TurnRequest, turnTool, turnToolChoice } from '../../upstream/turn.ts';
import type { StructuredFormat } from '../answer/schema/structured.ts';
import { approvedCall, transcriptEntry } from './transcript.ts';

/**
 * What the research loop has to do, in the form in which it is stored. Fields added after the first version are optional.
 * `plain/request.ts` shares the parts.
 */

/** A message of the conversation that a run answers. */
export interface ConversationMessage {
  role: 'user' | 'assistant' | 'system' | 'developer';
  content: ContentPart[];
}
const message: z.ZodType<ConversationMessage> = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('image'), url: z.string() }),
    ]),
  ),
});

/** A source that an earlier run of the conversation found. Its old number is dropped: this run numbers its own sources. */
const earlierSource = storedObject({
  url: z.string(),
  title: z.string(),
  snippet: z.string(),
  /** The key facts that the earlier run read there. */
  facts: z.string().optional(),
});
export type EarlierSource = z.output<typeof earlierSource>;

/** The vector stores of a request, and which of their files. */
const fileSearch = storedObject({
  stores: z.array(z.string()),
  /** Files that are searched as well, by their public ids. */
  files: z.array(z.string()).optional(),
  /** As the client sent it; see `vector-stores/filters.ts`. */
  filter: z.unknown().optional(),
  limit: z.number().optional(),
  scoreThreshold: z.number().optional(),
});
export type FileSearch = z.output<typeof fileSearch>;

/** Server-side tools that a request names. */
export const builtinTools = storedObject({
  builtin: z.array(z.string()),
  /** Searching and reading are limited to these domains and their subdomains; empty: all. */
  allowedDomains: z.array(z.string()),
  /** Where the user is, as an ISO 3166 code. */
  country: z.string().optional(),
  searchContextSize: z.enum(['low', 'medium', 'high']).optional(),
  fileSearch: fileSearch.optional(),
});
export type BuiltinTools = z.output<typeof builtinTools>;

/** Where a run may search and read; see `SourceLimits`. */
export const requestedSources = storedObject({
  allowedDomains: z.array(z.string()),
  blockedDomains: z.array(z.string()).optional(),
  after: z.string().optional(),
  before: z.string().optional(),
  /** Only URLs that appeared in a search result, a page of the run or a message may be read. */
  metOnly: z.boolean().optional(),
});
export type RequestedSources = z.output<typeof requestedSources>;

/** A function of the client's own, as it is offered to models. */
export const offeredFunction = turnTool.extend({
  /** The name belongs to no namespace, although it has a dot. */
  dotted: z.literal(true).optional(),
  /** Represents a custom tool, whose input is a text: the one string argument is that text. */
  custom: z.literal(true).optional(),
  /** Represents a tool of OpenAI's that runs at the client. */
  shell: z.enum(['local_shell', 'shell', 'apply_patch']).optional(),
  /** Represents the client's tool search, which answers with more tools. */
  search: z.literal(true).optional(),
  /** Deferred to tool search. The first function of a namespace has the namespace's description here, others ''. */
  deferred: z.string().optional(),
});
export type OfferedFunction = z.output<typeof offeredFunction>;
/** OpenAI's tools that run at the client, by their types. */
export type ShellTool = NonNullable<OfferedFunction['shell']>;

/**
 * Which tools of a server need approval: those in `always`; if `never` is set, also all that it does not name; without
 * either, all.
 */
export const approvalRule = storedObject({
  server: z.string(),
  always: z.array(z.string()).optional(),
  never: z.array(z.string()).optional(),
});
export type ApprovalRule = z.output<typeof approvalRule>;

export const storedFormat: z.ZodType<TextFormat> = z.discriminatedUnion('type', [
  storedObject({ type: z.literal('text') }),
  storedObject({ type: z.literal('json_object') }),
  storedObject({
    type: z.literal('json_schema'),
    name: z.string().optional(),
    schema: z.custom<JsonObject>(isObject),
    strict: z.boolean().optional(),
    description: z.string().optional(),
  })
    // JSON has no undefined: make the optional fields explicit.
    .transform(({ name, strict, description, ...rest }) => ({ ...rest, name, strict, description })),
]);

/** `ThreadSettings`: what items of the conversation set for this response and those that follow it. */
export const storedSettings = storedObject({
  tools: z.array(z.custom<ResponseTool>(isObject)).optional(),
  effort: z.string().optional(),
  format: storedFormat.optional(),
});

/** The research that a request continues, with the outputs of the functions that it called. */
const goesOn = storedObject({
  /** The entries that follow the transcript of `after`, or the whole transcript if that is absent. */
  entries: z.array(transcriptEntry),
  /** The run that started the research. */
  from: z.string(),
  /** The run whose transcript, including what came before it, is stored for the runs that continue it. */
  after: z.string().optional(),
  /** What its last turn read and wrote, in tokens: the next one reads it again. */
  tokens: z.number().optional(),
  /** Approved calls in `entries` that have to be made now. */
  approved: z.array(approvedCall).optional(),
});

/** The same for Responses, Async and chat completions, with every reference in the request resolved. */
export const researchRequest = storedObject({
  kind: z.literal('research'),
  /** Earlier turns of a followed `previous_response_id` chain, oldest first. */
  history: z.array(message),
  earlierSources: z.array(earlierSource),
  /** The request's own input, with references resolved. */
  conversation: z.array(message),
  instructions: z.string().nullable(),
  effort: effortLevel,
  /** Server-side tools the request asks for; null: those of the model. */
  tools: builtinTools.nullable(),
  /** `none`: only the answer turn. */
  toolChoice: z.enum(['auto', 'none']),
  mcpServers: z.array(requestedMcpServer),
  /** Functions that run at the client: a turn that calls one ends the response. */
  functions: z.array(offeredFunction).optional(),
  /** The function that the first turn has to call; absent: the model decides. */
  functionChoice: turnToolChoice.optional(),
  /** Which calls of MCP servers need the client's approval; absent: none. */
  approvals: z.array(approvalRule).optional(),
  /** A turn calls at most one of them. */
  oneFunctionAtOnce: z.literal(true).optional(),
  goesOn: goesOn.optional(),
  /** Whether the run plans; `auto` by default. `propose`: its answer is the plan, and nothing is looked up. */
  plan: z.enum(['auto', 'propose', 'off']).optional(),
  /** Whether the model may ask the user a question before it looks anything up. */
  clarify: z.boolean().optional(),
  /** Whether the report has sections; depends on effort and plan by default. */
  report: z.enum(['short', 'full']).optional(),
  /** Whether the model checks its doubtful sentences against their sources; depends on effort by default. */
  verify: z.boolean().optional(),
  /** How many parts of the plan may be researched at the same time. */
  lanes: z.int().optional(),
  /** How often the whole question is researched. */
  attempts: z.int().optional(),
  /** Whether the answer may have charts. */
  charts: z.boolean().optional(),
  /** Replaces the domains of `tools`. */
  sources: requestedSources.optional(),
  /** Bounds the final answer, in tokens. */
  maxOutputTokens: z.number().nullable(),
  maxToolCalls: z.number().nullable(),
  /** The cost limit of the run, in the configured currency. */
  maxCost: z.number().positive().optional(),
  temperature: z.number().nullable(),
  topP: z.number().nullable(),
  format: storedFormat.nullable(),
  /** Whether reasoning is sent as summaries, too. */
  reasoningSummary: reasoningSummary.optional(),
  /** Whose items and events the log has; the gateway's own by default. Chosen at submission. */
  profile: profile.optional(),
  /** Warnings about the request, for the end of the run. A newer gateway may know more of them. */
  warnings: z.array(z.custom<Warning>(isObject)).optional(),
  settings: storedSettings.optional(),
});
export type ResearchRequest = z.output<typeof researchRequest>;

/** What a follow-up request takes over from the conversation before it. */
export interface FollowUp extends Pick<ResearchRequest, 'history' | 'earlierSources'> {
  /** Whether it answers a question that the model asked; the model may not ask again then. */
  answersQuestion: boolean;
}

/** A text, and the URLs of images that come with it. */
export interface TextWithImages {
  text: string;
  images?: string[] | undefined;
}

/** A request's answers to the function calls and approval requests of a research run. */
export interface FunctionOutputs {
  /** Outputs by `call_id`. */
  outputs: ReadonlyMap<string, TextWithImages>;
  /** The `call_id` of a call that has several outputs. */
  duplicate?: string | undefined;
  /** Whether a call may be made, by the id of its approval request. */
  approvals: ReadonlyMap<string, boolean>;
  /** The `call_id` of each call that the request repeats. */
  repeatedCalls: ReadonlySet<string | undefined>;
  /** The user messages that come with the outputs. */
  messages: readonly TextWithImages[];
  /** Whether the request outlives its run (`store`): it then refers to the stored transcript of the research before. */
  isStored: boolean;
  /** The field to blame if the outputs do not match the calls; absent: they are then taken as context, not as answers. */
  param?: string | undefined;
}

/** What a continued research run takes over from the one before it. */
export type ContinuedResearch = Pick<
  ResearchRequest,
  'history' | 'earlierSources' | 'conversation' | 'instructions' | 'functions' | 'goesOn'
>;

/** The format of a structured answer, or undefined if the answer is text. */
export function structuredFormat({
  request: { format },
}: {
  request: Pick<ResearchRequest, 'format'>;
}): StructuredFormat | undefined {
  return format === null || format.type === 'text' ? undefined : format;
}

/** `text.format` as the `response_format` of chat completions. */
export function responseFormat(format: StructuredFormat): NonNullable<TurnRequest['responseFormat']> {
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name = 'answer', schema, strict } = format;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === undefined ? {} : { strict }) } };
}
