import { z } from 'zod';
import { effortName, reasoningSummary } from '../response.ts';
import { boundedList, byType, optional, pickSchema, unsupportedField } from './parse.ts';
import { textFormat } from './request-formats.ts';
import { threadInput } from './request-input.ts';
import { plainTool } from './request-tools.ts';
import { createResponseBody } from './requests.ts';
import { toolChoice } from './tool-choice.ts';

/** `POST /v1/responses` on a plain model, if the gateway implements it (docs/api.md, "Responses of plain models"). */

const compaction = z.object({
  type: z.literal('compaction'),
  compact_threshold: optional(z.int().min(1000, 'at least 1000 tokens')),
});
const contextManagement = pickSchema((value) => byType(value, { compaction }, 'use compaction'));

export const plainResponseBody = createResponseBody.omit({ mcp_servers: true, research: true }).extend({
  input: threadInput,
  tools: boundedList(plainTool, { max: 128 }).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z.object({ effort: optional(effortName), summary: optional(reasoningSummary) }).optional(),
  text: z.object({ format: optional(textFormat), verbosity: optional(z.string().max(32)) }).optional(),
  include: boundedList(z.string(), { max: 32 }).optional(),
  prompt_cache_key: z.string().max(256).optional(),
  safety_identifier: z.string().max(256).optional(),
  truncation: z.enum(['auto', 'disabled']).optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  max_cost: unsupportedField('only the cost of research can be bounded; max_output_tokens bounds this answer'),
  context_management: boundedList(contextManagement, { max: 1 }).optional(),
});
export type PlainResponseBody = z.output<typeof plainResponseBody>;
