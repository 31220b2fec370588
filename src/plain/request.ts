import type { TextFormat } from '../protocol/requests/request-formats.ts';
import type { ThreadSettings } from '../protocol/requests/thread-settings.ts';
import type { ReasoningSummary } from '../protocol/response.ts';
import type { ApprovalRule } from '../research/calls/approvals.ts';
import type { BuiltinTools, RequestedMcpServer, RequestedSources } from '../research/run/request.ts';
import type { OfferedFunction } from '../research/run/steps.ts';
import { estimateRequest, estimateTokens } from '../upstream/decoding/estimate.ts';
import type { AssistantMessage, TurnMessage, TurnToolChoice } from '../upstream/turn.ts';

/**
 * What a plain model is asked for in a response that the gateway makes (docs/api.md, "Responses of plain models"): a
 * conversation, tools that run here, and functions of the client's own that end the response when they are called.
 */
export interface PlainRequest {
  kind: 'plain';
  /** The whole conversation, earlier responses first. Every call in it has its output. */
  messages: TurnMessage[];
  instructions: string | null;
  /** Functions that run at the client; those only that `tool_choice` allows. */
  tools: OfferedFunction[];
  /** Tools that run here, beside those of `mcpServers`; absent: none. */
  hosted?: BuiltinTools | undefined;
  /** Where they may search and read; absent: as `hosted` says. */
  sources?: RequestedSources | undefined;
  mcpServers: RequestedMcpServer[];
  /** Of those whose calls the client approves first; absent: none. */
  approvals?: ApprovalRule[] | undefined;
  approved?: ApprovedCalls | undefined;
  /** Bounds the calls of tools that run here. */
  maxToolCalls: number | null;
  /** Of the first turn: once tools that run here were called, the model chooses. */
  toolChoice: TurnToolChoice;
  oneCallAtOnce: boolean;
  /** Bounds the whole response, in tokens. */
  maxOutputTokens: number | null;
  temperature: number | null;
  topP: number | null;
  /** Texts that end the answer where it would say one. */
  stop?: string[] | undefined;
  format: TextFormat | null;
  reasoningEffort: string | null;
  /** How much is to be written, in the words of OpenAI. */
  verbosity?: string | undefined;
  /** Whether thoughts are shown as summaries, too. */
  reasoningSummary?: ReasoningSummary | undefined;
  /** A conversation of so many tokens, estimated, is summed up before the model is asked; absent: never. */
  compactAt?: number | undefined;
  /** The response is the summary and nothing else. */
  compacts?: true | undefined;
  /** Whether the oldest is left out where no route can read all of it. */
  truncates?: true | undefined;
  /** Whether thoughts carry what their provider wants back, for a client that keeps its items itself. */
  encryptedReasoning?: true | undefined;
  /** How probable the answer's tokens are is told, with so many others in place of each; absent: it is not. */
  logprobs?: number | undefined;
  /** Requests with the same find a provider's cache again; absent: the run's id. */
  cacheKey?: string | undefined;
  /** What items of the conversation set for the response, and for those that follow it. */
  settings?: ThreadSettings | undefined;
}

/** Calls of an earlier response that the client has approved: made before the model is asked. */
export interface ApprovedCalls {
  /** The turn that called them, with these calls alone. */
  message: AssistantMessage;
  /** The ids of their requests, in the order of the calls. */
  requests: string[];
}

/** The tokens of the whole conversation and its tools, estimated. */
export function requestTokens({ messages, tools, instructions }: PlainRequest): number {
  return estimateRequest(messages, tools) + estimateTokens(instructions ?? '');
}
