import type { z } from 'zod';
import type { ToolsConfig } from '../../config/schema.ts';
import { requireExactMetadata } from '../../protocol/requests/exact-numbers.ts';
import { parseBody } from '../../protocol/requests/parse.ts';
import type { createChatCompletion, createResponse } from '../../protocol/requests/requests.ts';
import type { JsonBody } from '../middleware/body.ts';
import { droppedItems } from './conversation.ts';
import { ignoredHeader, withoutUnusedTools } from './ignored.ts';
import { ignoredToolParts } from './input-tools.ts';

/** A body that was read, and the header that says what of it is not acted on. */
export interface ParsedSubmission<T> {
  value: T;
  headers: Record<string, string>;
}

/**
 * `tools` is the configuration of the tools that run here.
 * @throws GatewayError for everything in the body that cannot be honoured.
 */
export function parseResponse(
  schema: typeof createResponse,
  body: JsonBody,
  tools: ToolsConfig,
): ParsedSubmission<z.output<typeof schema>> {
  const { value, ignored, sent } = parse(schema, body, tools);
  return { value, headers: ignoredHeader([...ignored, ...droppedItems(value.input, 'input')], sent) };
}

/** The same for chat completions and tasks. */
export function parseChat(
  schema: typeof createChatCompletion,
  body: JsonBody,
  tools: ToolsConfig,
): ParsedSubmission<z.output<typeof schema>> {
  const { value, ignored, sent } = parse(schema, body, tools);
  return { value, headers: ignoredHeader([...ignored, ...droppedItems(value.messages, 'messages')], sent) };
}

function parse<T extends typeof createResponse | typeof createChatCompletion>(
  schema: T,
  { raw, json }: JsonBody,
  { web_search: { provider } }: ToolsConfig,
) {
  const { body, unused } = withoutUnusedTools(json);
  const { value, ignored } = parseBody(schema, body);
  requireExactMetadata(raw);
  const parts = ignoredToolParts(value.tools ?? [], { sent: body.tools, provider });
  return { value, ignored: [...ignored, ...unused, ...parts], sent: body };
}
