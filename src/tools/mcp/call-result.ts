import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { pageAddress } from '../../base/hosts.ts';
import { type JsonValue, parseJson } from '../../base/json.ts';
import { ToolError, type ToolOutput, type ToolSource } from '../tool.ts';
import { redactAndCut } from './mcp-errors.ts';
import { MCP_LIMITS, type McpServer } from './mcp-server.ts';

/** The longest title or snippet of a source, in UTF-16 code units. */
const MAX_TEXT = 300;
const MAX_SOURCES = 50;

/**
 * Converts a server's result for the run: text as text, structured content as JSON, both as `{"text", "structured"}` if
 * they differ; images, sound and files as a description. Results that are cut become `{"text", "truncated": true}`.
 * A result that does not fit the tool's own schema still says something to a model, so schemas are not checked.
 * @throws ToolError `tool_failed` if the tool says that it failed.
 */
export function toToolOutput(result: CallToolResult, server: McpServer): ToolOutput {
  const text = result.content.map(describe).join('\n');
  const json = JSON.stringify(result.structuredContent);
  if (result.isError) {
    throw new ToolError('tool_failed', redactAndCut(text || json || 'The tool failed without a message.', server));
  }
  const value = json === undefined ? limitText(text) : limitResult(text, json);
  return { sources: sourcesOf(result.content), result: () => value };
}

/** `json`: the structured content. */
function limitResult(text: string, json: string): JsonValue {
  // Servers repeat structured content as text for clients that do not support it.
  const isRepeated = text === '' || JSON.stringify(parseJson(text)) === json;
  const size = json.length + (isRepeated ? 0 : text.length);
  if (size > MCP_LIMITS.result) return limitText(isRepeated ? json : `${text}\n${json}`);
  const structured: JsonValue = JSON.parse(json);
  return isRepeated ? structured : { text, structured };
}

function limitText(text: string): JsonValue {
  if (text.length <= MCP_LIMITS.result) return text;
  return { text: text.slice(0, MCP_LIMITS.result).toWellFormed(), truncated: true };
}

function describe(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type}: ${block.mimeType}, ${bytesOf(block.data)} bytes, not shown]`;
    case 'resource_link':
      return `[link: ${block.title ?? block.name} <${block.uri}>${block.description ? ` ${block.description}` : ''}]`;
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return `[file: ${resource.uri}]\n${resource.text}`;
      return `[file: ${resource.uri}, ${resource.mimeType ?? 'unknown type'}, ${bytesOf(resource.blob)} bytes, not shown]`;
    }
    default:
      return '[content of an unknown kind]';
  }
}

function bytesOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor(((base64.length - padding) * 3) / 4);
}

/** The web pages that a result links to or contains. */
function sourcesOf(content: readonly ContentBlock[]): ToolSource[] {
  const sources: ToolSource[] = [];
  for (const block of content) {
    if (sources.length >= MAX_SOURCES) break;
    if (block.type === 'resource_link') {
      const { uri, name, title = name, description = '' } = block;
      const url = pageAddress(uri);
      if (url !== undefined) sources.push({ url, title: short(title), snippet: short(description), kind: 'listed' });
    }
    if (block.type === 'resource' && 'text' in block.resource) {
      const { uri, text } = block.resource;
      const url = pageAddress(uri);
      if (url !== undefined) sources.push({ url, title: url, snippet: short(text), kind: 'read' });
    }
  }
  return sources;
}

function short(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed();
}
