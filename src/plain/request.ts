import type { Logger } from '../base/logger.ts';
import type { MessagePhase, UrlCitation } from '../protocol/items.ts';
import type { TextFormat } from '../protocol/requests/request-formats.ts';
import type { ThreadSettings } from '../protocol/requests/thread-settings.ts';
import type { ReasoningSummary } from '../protocol/response.ts';
import type { ApprovalRule } from '../research/calls/approvals.ts';
import type { LiveSteps } from '../research/run/live-steps.ts';
import type { BuiltinTools, RequestedMcpServer, RequestedSources } from '../research/run/request.ts';
import type { ObservedToolCall } from '../research/run/run.ts';
import type { ResearchState } from '../research/run/state.ts';
import type { OfferedFunction } from '../research/run/steps.ts';
import type { Tool } from '../tools/tool.ts';
import { estimateRequest, estimateTokens } from '../upstream/decoding/estimate.ts';
import type { AssistantMessage, ChatModel, TurnMessage, TurnToolChoice } from '../upstream/turn.ts';
import type { Thought } from './sealed-contents.ts';

/**
 * A request for a response of a plain model that the gateway makes (docs/api.md, "Responses of plain models"): a
 * conversation, hosted tools, and functions of the client's own, which end the response when they are called.
 */
export interface PlainRequest {
  kind: 'plain';
  /** The whole conversation, earlier responses first. Every call in it has an output. */
  messages: TurnMessage[];
  instructions: string | null;
  /** Functions that run at the client, as far as `tool_choice` allows them. */
  tools: OfferedFunction[];
  /** Tools that run in the gateway, besides those of `mcpServers`; absent: none. */
  hosted?: BuiltinTools | undefined;
  /** Where they may search and read; absent: as `hosted` says. */
  sources?: RequestedSources | undefined;
  mcpServers: RequestedMcpServer[];
  /** Which calls of MCP servers need the client's approval; absent: none. */
  approvals?: ApprovalRule[] | undefined;
  approved?: ApprovedCalls | undefined;
  /** Limits the calls of hosted tools. */
  maxToolCalls: number | null;
  /** For the first turn; once hosted tools were called, the model chooses. */
  toolChoice: TurnToolChoice;
  oneCallAtOnce: boolean;
  /** Limits the whole response, in tokens. */
  maxOutputTokens: number | null;
  temperature: number | null;
  topP: number | null;
  /** Stop sequences. */
  stop?: string[] | undefined;
  format: TextFormat | null;
  reasoningEffort: string | null;
  /** How verbose the answer should be, one of OpenAI's values. */
  verbosity?: string | undefined;
  /** Whether reasoning is sent as summaries, too. */
  reasoningSummary?: ReasoningSummary | undefined;
  /** The estimated tokens from which the conversation is compacted before a turn; absent: never. */
  compactAt?: number | undefined;
  /** The response is only the summary. */
  compacts?: true | undefined;
  /** Whether the oldest messages are left out if no route can read the whole conversation. */
  truncates?: true | undefined;
  /** Whether reasoning items carry what the provider wants back, for a client that stores its items itself. */
  encryptedReasoning?: true | undefined;
  /** Log probabilities are sent, with this many alternatives for each token; absent: none. */
  logprobs?: number | undefined;
  /** Requests with the same key share a provider's prompt cache; absent: the run's id. */
  cacheKey?: string | undefined;
  /** Settings that items of the conversation make for this response and those that follow it. */
  settings?: ThreadSettings | undefined;
}

/** Calls of an earlier response that the client has approved: they are made before the first turn. */
export interface ApprovedCalls {
  /** The message that made the calls, reduced to these. */
  message: AssistantMessage;
  /** The ids of their approval requests, in the order of the calls. */
  requests: string[];
}

/** Everything that a response of a plain model needs. */
export interface PlainRun {
  /** The run's id. */
  id: string;
  request: PlainRequest;
  chat: ChatModel;
  /** The hosted tools, by name. */
  tools: ReadonlyMap<string, Tool>;
  /** The instruction to continue a text that was cut off. */
  continuePrompt: string;
  /** The fold of the stored transcript. */
  state: ResearchState;
  /** The part of a message that clients already have, if a crash cut it off; otherwise empty. */
  answerSoFar: { text: string; annotations: readonly UrlCitation[]; phase?: MessagePhase | undefined };
  live?: LiveSteps | undefined;
  /** When and how the conversation is compacted; absent: never. */
  compaction?: Compaction | undefined;
  /** Encrypts reasoning for a client that stores it; absent otherwise. */
  sealThought?: ((thought: Thought) => Promise<string>) | undefined;
  log: Logger;
  signal: AbortSignal;
  /** Asked between turns: true hands the run over to another instance. */
  shouldPause(): boolean;
  onToolCall(call: ObservedToolCall): void;
}

/** When and how the conversation of a response is compacted (docs/api.md, "Responses of plain models"). */
export interface Compaction {
  /** The threshold, in estimated tokens. */
  threshold: number;
  /** The output limit of the model, in tokens. */
  maxTokens: number;
  /** Encrypts a summary for the client to store. */
  seal(summary: string): Promise<string>;
}

/** The estimated tokens of the whole conversation and its tools. */
export function requestTokens({ messages, tools, instructions }: PlainRequest): number {
  return estimateRequest(messages, tools) + estimateTokens(instructions ?? '');
}
