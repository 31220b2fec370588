import type { z } from 'zod';
import { requireExactMetadata } from '../../protocol/exact-numbers.ts';
import { parseBody } from '../../protocol/parse.ts';
import type { createChatCompletion, createResponse } from '../../protocol/requests.ts';
import type { JsonBody } from '../middleware/body.ts';
import { droppedItems } from './conversation.ts';
import { ignoredHeader, withoutUnusedTools } from './ignored.ts';

/** A body that was read, and the header that says what of it is not acted on. */
export interface ParsedSubmission<T> {
  value: T;
  headers: Record<string, string>;
}

/** @throws GatewayError for everything in the body that cannot be honoured. */
export function parseResponse(
  schema: typeof createResponse,
  body: JsonBody,
): ParsedSubmission<z.output<typeof schema>> {
  const { value, ignored, sent } = parse(schema, body);
  return { value, headers: ignoredHeader([...ignored, ...droppedItems(value.input, 'input')], sent) };
}

/** The same for chat completions and tasks. */
export function parseChat(
  schema: typeof createChatCompletion,
  body: JsonBody,
): ParsedSubmission<z.output<typeof schema>> {
  const { value, ignored, sent } = parse(schema, body);
  return { value, headers: ignoredHeader([...ignored, ...droppedItems(value.messages, 'messages')], sent) };
}

function parse<T extends z.ZodObject>(schema: T, { raw, json }: JsonBody) {
  const { body, unused } = withoutUnusedTools(json);
  const { value, ignored } = parseBody(schema, body);
  requireExactMetadata(raw);
  return { value, ignored: [...ignored, ...unused], sent: body };
}
