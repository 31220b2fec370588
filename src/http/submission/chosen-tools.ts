import { fieldError } from '../../base/errors.ts';
import type { NamedTool, ToolChoice } from '../../protocol/requests/tool-choice.ts';
import type { BuiltinTools, OfferedFunction } from '../../research/run/request.ts';
import type { RequestedMcpServer } from '../../tools/mcp/mcp-server.ts';
import type { TurnToolChoice } from '../../upstream/turn.ts';
import { BUILTIN_OF_TYPE } from './input-tools.ts';

/** The tools of a request: the client's own, those that run here, and those of MCP servers. */
interface OfferedTools {
  tools: OfferedFunction[];
  hosted?: BuiltinTools | undefined;
  mcpServers: RequestedMcpServer[];
}

type Chosen<Tools> = Tools & { toolChoice: TurnToolChoice };

/**
 * Applies `tool_choice`: which of the tools may be called, and whether one must be.
 * @throws GatewayError `invalid_parameter` if it names an unknown tool, or requires one and there is none.
 */
export function applyToolChoice<Tools extends OfferedTools>(all: Tools, choice: ToolChoice): Chosen<Tools> {
  const chosen = choose(all, choice);
  const { tools, hosted, mcpServers, toolChoice } = chosen;
  if (toolChoice === 'required' && tools.length + (hosted?.builtin.length ?? 0) + mcpServers.length === 0) {
    const param = 'tool_choice';
    throw fieldError('invalid_parameter', param, 'there is no tool that could be called.');
  }
  return chosen;
}

function choose<Tools extends OfferedTools>(all: Tools, choice: ToolChoice): Chosen<Tools> {
  if (typeof choice === 'string') return { ...all, toolChoice: choice };
  if (choice.type !== 'allowed_tools') {
    return { ...all, toolChoice: toolChoice(requireNamed(choice, { ...all, param: 'tool_choice' })) };
  }
  const allowed = choice.tools.flatMap((named, index) => {
    // A hosted tool that the model lacks was left out of the tools, too.
    if (isHosted(named) && !exists(named, all)) return [];
    return [requireNamed(named, { ...all, param: `tool_choice.tools[${index}]` })];
  });
  return { ...all, ...restrictTo(all, allowed), toolChoice: choice.mode };
}

/** The named tool. @throws GatewayError if it is not among the tools. */
function requireNamed(
  requested: NamedTool,
  { tools, hosted, mcpServers, param }: OfferedTools & { param: string },
): NamedTool {
  const named = requested.type === 'function' || requested.type === 'custom' ? qualify(requested, tools) : requested;
  if (exists(named, { tools, hosted, mcpServers })) return named;
  const what = 'name' in named && named.type !== 'mcp' ? `${named.type} tool ${named.name}` : `${named.type} tool`;
  throw fieldError('invalid_parameter', param, `there is no ${what} among the tools.`);
}

/** Adds the namespace to the name of a tool, which clients may leave out if no other tool has the name. */
function qualify<Named extends Extract<NamedTool, { type: 'function' | 'custom' }>>(
  named: Named,
  tools: readonly OfferedFunction[],
): Named {
  const name = named.namespace === undefined ? named.name : `${named.namespace}.${named.name}`;
  const [inside, ...others] = tools.filter((tool) => !tool.dotted && tool.name.endsWith(`.${name}`));
  const isUnique = inside && others.length === 0 && !tools.some((tool) => tool.name === name);
  return { ...named, name: isUnique ? inside.name : name };
}

function exists(named: NamedTool, { tools, hosted, mcpServers }: OfferedTools): boolean {
  if (named.type === 'mcp') return mcpServers.some(({ name }) => name === named.server_label);
  const [first = ''] = namesOf(named);
  return isHosted(named)
    ? (hosted?.builtin.includes(first) ?? false)
    : tools.some((tool) => tool.name === first && kindOf(tool) === named.type);
}

type HostedName = Extract<NamedTool, { type: keyof typeof BUILTIN_OF_TYPE }>;

function isHosted(named: NamedTool): named is HostedName {
  return Object.hasOwn(BUILTIN_OF_TYPE, named.type);
}

/** The names under which the model is offered a tool, the one to call first in front. */
function namesOf(named: Exclude<NamedTool, { type: 'mcp' }>): readonly string[] {
  if (isHosted(named)) return BUILTIN_OF_TYPE[named.type];
  return [named.type === 'function' || named.type === 'custom' ? named.name : named.type];
}

function kindOf({ custom, shell }: OfferedFunction): NamedTool['type'] {
  return shell ?? (custom ? 'custom' : 'function');
}

/** The tool that a model has to call. The tools of an MCP server are not known yet, so that any tool may be called. */
function toolChoice(named: NamedTool): TurnToolChoice {
  if (named.type !== 'mcp') return { name: namesOf(named)[0] ?? '' };
  return named.name === undefined ? 'required' : { name: `${named.server_label}.${named.name}` };
}

function restrictTo({ tools, hosted, mcpServers }: OfferedTools, allowed: readonly NamedTool[]): OfferedTools {
  const names = new Set<string>();
  const servers = new Map<string, string[]>();
  for (const named of allowed) {
    if (named.type === 'mcp') {
      const names = servers.getOrInsertComputed(named.server_label, () => []);
      if (named.name !== undefined) names.push(named.name);
    } else for (const name of namesOf(named)) names.add(name);
  }
  return {
    tools: tools.filter(({ name }) => names.has(name)),
    hosted: hosted && { ...hosted, builtin: hosted.builtin.filter((name) => names.has(name)) },
    mcpServers: mcpServers.flatMap((server) => {
      const tools = servers.get(server.name);
      if (!tools) return [];
      return [tools.length === 0 ? server : { ...server, allowedTools: tools }];
    }),
  };
}
