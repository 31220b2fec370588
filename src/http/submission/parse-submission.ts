import type { z } from 'zod';
import type { ToolsConfig } from '../../config/schema.ts';
import { parseBody } from '../../protocol/requests/parse.ts';
import { isClientTool } from '../../protocol/requests/request-tools.ts';
import type { createChatCompletionBody, createResponseBody, createTaskBody } from '../../protocol/requests/requests.ts';
import { toolListsOf } from '../../protocol/requests/thread-settings.ts';
import type { JsonBody } from '../middleware/body.ts';
import { ignoredToolSearches } from './client-tools.ts';
import { droppedItems } from './conversation.ts';
import { ignoredHeader, withoutUnusedTools } from './ignored.ts';
import { ignoredToolParts } from './input-tools.ts';

/** A parsed body, and the header that lists its ignored parameters. */
export interface ParsedSubmission<T> {
  value: T;
  headers: Record<string, string>;
}

/**
 * Parses the body of a request for research. The last argument is the configuration of the tools that run here.
 * @throws GatewayError for everything in the body that cannot be honoured.
 */
export function parseSubmission<
  T extends typeof createResponseBody | typeof createChatCompletionBody | typeof createTaskBody,
>(schema: T, { json }: JsonBody, { web_search: { provider } }: ToolsConfig): ParsedSubmission<z.output<T>> {
  const { body, unused } = withoutUnusedTools(json);
  const { value, ignored } = parseBody(schema, body);
  const lists = toolListsOf(value, body);
  // Tools of the gateway always run at the same time.
  const oneByOne =
    value.parallel_tool_calls !== undefined && !value.tools?.some(isClientTool) ? ['parallel_tool_calls'] : [];
  const parts = [...ignoredToolSearches(lists), ...ignoredToolParts(lists, provider)];
  const dropped = 'input' in value ? droppedItems(value.input, 'input') : droppedItems(value.messages, 'messages');
  return { value, headers: ignoredHeader([...ignored, ...oneByOne, ...unused, ...parts, ...dropped], body) };
}
