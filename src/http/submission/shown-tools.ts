import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import type { ResponseObject } from '../../protocol/response.ts';

type FunctionTool = Extract<ResponseTool, { type: 'function' }>;
type ShownTool = ResponseObject['tools'][number];
type ShownFunction = Extract<ShownTool, { type: 'function' }>;

function shownFunction({ type, name, description, parameters, strict }: FunctionTool): ShownFunction {
  return { type, name, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
}

/** Tools as the response shows them: what an MCP server is reached with is not shown, nor what is left out. */
export function shownTools(tools: readonly ResponseTool[]): ShownTool[] {
  return tools.flatMap((tool) => (tool.type === 'tool_search' ? [] : [shownTool(tool)]));
}

function shownTool(tool: Exclude<ResponseTool, { type: 'tool_search' }>): ShownTool {
  switch (tool.type) {
    case 'function':
      return shownFunction(tool);
    case 'namespace': {
      const { type, name, description = null } = tool;
      return { type, name, description, tools: tool.tools.map(shownFunction) };
    }
    case 'custom': {
      const { type, name, description, format = { type: 'text' as const } } = tool;
      return { type, name, ...(description && { description }), format };
    }
    case 'mcp': {
      const { type, server_label, allowed_tools = null, require_approval } = tool;
      return { type, server_label, allowed_tools, require_approval: require_approval ?? 'never' };
    }
    case 'code_interpreter':
      // What runs here has a container of its own, whatever was asked for.
      return { ...tool, container: { type: 'auto' } };
    default:
      return tool;
  }
}
