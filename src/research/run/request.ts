import type { Effort, Profile } from '../../config/schema.ts';
import type { ContentPart } from '../../protocol/requests/content-parts.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import type { ReasoningSummary } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
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

/** A source that an earlier run of the conversation found. It keeps no number: this run gives its own. */
export interface EarlierSource {
  url: string;
  title: string;
  snippet: string;
  /** What the earlier run read there, reduced to key facts. */
  facts?: string;
}

/** A per-request MCP server. Its credentials are encrypted in stored requests. */
export interface RequestedMcpServer {
  name: string;
  url: string;
  headers?: Record<string, string>;
  accessToken?: string;
  allowedTools?: string[];
  oauth?: { clientId: string; clientSecret: string; tokenUrl?: string; issuer?: string; scope?: string };
}

/** Server-side tools that a request names. */
export interface BuiltinTools {
  builtin: string[];
  /** Searching and reading are held to these domains and what is below them; empty: all. */
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
  /** Files that are searched beside them, by their public ids. */
  files?: string[] | undefined;
  /** As the client sent it; see `vector-stores/filters.ts`. */
  filter?: unknown;
  limit?: number | undefined;
  scoreThreshold?: number | undefined;
}

/** Where a run may search and read. */
export interface RequestedSources extends SourceLimits {
  /** Only addresses that a result, a page of the run or a message named are read. */
  metOnly?: boolean | undefined;
}

/**
 * What the research loop is asked to do: the same for Responses, Async and chat completions, with everything looked
 * up that the request refers to.
 */
export interface ResearchRequest {
  kind: 'research';
  /** Earlier turns of a followed `previous_response_id` chain, oldest first. */
  history: ConversationMessage[];
  earlierSources: EarlierSource[];
  /** The request's own input, with references looked up. */
  conversation: ConversationMessage[];
  instructions: string | null;
  effort: Effort;
  /** Server-side tools the request asks for; null: those of the model. `none`: only the answer turn. */
  tools: BuiltinTools | null;
  toolChoice: 'auto' | 'none';
  mcpServers: RequestedMcpServer[];
  /** Functions that run at the client: a turn that calls one ends the response. */
  functions?: TurnTool[] | undefined;
  /** What the first turn has to call; absent: what it will. */
  functionChoice?: TurnToolChoice | undefined;
  /** Which calls of MCP servers the client approves first; absent: none. */
  approvals?: ApprovalRule[] | undefined;
  /** The research that this one goes on from, with the outputs of the functions that it called. */
  goesOn?:
    | {
        /** What stands behind the transcript of `after`, or all of it where that is absent. */
        entries: TranscriptEntry[];
        from: string;
        /** The run whose transcript, with all before it, is kept for those that go on from it. */
        after?: string | undefined;
        /** Calls among them that are to be made now. */
        approved?: ApprovedCall[] | undefined;
      }
    | undefined;
  /** Whether the run plans; `auto` where absent. `propose`: its answer is the plan, and nothing is looked up. */
  plan?: 'auto' | 'propose' | 'off' | undefined;
  /** Whether the model may ask the user back before it looks anything up. */
  clarify?: boolean | undefined;
  /** Whether the report has sections; by effort and plan where absent. */
  report?: 'short' | 'full' | undefined;
  /** Whether the model holds its doubtful sentences against their sources; by effort where absent. */
  verify?: boolean | undefined;
  /** At most so many parts of the plan are researched at the same time. */
  lanes?: number | undefined;
  /** How often the whole question is researched. */
  attempts?: number | undefined;
  /** Whether the answer may have charts. */
  charts?: boolean | undefined;
  /** Takes the place of the domains of `tools`. */
  sources?: RequestedSources | undefined;
  /** Bounds the final answer, in tokens. */
  maxOutputTokens: number | null;
  maxToolCalls: number | null;
  /** The most that the run may cost, in the configured currency. */
  maxCost?: number | undefined;
  temperature: number | null;
  topP: number | null;
  format: TextFormat | null;
  /** Whether thoughts are shown as summaries, too. */
  reasoningSummary?: ReasoningSummary;
  /** Whose items and events its log has; the service's own where absent. Chosen at submission. */
  profile?: Profile;
  /** Warnings about the request, for the end of the run. */
  warnings?: Warning[];
  /** What items of the conversation set for the response, and for those that follow it. */
  settings?: ThreadSettings | undefined;
}

/** What a follow-up takes over. */
export interface TakenOver extends Pick<ResearchRequest, 'history' | 'earlierSources'> {
  /** Whether it answers a question of the model's, which does not ask again then. */
  askedBack: boolean;
}

/** A text, and the addresses of images that come with it. */
export interface Shown {
  text: string;
  images?: string[] | undefined;
}

/** What a request answers functions with that a research called. */
export interface FunctionOutputs {
  /** Outputs by `call_id`, and what becomes of approvals, by the ids of their requests. */
  outputs: ReadonlyMap<string, Shown>;
  /** A call that has several of them. */
  repeated?: string | undefined;
  /** Whether a call may be made, by the id of its request. */
  approvals: ReadonlyMap<string, boolean>;
  /** Calls that the request tells itself, by `call_id`. */
  called: ReadonlySet<string | undefined>;
  /** What the user says besides. */
  said: readonly Shown[];
  /** Whether the request is stored longer than it takes: it refers then to what is kept of the research before. */
  isStored: boolean;
  /** The field that is at fault where they do not fit; absent: then they are no answer to it, but context. */
  param?: string | undefined;
}

/** What a research that goes on takes over of the one before. */
export type GoingOn = Pick<
  ResearchRequest,
  'history' | 'earlierSources' | 'conversation' | 'instructions' | 'functions' | 'goesOn'
>;

/** The format of a structured answer, or undefined where it is text. */
export function structuredFormat({
  request: { format },
}: {
  request: Pick<ResearchRequest, 'format'>;
}): StructuredFormat | undefined {
  return format === null || format.type === 'text' ? undefined : format;
}

/** `text.format` in the words of chat completions. */
export function responseFormat(format: StructuredFormat): NonNullable<TurnRequest['responseFormat']> {
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name = 'answer', schema, strict } = format;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === undefined ? {} : { strict }) } };
}
