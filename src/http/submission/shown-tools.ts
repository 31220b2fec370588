import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import type { ResponseObject } from '../../protocol/response.ts';

type ToolOf<Type> = Extract<ResponseTool, { type: Type }>;
type ShownTool = ResponseObject['tools'][number];
type ShownOf<Type> = Extract<ShownTool, { type: Type }>;

function shownFunction(tool: ToolOf<'function'>): ShownOf<'function'> {
  const { type, name, description = null, parameters = null, strict = null, defer_loading } = tool;
  return { type, name, description, parameters, strict, ...(defer_loading !== undefined && { defer_loading }) };
}

function shownCustom({ type, name, description, format = { type: 'text' } }: ToolOf<'custom'>): ShownOf<'custom'> {
  return { type, name, ...(description && { description }), format };
}

/** Tools as the response shows them: without the credentials of MCP servers, and without tool searches. */
export function shownTools(tools: readonly ResponseTool[]): ShownTool[] {
  return tools.flatMap((tool) => (tool.type === 'tool_search' ? [] : [shownTool(tool)]));
}

function shownTool(tool: Exclude<ResponseTool, { type: 'tool_search' }>): ShownTool {
  switch (tool.type) {
    case 'function':
      return shownFunction(tool);
    case 'namespace': {
      const { type, name, description = null } = tool;
      const tools = tool.tools.map((inner) => (inner.type === 'custom' ? shownCustom(inner) : shownFunction(inner)));
      return { type, name, description, tools };
    }
    case 'custom':
      return shownCustom(tool);
    case 'mcp': {
      const { type, server_label, allowed_tools = null, require_approval } = tool;
      return { type, server_label, allowed_tools, require_approval: require_approval ?? 'never' };
    }
    case 'code_interpreter':
      // Code that runs here gets its own container, whatever was requested.
      return { ...tool, container: { type: 'auto' } };
    default:
      return tool;
  }
}
