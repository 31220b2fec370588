import { fieldError, type GatewayError } from '../../base/errors.ts';
import { offerShell } from '../../plain/shell-tools.ts';
import {
  type ClientTool,
  isClientTool,
  isShellType,
  type ResponseTool,
} from '../../protocol/requests/request-tools.ts';
import type { ToolList } from '../../protocol/requests/thread-settings.ts';
import type { OfferedFunction } from '../../research/run/request.ts';

/** Tools that run at the client, and how they are offered to models. */

/** The places of ignored tool searches, for `x-ignored-parameters`: everything they could find is offered directly. */
export function ignoredToolSearches(lists: readonly ToolList[]): string[] {
  const clientSearch = clientSearchOf(lists.flatMap(({ tools }) => tools));
  return lists.flatMap(({ tools, place }) =>
    tools.flatMap((tool, index) =>
      tool.type === 'tool_search' && tool !== clientSearch ? [`${place}[${index}]`] : [],
    ),
  );
}

type Search = Extract<ResponseTool, { type: 'tool_search' }>;

/** The tool search that the client makes itself. Undefined if the request defers functions: those are offered directly. */
function clientSearchOf(tools: readonly ResponseTool[]): Search | undefined {
  if (tools.some(isDeferred)) return undefined;
  return tools.find((tool): tool is Search => tool.type === 'tool_search' && tool.execution === 'client');
}

function isDeferred(tool: ResponseTool): boolean {
  if (tool.type === 'namespace') return tool.tools.some(isDeferred);
  return tool.type === 'function' && tool.defer_loading === true;
}

/** Refuses tools other than functions, for research models. @throws GatewayError `unsupported_parameter` */
export function requireFunctions(tools: readonly ResponseTool[]): void {
  const clientSearch = clientSearchOf(tools);
  for (const tool of tools) {
    if (tool.type === 'namespace') requireFunctions(tool.tools);
    if (tool.type !== 'custom' && !isShellType(tool.type) && tool !== clientSearch) continue;
    const label = tool.type === 'custom' ? `custom tool ${tool.name}` : `tool ${tool.type}`;
    const what = `the ${label} cannot be used on a research model: offer functions.`;
    throw fieldError('unsupported_parameter', 'tools', what);
  }
}

/** Refuses grammars, for models with a route that cannot enforce them. @throws GatewayError `unsupported_parameter` */
export function refuseGrammars(lists: readonly Pick<ToolList, 'tools' | 'place'>[]): void {
  for (const { tools, place } of lists) {
    for (const [index, tool] of tools.entries()) {
      if (tool.type === 'namespace') refuseGrammars([{ tools: tool.tools, place: `${place}[${index}].tools` }]);
      if (tool.type !== 'custom' || tool.format?.type !== 'grammar') continue;
      const param = `${place}[${index}].format`;
      const what = `the custom tool ${tool.name} cannot have a grammar here: use the format text.`;
      throw fieldError('unsupported_parameter', param, what);
    }
  }
}

/**
 * The client's tools as functions for the model. `takenNames`: names of tools that run here.
 * @throws GatewayError `invalid_parameter` for a name that another tool has, and a namespace with the name of an MCP server.
 */
export function functionsIn(tools: readonly ResponseTool[], takenNames: readonly string[]): OfferedFunction[] {
  const clientSearch = clientSearchOf(tools);
  const searches = !clientSearch && tools.some(({ type }) => type === 'tool_search');
  const functions = tools.flatMap((tool) => {
    if (tool.type === 'function') return [withoutNamespace(offer(tool, { searches }))];
    if (tool.type === 'custom') return [withoutNamespace(offerText(tool))];
    if (tool.type === 'namespace') {
      const { name, description } = tool;
      const first = tool.tools.find((inner) => inner.type === 'function' && inner.defer_loading);
      return tool.tools.map((inner) => {
        const about = inner === first ? description : '';
        const offered = inner.type === 'custom' ? offerText(inner) : offer(inner, { searches, about });
        return { ...offered, name: `${name}.${inner.name}` };
      });
    }
    if (tool.type === 'tool_search') return tool === clientSearch ? [offerSearch(tool)] : [];
    return isClientTool(tool) ? [offerShell(tool.type, skillsOf(tool))] : [];
  });
  const names = new Set(takenNames);
  for (const { name } of functions) {
    if (names.has(name)) throw nameTaken(`the function ${name} has the name of another tool`);
    names.add(name);
  }
  const labels = new Set(tools.flatMap((tool) => (tool.type === 'mcp' ? [tool.server_label] : [])));
  for (const { name, dotted } of functions) {
    const [space = '', ...rest] = name.split('.');
    if (rest.length === 0 || !labels.has(space)) continue;
    const what = dotted ? `the function ${name} begins with` : `the namespace ${space} has`;
    throw nameTaken(`${what} the name of an MCP server`);
  }
  return functions;
}

/** A function outside of all namespaces. */
function withoutNamespace(offered: OfferedFunction): OfferedFunction {
  return offered.name.includes('.') ? { ...offered, dotted: true } : offered;
}

/** The description of skills on the client's machine, if it has any. */
function skillsOf(tool: ClientTool): string {
  const skills = (tool.type === 'shell' && tool.environment?.skills) || [];
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description, path }) => `- ${name} (${path}): ${description}`);
  return `\nInstructions for some tasks stand in these folders, in SKILL.md:\n${lines.join('\n')}`;
}

function nameTaken(what: string): GatewayError {
  return fieldError('invalid_parameter', 'tools', `${what}: give it another name.`);
}

/**
 * Offers a function. `searches`: the client wants deferred functions to be found by search first. `about`: the description
 * of their namespace, which goes to its first function.
 */
function offer(
  { name, description = '', parameters, strict, defer_loading }: Extract<ClientTool, { type: 'function' }>,
  { searches, about = '' }: { searches: boolean; about?: string | undefined },
): OfferedFunction {
  const schema = parameters ?? { type: 'object', properties: {} };
  const flags = { ...(strict !== undefined && { strict }), ...(searches && defer_loading && { deferred: about }) };
  return { name, description, parameters: schema, ...flags };
}

function offerSearch({ type, description = 'Finds more tools.', parameters }: Search): OfferedFunction {
  const query = { type: 'string', description: 'What the tools should do.' };
  const schema = parameters ?? { type: 'object', properties: { query }, required: ['query'] };
  return { name: type, description, parameters: schema, search: true };
}

/** Offers a custom tool, which takes plain text, as a function with one string, because not every wire has such tools. */
function offerText({ name, description = '', format }: Extract<ClientTool, { type: 'custom' }>): OfferedFunction {
  const input = { type: 'string', description: 'What the tool is given, as plain text.' };
  const parameters = { type: 'object', properties: { input }, required: ['input'], additionalProperties: false };
  return { name, description, parameters, custom: true, ...(format?.type === 'grammar' && { grammar: format }) };
}
