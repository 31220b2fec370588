import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { boundedList, chosenBy, optional } from './parse.ts';
import { textFormat } from './request-formats.ts';
import { plainTool, type ResponseTool } from './request-tools.ts';

/** Items that say nothing themselves and hold for all that follows them (docs/api.md, "Tools and settings in the input"). */

/** Items are stored as they were sent, and servers have credentials. */
const carriedTool = chosenBy((value) =>
  isObject(value) && value.type === 'mcp'
    ? {
        refuse: 'unsupported_parameter',
        message: 'MCP servers cannot stand in the input: send them in tools',
        at: 'type',
      }
    : plainTool,
);
export const carriedTools = boundedList(carriedTool, { max: 128 });
const additionalTools = z.object({ type: z.literal('additional_tools'), tools: carriedTools });
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

/** What holds behind these items, where `before` held ahead of them; undefined where nothing does. */
export function settingsBehind(
  items: readonly { type: string }[],
  before: ThreadSettings = {},
): ThreadSettings | undefined {
  const { tools = [], ...settings } = before;
  const offered = [...tools];
  for (const item of items) {
    if (findsTools(item)) offer(offered, item.tools);
    if (!isSetting(item)) continue;
    if (item.type === 'additional_tools') offer(offered, item.tools);
    else {
      settings.effort = item.reasoning?.effort ?? settings.effort;
      settings.format = item.text?.format ?? settings.format;
    }
  }
  const given = { ...settings, ...(offered.length > 0 && { tools: offered }) };
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
  if (!settings?.tools) return tools && [...tools];
  const offered = [...(tools ?? [])];
  offer(offered, settings.tools);
  return offered;
}

/** One that comes again, as in a thread that is sent again, takes the place of the one before. */
function offer(tools: ResponseTool[], more: readonly ResponseTool[]): void {
  for (const tool of more) {
    const at = tools.findIndex((one) => one.type === tool.type && nameOf(one) === nameOf(tool));
    const known = tools[at];
    if (!known) tools.push(tool);
    else if (known.type !== 'namespace' || tool.type !== 'namespace') tools[at] = tool;
    else {
      const others = known.tools.filter(({ name }) => !tool.tools.some((one) => one.name === name));
      tools[at] = { ...tool, tools: [...others, ...tool.tools] };
    }
  }
}

function nameOf(tool: ResponseTool): string | undefined {
  return 'name' in tool ? tool.name : undefined;
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
