import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { boundedList, byType, optional, pickSchema } from './parse.ts';
import { hostedType, isShellType, plainName } from './request-tools.ts';

/** `tool_choice`: which tools may or must be called. */

/** The name of one of the client's tools, optionally prefixed by its namespace. */
const clientName = { name: z.string().regex(/^[\w.:/-]{1,257}$/, 'is not the name of a tool') };
const namedFunction = z.object({
  type: z.literal('function'),
  ...clientName,
  namespace: optional(plainName).optional(),
});
const namedCustom = z.object({ type: z.literal('custom'), ...clientName, namespace: optional(plainName).optional() });
const namedShell = z.object({ type: z.enum(['local_shell', 'shell', 'apply_patch']) });
const namedServer = z.object({ type: z.literal('mcp'), server_label: plainName, name: optional(z.string().max(256)) });
const namedHosted = z.object({
  type: z.string().transform((type) => {
    const hosted = hostedType(type);
    return hosted === 'code_interpreter' || hosted === 'file_search' ? hosted : 'web_search';
  }),
});
const namedTool = pickSchema((value) => {
  const type = isObject(value) ? value.type : undefined;
  if (type !== 'mcp' && hostedType(type)) return namedHosted;
  if (isShellType(type)) return namedShell;
  return byType(value, { function: namedFunction, custom: namedCustom, mcp: namedServer }, 'use a tool of tools');
});
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: boundedList(namedTool, { max: 128 }),
});
const anyChoice = z.enum(['auto', 'none', 'required']);

export const toolChoice = pickSchema((value) => {
  if (typeof value === 'string') return anyChoice;
  return isObject(value) && value.type === 'allowed_tools' ? allowedTools : namedTool;
});
export type NamedTool = z.output<typeof namedTool>;
export type ToolChoice = z.output<typeof toolChoice>;

/** A function as `tool_choice` of chat completions names it. */
const chatFunctionChoice = z
  .object({ type: z.literal('function'), function: z.object(clientName) })
  .transform(({ function: { name } }): NamedTool => ({ type: 'function', name }));

/** `tool_choice` on research models, in the format of either API. A required call is required of the first turn only. */
export const researchToolChoice = pickSchema((value) => {
  return isObject(value) && isObject(value.function) ? chatFunctionChoice : toolChoice;
}).meta({ default: 'auto', anyOf: [{ type: 'string', enum: anyChoice.options }, { type: 'object' }] });
