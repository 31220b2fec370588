import { isSpecType, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { isObject } from '../../base/json.ts';

/**
 * A message that the client library accepts, with what can be read of a list of tools or of a result. The library refuses
 * the whole answer for one entry that fits no schema: a `null` where it wants nothing, a kind of content it does not know.
 */
export function readableMessage(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message;
  const { result } = message;
  if (Array.isArray(result.tools)) return { ...message, result: readableList({ ...result }, result.tools) };
  if ('content' in result || 'structuredContent' in result)
    return { ...message, result: readableResult({ ...result }) };
  return message;
}

function readableList({ nextCursor, ...list }: Record<string, unknown>, tools: unknown[]) {
  return { ...list, ...(typeof nextCursor === 'string' && { nextCursor }), tools: tools.map(readableTool) };
}

/** A tool without what the gateway does not use. One that has no name gets an empty one, so that it is counted as left out. */
function readableTool(tool: unknown) {
  const { name, title, description, inputSchema } = isObject(tool) ? tool : {};
  return {
    name: typeof name === 'string' ? name : '',
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: readableSchema(isObject(inputSchema) ? inputSchema : {}),
  };
}

function readableSchema({ properties, required, ...schema }: Record<string, unknown>) {
  return {
    ...schema,
    type: 'object' as const,
    ...(isObject(properties) && { properties }),
    ...(Array.isArray(required) && required.every((name) => typeof name === 'string') && { required }),
  };
}

function readableResult({ content, structuredContent, isError, ...result }: Record<string, unknown>) {
  // Anything else is refused as a whole.
  if (typeof content === 'number' || typeof content === 'boolean') return { content };
  const blocks: unknown[] = Array.isArray(content) ? content : [content ?? []].flat();
  const isText = structuredContent !== undefined && structuredContent !== null && !isObject(structuredContent);
  return {
    ...result,
    content: [...blocks, ...(isText ? [JSON.stringify(structuredContent)] : [])].map(readableBlock),
    ...(isObject(structuredContent) && { structuredContent }),
    ...(typeof isError === 'boolean' && { isError }),
  };
}

function readableBlock(block: unknown) {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (isObject(block) && block.type === 'text' && !isObject(block.text))
    return { type: 'text', text: String(block.text ?? '') };
  return isSpecType.ContentBlock(block) ? block : { type: 'text', text: '[content of an unknown kind]' };
}
