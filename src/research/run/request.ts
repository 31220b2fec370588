import type { Effort, Profile } from '../../config/schema.ts';
import type { ContentPart } from '../../protocol/requests/content-parts.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import type { ReasoningSummary } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { HttpMcpServer } from '../../tools/mcp/mcp-server.ts';
import type { SourceLimits } from '../../tools/source-limits.ts';
import type { TurnRequest, TurnTool, TurnToolChoice } from '../../upstream/turn.ts';
import type { StructuredFormat } from '../answer/schema/structured.ts';
import type { ApprovalRule } from '../calls/approvals.ts';
import type { ApprovedCall, TranscriptEntry } from './transcript.ts';

/** A message of the conversation that a run answers. */
export interface ConversationMessage {
  role: 'user' | 'assistant' | 'system' | 'developer';
  content: ContentPart[];
}

/** A source that an earlier run of the conversation found. Its old number is dropped: this run numbers its own sources. */
export interface EarlierSource {
  url: string;
  title: string;
  snippet: string;
  /** The key facts that the earlier run read there. */
  facts?: string;
}

/** A per-request MCP server. Its credentials are encrypted in stored requests. */
export type RequestedMcpServer = Omit<HttpMcpServer, 'timeoutMs'>;

/** Server-side tools that a request names. */
export interface BuiltinTools {
  builtin: string[];
  /** Searching and reading are limited to these domains and their subdomains; empty: all. */
  allowedDomains: string[];
  /** Where the user is, as an ISO 3166 code. */
  country?: string | undefined;
  searchContextSize?: 'low' | 'medium' | 'high' | undefined;
  /** Where `file_search` searches. */
  fileSearch?: FileSearch | undefined;
}

/** The vector stores of a request, and which of their files. */
export interface FileSearch {
  stores: string[];
  /** Files that are searched as well, by their public ids. */
  files?: string[] | undefined;
  /** As the client sent it; see `vector-stores/filters.ts`. */
  filter?: unknown;
  limit?: number | undefined;
  scoreThreshold?: number | undefined;
}

/** Where a run may search and read. */
export interface RequestedSources extends SourceLimits {
  /** Only URLs that appeared in a search result, a page of the run or a message may be read. */
  metOnly?: boolean | undefined;
}

/**
 * What the research loop has to do: the same for Responses, Async and chat completions, with every reference in the
 * request resolved.
 */
export interface ResearchRequest {
  kind: 'research';
  /** Earlier turns of a followed `previous_response_id` chain, oldest first. */
  history: ConversationMessage[];
  earlierSources: EarlierSource[];
  /** The request's own input, with references resolved. */
  conversation: ConversationMessage[];
  instructions: string | null;
  effort: Effort;
  /** Server-side tools the request asks for; null: those of the model. `none`: only the answer turn. */
  tools: BuiltinTools | null;
  toolChoice: 'auto' | 'none';
  mcpServers: RequestedMcpServer[];
  /** Functions that run at the client: a turn that calls one ends the response. */
  functions?: TurnTool[] | undefined;
  /** The function that the first turn has to call; absent: the model decides. */
  functionChoice?: TurnToolChoice | undefined;
  /** Which calls of MCP servers need the client's approval; absent: none. */
  approvals?: ApprovalRule[] | undefined;
  /** The research that this one continues, with the outputs of the functions that it called. */
  goesOn?:
    | {
        /** The entries that follow the transcript of `after`, or the whole transcript if that is absent. */
        entries: TranscriptEntry[];
        /** The run that started the research. */
        from: string;
        /** The run whose transcript, including what came before it, is stored for the runs that continue it. */
        after?: string | undefined;
        /** Approved calls in `entries` that have to be made now. */
        approved?: ApprovedCall[] | undefined;
      }
    | undefined;
  /** Whether the run plans; `auto` by default. `propose`: its answer is the plan, and nothing is looked up. */
  plan?: 'auto' | 'propose' | 'off' | undefined;
  /** Whether the model may ask the user a question before it looks anything up. */
  clarify?: boolean | undefined;
  /** Whether the report has sections; depends on effort and plan by default. */
  report?: 'short' | 'full' | undefined;
  /** Whether the model checks its doubtful sentences against their sources; depends on effort by default. */
  verify?: boolean | undefined;
  /** How many parts of the plan may be researched at the same time. */
  lanes?: number | undefined;
  /** How often the whole question is researched. */
  attempts?: number | undefined;
  /** Whether the answer may have charts. */
  charts?: boolean | undefined;
  /** Replaces the domains of `tools`. */
  sources?: RequestedSources | undefined;
  /** Bounds the final answer, in tokens. */
  maxOutputTokens: number | null;
  maxToolCalls: number | null;
  /** The cost limit of the run, in the configured currency. */
  maxCost?: number | undefined;
  temperature: number | null;
  topP: number | null;
  format: TextFormat | null;
  /** Whether reasoning is sent as summaries, too. */
  reasoningSummary?: ReasoningSummary;
  /** Whose items and events the log has; the gateway's own by default. Chosen at submission. */
  profile?: Profile;
  /** Warnings about the request, for the end of the run. */
  warnings?: Warning[];
  /** Settings that items of the conversation make for this response and those that follow it. */
  settings?: ThreadSettings | undefined;
}

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
