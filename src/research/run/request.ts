import type { Effort, Profile } from '../../config/schema.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import type { ContentPart } from '../../protocol/requests/request-input.ts';
import type { ReasoningSummary } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';

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
  /** What the client is to be told of its request when the run ends. */
  warnings?: Warning[];
}
