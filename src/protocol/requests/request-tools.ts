import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { boundedList, byType, cannot, chosenBy, mapOf, optional, reference } from './parse.ts';

/** The parts of a request that say which tools may be used (contract sections 3 and 7). All of them run on the server. */

/** What may stand in a header; what an HTTP client says of anything else quotes it, a credential too. */
const headerValue = z
  .string()
  .refine((value) => !/[^\t\x20-\x7e\x80-\xff]/.test(value.trim()), 'must not have control characters or line breaks');
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name');
const headerMap = mapOf(headerValue, { max: 64, names: headerName });
const names = boundedList(z.string().meta({ type: 'string' }), { max: 1000 });
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((text) => !hasCredentials(text), 'must not hold a user name or password: send them in headers');

function hasCredentials(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.username !== '' || url.password !== '');
}

/** A per-request MCP server, `mcp_servers[]`. Its credentials never leave the gateway except to that server. */
export const mcpServer = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  url: httpUrl,
  headers: optional(headerMap),
  access_token: optional(headerValue),
  allowed_tools: optional(names),
  oauth: optional(
    z.object({
      client_id: z.string().min(1),
      client_secret: z.string().min(1),
      token_url: optional(httpUrl),
      issuer: optional(httpUrl),
      scope: optional(z.string()),
    }),
  ),
});
export type RequestMcpServer = z.output<typeof mcpServer>;
export const mcpServers = boundedList(mcpServer.meta(reference('McpServer')), { max: 32 });

const TOOLS_RUN_HERE =
  'function tools cannot be used: tools run on the server. Leave tools out, or name server-side ones.';

const mcpTool = z.object({
  type: z.literal('mcp'),
  server_label: mcpServer.shape.name,
  server_url: httpUrl,
  headers: optional(headerMap),
  authorization: optional(headerValue),
  require_approval: z
    .unknown()
    .refine((value) => value == null || value === 'never', cannot('nobody is asked for approval here: use "never"'))
    .optional(),
  allowed_tools: optional(z.union([names, z.object({ tool_names: names.optional() })], 'expected an array of names')),
});

/** A domain, as its host alone: `example.org`, also written `*.example.org` or `https://example.org/`. */
const domain = z.string().transform((given, context) => {
  const bare = given
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/^\*?\./, '');
  const url = bare.length > 300 ? null : URL.parse(`http://${bare}`);
  const isHost = url?.href === `${url?.origin}/` && url.port === '' && /^[\w.:[\]-]+$/.test(url.hostname);
  if (url && bare !== '' && isHost) return url.hostname;
  context.addIssue({ code: 'custom', message: 'must be a domain such as example.org' });
  return z.NEVER;
});
const filters = z.object({
  allowed_domains: optional(boundedList(domain.meta({ type: 'string' }), { max: 100 })),
});
const webSearchTool = z.object({
  type: z
    .string()
    .meta({ type: 'string', enum: ['web_search', 'web_search_preview'] })
    .transform(() => 'web_search' as const),
  filters: optional(filters),
  user_location: optional(
    z.object({
      type: optional(z.string()),
      country: optional(z.string()),
      city: optional(z.string()),
      region: optional(z.string()),
      timezone: optional(z.string()),
    }),
  ),
  search_context_size: optional(z.enum(['low', 'medium', 'high'])),
});
const codeInterpreterTool = z.object({ type: z.literal('code_interpreter') });

const tools = { mcp: mcpTool, code_interpreter: codeInterpreterTool };

/** A server-side tool of a Responses request. Dated variants of the web search tool mean the same. */
export const responseTool = chosenBy((value) => {
  const type = isObject(value) ? value.type : undefined;
  if (type === 'function' || type === 'custom') return { refuse: 'unsupported_parameter', message: TOOLS_RUN_HERE };
  if (/^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/.test(String(type))) return webSearchTool;
  return byType(value, tools, 'unknown tool type: use mcp, web_search or code_interpreter');
}).meta(reference('Tool'));
export type ResponseTool = z.output<typeof responseTool>;

/** `tool_choice`: only `auto` and `none` can be honoured. */
export const toolChoice = z
  .custom<'auto' | 'none'>(
    (value) => value === 'auto' || value === 'none',
    cannot('only "auto" and "none" are supported: tools run on the server'),
  )
  .meta({ type: 'string', enum: ['auto', 'none'], default: 'auto' });

/** A tool of a chat completion: there a function is what a tool is if it says nothing else. */
export const chatTool = chosenBy((value) =>
  isObject(value) && value.type === undefined
    ? { refuse: 'unsupported_parameter', message: TOOLS_RUN_HERE }
    : responseTool,
).meta(reference('Tool'));

/** For the API description, by component name. */
export const toolComponents = {
  Tool: z
    .union([webSearchTool, codeInterpreterTool, mcpTool])
    .describe('Tools that run on the server. If any is named, only the named ones are used.'),
  McpServer: mcpServer,
};

/** The fields of each tool that are understood. */
const UNDERSTOOD = { ...tools, web_search: webSearchTool };

/** The fields of a tool, as sent, that nobody understands; null counts as absent. */
export function unknownFields(sent: Record<string, unknown>, { type }: ResponseTool): string[] {
  const named = (value: Record<string, unknown>, shape: object, path: string) =>
    Object.keys(value)
      .filter((name) => value[name] !== null && !Object.hasOwn(shape, name))
      .map((name) => path + name);
  const nested = isObject(sent.filters) ? named(sent.filters, filters.shape, 'filters.') : [];
  return [...named(sent, UNDERSTOOD[type].shape, ''), ...(type === 'web_search' ? nested : [])];
}
