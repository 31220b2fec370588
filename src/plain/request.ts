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

/** Everything that a response of a plain model is made with. */
export interface PlainRun {
  /** The run's id. */
  id: string;
  request: PlainRequest;
  chat: ChatModel;
  /** Those that run here, by name. */
  tools: ReadonlyMap<string, Tool>;
  /** What a model is told that is to go on with a text that was cut. */
  goOn: string;
  /** The fold of the stored transcript. */
  state: ResearchState;
  /** What a reader has already, of a message that a crash cut; '' otherwise. */
  answerSoFar: { text: string; annotations: readonly UrlCitation[]; phase?: MessagePhase | undefined };
  live?: LiveSteps | undefined;
  /** When the conversation is summed up, and by how much at most; absent: never. */
  compaction?: Compaction | undefined;
  /** Makes what the client keeps of a thought; absent where it keeps none. */
  sealThought?: ((thought: Thought) => Promise<string>) | undefined;
  log: Logger;
  signal: AbortSignal;
  /** Asked between turns: true hands the run over to another instance. */
  shouldPause(): boolean;
  onToolCall(call: ObservedToolCall): void;
}

/** When and how the conversation of a response is summed up (docs/api.md, "Responses of plain models"). */
export interface Compaction {
  /** From so many tokens on, estimated. */
  at: number;
  /** The most that the model writes, in tokens. */
  longest: number;
  /** Makes what the client keeps of a summary. */
  seal(summary: string): Promise<string>;
}

/** The tokens of the whole conversation and its tools, estimated. */
export function requestTokens({ messages, tools, instructions }: PlainRequest): number {
  return estimateRequest(messages, tools) + estimateTokens(instructions ?? '');
}
