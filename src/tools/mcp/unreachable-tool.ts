import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { type Tool, ToolError } from '../tool.ts';
import type { McpConnection } from './mcp-connection.ts';
import { DEFAULT_TIMEOUT_MS, TOTAL_TIMEOUT_FACTOR } from './mcp-server.ts';

const argumentsSchema = z.object({
  tool: z.string().optional(),
  arguments: z.record(z.string(), z.json()).default({}),
});

/** The name of the placeholder, after that of its server. */
export const UNREACHABLE_TOOL = 'call';

/**
 * Creates the placeholder for the tools of a server that could not be reached. A call retries the connection; it calls
 * the named tool, or lists the tools if it names none.
 */
export function unreachableTool(connection: McpConnection, reason: ToolError): Tool {
  const { name, timeoutMs = DEFAULT_TIMEOUT_MS } = connection.server;
  return {
    name: `${name}.${UNREACHABLE_TOOL}`,
    description:
      `The MCP server ${name} could not be reached (${reason.message}), so its tools are unknown. ` +
      'Call this without arguments to try again and list them, or with the name of one to use it.',
    parameters: {
      type: 'object',
      properties: { tool: { type: 'string' }, arguments: { type: 'object' } },
      additionalProperties: false,
    },
    timeoutMs: timeoutMs * TOTAL_TIMEOUT_FACTOR,
    unreachable: { server: name, reason: reason.message },
    async call(args: JsonObject, context) {
      const parsed = argumentsSchema.safeParse(args);
      if (!parsed.success) throw new ToolError('invalid_arguments', 'expected {"tool"?: string, "arguments"?: object}');
      const { tools } = await connection.tools({ signal: context.signal });
      const { tool: wanted } = parsed.data;
      if (wanted === undefined) {
        const listed = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
        return { sources: [], result: () => ({ tools: listed }) };
      }
      const tool = tools.find((remote) => remote.name === wanted);
      if (!tool) throw new ToolError('not_found', `MCP server ${name} has no tool of this name.`);
      return await connection.call(tool, parsed.data.arguments, context);
    },
  };
}
