import { isObject } from '../../base/json.ts';

const MAX_NAMES = 50;
const MAX_NAME = 64;

/** Fields that are honoured only in part, and the names of those parts. */
const KNOWN_PARTS: Readonly<Record<string, readonly string[]>> = {
  reasoning: ['effort', 'summary'],
  text: ['format'],
  stream_options: ['include_usage'],
  ranking_options: ['score_threshold'],
};

/**
 * `x-ignored-parameters` (docs/api.md, "In general"): fields that were accepted but have no effect. The names come from the
 * client, so they are bounded, and percent-encoded where a header requires it.
 */
export function ignoredHeader(
  unknown: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const names = [...unknown];
  if (isEmpty(body.tools)) names.push('tools');
  if (isEmpty(body.text)) names.push('text');
  for (const [field, known] of Object.entries(KNOWN_PARTS)) {
    const value = body[field];
    if (!isObject(value)) continue;
    for (const [part, content] of Object.entries(value)) {
      if (!known.includes(part) && content !== null) names.push(`${field}.${part}`);
    }
  }
  if (names.length === 0) return {};
  const shown = names.slice(0, MAX_NAMES).map(headerText);
  return { 'x-ignored-parameters': shown.join(', ') };
}

function headerText(name: string): string {
  const encoded = encodeURIComponent(name.slice(0, MAX_NAME).toWellFormed());
  return encoded.replaceAll('%5B', '[').replaceAll('%5D', ']');
}

/**
 * Removes function tools from a body with `tool_choice: "none"`, where nothing may call them. `unused` lists what was
 * removed.
 */
export function withoutUnusedTools(body: Readonly<Record<string, unknown>>): {
  body: Readonly<Record<string, unknown>>;
  unused: string[];
} {
  const none = body.tool_choice === 'none' || (body.tool_choice == null && body.function_call === 'none');
  if (!none) return { body, unused: [] };
  const { tools, tool_choice: _, function_call, functions, ...rest } = body;
  const unused: string[] = [];
  if (functions != null) unused.push('functions');
  if (function_call != null) unused.push('function_call');
  if (!Array.isArray(tools))
    return { body: { ...rest, tool_choice: 'none', ...(tools == null ? {} : { tools }) }, unused };
  const kept = tools.filter((tool: unknown, index) => {
    if (!isFunction(tool)) return true;
    unused.push(`tools[${index}]`);
    return false;
  });
  return { body: { ...rest, tool_choice: 'none', ...(kept.length > 0 ? { tools: kept } : {}) }, unused };
}

function isFunction(tool: unknown): boolean {
  return isObject(tool) && (tool.type === 'function' || tool.type === 'custom' || 'function' in tool);
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
