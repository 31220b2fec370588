import { z } from 'zod';
import { storedObject } from '../base/stored-object.ts';
import type { MessagePhase, UrlCitation } from '../protocol/items.ts';
import { reasoningSummary } from '../protocol/response.ts';
import {
  approvalRule,
  builtinTools,
  offeredFunction,
  requestedSources,
  storedFormat,
  storedSettings,
} from '../research/run/request.ts';
import type { ObservedToolCall, ResearchRun } from '../research/run/run.ts';
import { requestedMcpServer } from '../tools/mcp/mcp-server.ts';
import { estimateRequest, estimateTokens } from '../upstream/decoding/estimate.ts';
import { assistantMessage, turnMessage, turnToolChoice } from '../upstream/turn.ts';
import type { Thought } from './sealed-contents.ts';

/** Calls of an earlier response that the client has approved: they are made before the first turn. */
const approvedCalls = storedObject({
  /** The message that made the calls, reduced to these. */
  message: assistantMessage,
  /** The ids of their approval requests, in the order of the calls. */
  requests: z.array(z.string()),
});
export type ApprovedCalls = z.output<typeof approvedCalls>;

/**
 * A request for a response of a plain model that the gateway makes (docs/api.md, "Responses of plain models"): a
 * conversation, hosted tools, and functions of the client's own, which end the response when they are called. In the form
 * in which it is stored.
 */
export const plainRequest = storedObject({
  kind: z.literal('plain'),
  /** The whole conversation, earlier responses first. Every call in it has an output. */
  messages: z.array(turnMessage),
  /** The last research in the chain of earlier responses; a research that follows takes over its sources. */
  research: z.string().optional(),
  instructions: z.string().nullable(),
  /** Functions that run at the client, as far as `tool_choice` allows them. */
  tools: z.array(offeredFunction),
  /** Tools that run in the gateway, besides those of `mcpServers`; absent: none. */
  hosted: builtinTools.optional(),
  /** Where they may search and read; absent: as `hosted` says. */
  sources: requestedSources.optional(),
  mcpServers: z.array(requestedMcpServer),
  /** Which calls of MCP servers need the client's approval; absent: none. */
  approvals: z.array(approvalRule).optional(),
  approved: approvedCalls.optional(),
  /** Limits the calls of hosted tools. */
  maxToolCalls: z.number().nullable(),
  /** For the first turn; once hosted tools were called, the model chooses. */
  toolChoice: turnToolChoice,
  oneCallAtOnce: z.boolean(),
  /** Limits the whole response, in tokens. */
  maxOutputTokens: z.number().nullable(),
  temperature: z.number().nullable(),
  topP: z.number().nullable(),
  /** Stop sequences. */
  stop: z.array(z.string()).optional(),
  format: storedFormat.nullable(),
  reasoningEffort: z.string().nullable(),
  /** How verbose the answer should be, one of OpenAI's values. */
  verbosity: z.string().optional(),
  /** Whether reasoning is sent as summaries, too. */
  reasoningSummary: reasoningSummary.optional(),
  /** The estimated tokens from which the conversation is compacted before a turn; absent: never. */
  compactAt: z.number().positive().optional(),
  /** The response is only the summary. */
  compacts: z.literal(true).optional(),
  /** Whether the oldest messages are left out if no route can read the whole conversation. */
  truncates: z.literal(true).optional(),
  /** Whether reasoning items carry what the provider wants back, for a client that stores its items itself. */
  encryptedReasoning: z.literal(true).optional(),
  /** Log probabilities are sent, with this many alternatives for each token; absent: none. */
  logprobs: z.int().nonnegative().optional(),
  /** Requests with the same key share a provider's prompt cache; absent: the run's id. */
  cacheKey: z.string().optional(),
  settings: storedSettings.optional(),
});
export type PlainRequest = z.output<typeof plainRequest>;

/** Everything that a response of a plain model needs. */
export interface PlainRun
  extends Pick<ResearchRun, 'id' | 'chat' | 'tools' | 'state' | 'live' | 'log' | 'signal' | 'shouldPause'> {
  request: PlainRequest;
  /** Whether the model reads images. */
  vision: boolean;
  /** The instruction to continue a text that was cut off. */
  continuePrompt: string;
  /** The part of a message that clients already have, if a crash cut it off; otherwise empty. */
  answerSoFar: { text: string; annotations: readonly UrlCitation[]; phase?: MessagePhase | undefined };
  /** When and how the conversation is compacted; absent: never. */
  compaction?: Compaction | undefined;
  /** Encrypts reasoning for a client that stores it; absent otherwise. */
  sealThought?: ((thought: Thought) => Promise<string>) | undefined;
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
