import { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import { isObject, scalarText } from '../../base/json.ts';
import { effortName } from '../response.ts';
import { boundedList, optional, pickSchema } from './parse.ts';
import { textFormat } from './request-formats.ts';
import { plainTool, type ResponseTool } from './request-tools.ts';

/** Input items that change the settings for everything after them (docs/api.md, "Tools and settings in the input"). */

/** No MCP servers, because they have credentials and items are stored as sent. */
const inputTool = pickSchema((value) =>
  isObject(value) && value.type === 'mcp'
    ? {
        refuse: 'unsupported_parameter',
        message: 'MCP servers cannot stand in the input: send them in tools',
        at: 'type',
      }
    : plainTool,
);
export const inputTools = boundedList(inputTool, { max: 128 });
const additionalTools = z.object({ type: z.literal('additional_tools'), tools: inputTools });
const configurationUpdate = z.object({
  type: z.literal('configuration_update'),
  reasoning: optional(z.object({ effort: optional(effortName) })),
  text: optional(z.object({ format: optional(textFormat) })),
});

export const settingItems = {
  additional_tools: additionalTools.describe('Further tools from here on, in addition to `tools`.'),
  configuration_update: configurationUpdate.describe('Replaces `reasoning.effort` or `text.format` from here on.'),
};
type SettingItem = z.output<typeof additionalTools | typeof configurationUpdate>;

/** The settings that the items of a thread have made. */
export interface ThreadSettings {
  tools?: ResponseTool[] | undefined;
  effort?: string | undefined;
  format?: z.output<typeof textFormat> | undefined;
}

/** How many tools a thread may offer, counting each tool in a namespace. */
export const MAX_TOOLS = 1024;

/** Whether an item, as sent, can change settings. */
export function canChangeSettings({ type }: Record<string, unknown>): boolean {
  return Object.hasOwn(settingItems, scalarText(type)) || type === 'tool_search_output';
}

/** Counts the tools that unparsed items offer, because parsing too many would be costly. */
export function toolsIn(items: readonly unknown[]): number {
  return items.reduce(
    (sum: number, item) => sum + (isObject(item) && canChangeSettings(item) ? countOf(item.tools) : 0),
    0,
  );
}

function countOf(tools: unknown): number {
  if (!Array.isArray(tools)) return 0;
  return tools.reduce((sum: number, tool) => sum + 1 + (isObject(tool) ? countOf(tool.tools) : 0), 0);
}

/** @throws GatewayError `invalid_parameter` for `param` if there are too many tools. */
export function checkToolCount(count: number, param: string): void {
  if (count <= MAX_TOOLS) return;
  throw fieldError('invalid_parameter', param, `it offers more than ${MAX_TOOLS} tools. Begin a new thread.`);
}

/**
 * The settings after these items, starting from `before`; undefined if there are none.
 * @throws GatewayError `invalid_parameter` if they offer too many tools.
 */
export function settingsAfter(
  items: readonly { type: string }[],
  before: ThreadSettings = {},
): ThreadSettings | undefined {
  const { tools = [], ...settings } = before;
  const offered = new Map(tools.map((tool) => [keyOf(tool), tool]));
  for (const item of items) {
    if (hasTools(item)) offer(offered, item.tools);
    if (!isSetting(item)) continue;
    if (item.type === 'additional_tools') offer(offered, item.tools);
    else {
      settings.effort = item.reasoning?.effort ?? settings.effort;
      settings.format = item.text?.format ?? settings.format;
    }
  }
  const all = [...offered.values()];
  checkToolCount(countOf(all), 'input');
  const result = { ...settings, ...(all.length > 0 && { tools: all }) };
  return Object.values(result).some((value) => value !== undefined) ? result : undefined;
}

/** Whether an item is the output of a tool search by the client. */
function hasTools(item: { type: string; tools?: ResponseTool[] }): item is { type: string; tools: ResponseTool[] } {
  return item.type === 'prior_output' && item.tools !== undefined;
}

function isSetting(item: { type: string }): item is SettingItem {
  return Object.hasOwn(settingItems, item.type);
}

/** The tools of a request, extended by those of its thread. */
export function withThreadTools(
  tools: readonly ResponseTool[] | undefined,
  settings: ThreadSettings | undefined,
): ResponseTool[] | undefined {
  const offered = new Map((settings?.tools ?? []).map((tool) => [keyOf(tool), tool]));
  if (offered.size === 0) return tools && [...tools];
  const requestTools = (tools ?? []).map((tool) => {
    const update = offered.get(keyOf(tool));
    offered.delete(keyOf(tool));
    return update ? replaceTool(tool, update) : tool;
  });
  return [...requestTools, ...offered.values()];
}

function offer(offered: Map<string, ResponseTool>, tools: readonly ResponseTool[]): void {
  for (const tool of tools) {
    const known = offered.get(keyOf(tool));
    offered.set(keyOf(tool), known ? replaceTool(known, tool) : tool);
  }
}

/** A tool that is offered again, as in a thread that is sent again, replaces the earlier one. Namespaces are merged. */
function replaceTool(known: ResponseTool, tool: ResponseTool): ResponseTool {
  if (known.type !== 'namespace' || tool.type !== 'namespace') return tool;
  const byName = new Map([...known.tools, ...tool.tools].map((inner) => [inner.name, inner]));
  return { ...tool, tools: [...byName.values()] };
}

function keyOf(tool: ResponseTool): string {
  return `${tool.type} ${'name' in tool ? tool.name : ''}`;
}

/** A list of tools in a request. */
export interface ToolList {
  tools: readonly ResponseTool[];
  /** The list as the client sent it, and its path. */
  sent: unknown;
  place: string;
}

/** The lists of tools in a body: `tools`, and those in its input. */
export function toolListsOf(
  { tools = [], input = [] }: { tools?: readonly ResponseTool[] | undefined; input?: readonly { type: string }[] },
  sent: Readonly<Record<string, unknown>>,
): ToolList[] {
  const sentInput: unknown[] = Array.isArray(sent.input) ? sent.input : [];
  const additional = input.flatMap((item, index) => {
    if (!isSetting(item) || item.type !== 'additional_tools') return [];
    const sentItem = sentInput[index];
    const sentTools = isObject(sentItem) ? sentItem.tools : undefined;
    return [{ tools: item.tools, sent: sentTools, place: `input[${index}].tools` }];
  });
  return [{ tools, sent: sent.tools, place: 'tools' }, ...additional];
}
