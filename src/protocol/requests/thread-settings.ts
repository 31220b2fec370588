import { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { boundedList, chooseSchema, optional } from './parse.ts';
import { textFormat } from './request-formats.ts';
import { plainTool, type ResponseTool } from './request-tools.ts';

/** Items that say nothing themselves and hold for all that follows them (docs/api.md, "Tools and settings in the input"). */

/** Items are stored as they were sent, and servers have credentials. */
const carriedTool = chooseSchema((value) =>
  isObject(value) && value.type === 'mcp'
    ? {
        refuse: 'unsupported_parameter',
        message: 'MCP servers cannot stand in the input: send them in tools',
        at: 'type',
      }
    : plainTool,
);
export const inputTools = boundedList(carriedTool, { max: 128 });
const additionalTools = z.object({ type: z.literal('additional_tools'), tools: inputTools });
const configurationUpdate = z.object({
  type: z.literal('configuration_update'),
  reasoning: optional(z.object({ effort: optional(z.string().max(32)) })),
  text: optional(z.object({ format: optional(textFormat) })),
});

export const settingItems = {
  additional_tools: additionalTools.describe('Tools that are on offer from here on, beside those of `tools`.'),
  configuration_update: configurationUpdate.describe(
    'Takes the place of `reasoning.effort` or `text.format` from here on.',
  ),
};
type SettingItem = z.output<typeof additionalTools | typeof configurationUpdate>;

/** What the items of a thread have set. */
export interface ThreadSettings {
  tools?: ResponseTool[] | undefined;
  effort?: string | undefined;
  format?: z.output<typeof textFormat> | undefined;
}

/** Tools that a thread offers at most, those in namespaces counted singly. */
export const MAX_TOOLS = 1024;

/** Whether an item, as it was sent, may set something: what others say is not looked at for that. */
export function maySet({ type }: Record<string, unknown>): boolean {
  return Object.hasOwn(settingItems, String(type)) || type === 'tool_search_output';
}

/** How many tools items offer, as they were sent: counted before they are looked at, because that costs. */
export function toolsIn(items: readonly unknown[]): number {
  return items.reduce((sum: number, item) => sum + (isObject(item) && maySet(item) ? countOf(item.tools) : 0), 0);
}

function countOf(tools: unknown): number {
  if (!Array.isArray(tools)) return 0;
  return tools.reduce((sum: number, tool) => sum + 1 + (isObject(tool) ? countOf(tool.tools) : 0), 0);
}

/** @throws GatewayError `invalid_parameter` where they are too many; `param` is where they stand. */
export function requireFewTools(count: number, param: string): void {
  if (count <= MAX_TOOLS) return;
  throw fieldError('invalid_parameter', param, `it offers more than ${MAX_TOOLS} tools. Begin a new thread.`);
}

/**
 * What holds behind these items, where `before` held ahead of them; undefined where nothing does.
 * @throws GatewayError `invalid_parameter` where they offer too many tools.
 */
export function settingsBehind(
  items: readonly { type: string }[],
  before: ThreadSettings = {},
): ThreadSettings | undefined {
  const { tools = [], ...settings } = before;
  const offered = new Map(tools.map((tool) => [keyOf(tool), tool]));
  for (const item of items) {
    if (findsTools(item)) offer(offered, item.tools);
    if (!isSetting(item)) continue;
    if (item.type === 'additional_tools') offer(offered, item.tools);
    else {
      settings.effort = item.reasoning?.effort ?? settings.effort;
      settings.format = item.text?.format ?? settings.format;
    }
  }
  const all = [...offered.values()];
  requireFewTools(countOf(all), 'input');
  const given = { ...settings, ...(all.length > 0 && { tools: all }) };
  return Object.values(given).some((value) => value !== undefined) ? given : undefined;
}

/** The output of a search that the client made. */
function findsTools(item: { type: string; tools?: ResponseTool[] }): item is { type: string; tools: ResponseTool[] } {
  return item.type === 'prior_output' && item.tools !== undefined;
}

function isSetting(item: { type: string }): item is SettingItem {
  return Object.hasOwn(settingItems, item.type);
}

/** The tools of a request and those that its thread has. */
export function withSettings(
  tools: readonly ResponseTool[] | undefined,
  settings: ThreadSettings | undefined,
): ResponseTool[] | undefined {
  const offered = new Map((settings?.tools ?? []).map((tool) => [keyOf(tool), tool]));
  if (offered.size === 0) return tools && [...tools];
  const own = (tools ?? []).map((tool) => {
    const again = offered.get(keyOf(tool));
    offered.delete(keyOf(tool));
    return again ? newer(tool, again) : tool;
  });
  return [...own, ...offered.values()];
}

function offer(offered: Map<string, ResponseTool>, more: readonly ResponseTool[]): void {
  for (const tool of more) {
    const known = offered.get(keyOf(tool));
    offered.set(keyOf(tool), known ? newer(known, tool) : tool);
  }
}

/** One that comes again, as in a thread that is sent again, takes the place of the one before. */
function newer(known: ResponseTool, tool: ResponseTool): ResponseTool {
  if (known.type !== 'namespace' || tool.type !== 'namespace') return tool;
  const inside = new Map([...known.tools, ...tool.tools].map((one) => [one.name, one]));
  return { ...tool, tools: [...inside.values()] };
}

function keyOf(tool: ResponseTool): string {
  return `${tool.type} ${'name' in tool ? tool.name : ''}`;
}

/** Tools of a request that stand together. */
export interface PlacedTools {
  tools: readonly ResponseTool[];
  /** Their list as the client sent it, and its path. */
  sent: unknown;
  place: string;
}

/** The tools of a body: its own, and those that stand in its input. */
export function placedTools(
  { tools = [], input = [] }: { tools?: readonly ResponseTool[] | undefined; input?: readonly { type: string }[] },
  sent: Readonly<Record<string, unknown>>,
): PlacedTools[] {
  const given: unknown[] = Array.isArray(sent.input) ? sent.input : [];
  const additional = input.flatMap((item, index) => {
    if (!isSetting(item) || item.type !== 'additional_tools') return [];
    const as = given[index];
    return [{ tools: item.tools, sent: isObject(as) ? as.tools : undefined, place: `input[${index}].tools` }];
  });
  return [{ tools, sent: sent.tools, place: 'tools' }, ...additional];
}
