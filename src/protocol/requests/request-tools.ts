import { z } from 'zod';
import { parseHost } from '../../base/hosts.ts';
import { isObject, type JsonObject, scalarText } from '../../base/json.ts';
import { boundedList, byType, mapOf, optional, pickSchema, schemaRef, unsupported, unsupportedField } from './parse.ts';

/**
 * The tools of a request (docs/api.md, "POST /v1/responses" and "Chat completions"): tools that run on the server, and
 * the client's own.
 */

/** Limit of a credential, and of a server's headers together, because answers are searched for them; in characters. */
const MAX_CREDENTIAL_LENGTH = 8192;
const MAX_URL_LENGTH = 8192;

/** A valid header value. An HTTP client's error about an invalid one would quote it, and so a credential. */
const headerValue = z
  .string()
  .max(MAX_CREDENTIAL_LENGTH)
  .refine((value) => !/[^\t\x20-\x7e\x80-\xff]/.test(value.trim()), 'must not have control characters or line breaks');
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name');
const headerMap = mapOf(headerValue, { max: 64, names: headerName }).refine(
  (headers) => Object.values(headers).reduce((sum, { length }) => sum + length, 0) <= MAX_CREDENTIAL_LENGTH,
  `expected at most ${MAX_CREDENTIAL_LENGTH} characters in all`,
);
const names = boundedList(z.string().meta({ type: 'string' }), { max: 1000 });
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(MAX_URL_LENGTH, `expected at most ${MAX_URL_LENGTH} characters`)
  .refine((text) => !hasCredentials(text), 'must not hold a user name or password: send them in headers');

function hasCredentials(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.username !== '' || url.password !== '');
}

/** An MCP server of a request, `mcp_servers[]`. Its credentials are sent to that server only. */
const mcpServer = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  url: httpUrl,
  headers: optional(headerMap),
  access_token: optional(headerValue),
  allowed_tools: optional(names),
  oauth: optional(
    z.object({
      client_id: z.string().min(1),
      client_secret: z.string().min(1).max(MAX_CREDENTIAL_LENGTH),
      token_url: optional(httpUrl),
      issuer: optional(httpUrl),
      scope: optional(z.string()),
    }),
  ),
});
export type RequestMcpServer = z.output<typeof mcpServer>;
export const mcpServers = boundedList(mcpServer.meta(schemaRef('McpServer')), { max: 32 });

const TOOLS_RUN_HERE = 'custom tools cannot be used: offer functions, or name tools that run on the server.';

/** The name of a namespace or server, which a dot separates from the names of its tools. */
export const plainName = z.string().regex(/^[\w-]{1,128}$/, 'must be 1 to 128 letters, digits, _ or -');
/** The name of a function. Providers that refuse some of these get another, see `ToolNames`. */
const functionName = z.string().regex(/^[\w.:/-]{1,128}$/, 'must be 1 to 128 letters, digits or _ - . : /');

export const functionShape = {
  name: functionName,
  description: optional(z.string()),
  parameters: optional(z.custom<JsonObject>(isObject, 'expected a JSON Schema object')),
  strict: optional(z.boolean()),
  defer_loading: optional(z.boolean()),
};
export const functionTool = z.object({ type: z.literal('function'), ...functionShape });

/**
 * The tool that searches for functions with `defer_loading`. The gateway offers those at once, so it has nothing to find.
 * With `execution: client` and no such functions, the client does the search.
 */
export const toolSearch = z.object({
  type: z.literal('tool_search'),
  execution: optional(z.enum(['server', 'client'])),
  description: optional(z.string()),
  parameters: optional(z.custom<JsonObject>(isObject, 'expected a JSON Schema object')),
});

/** The grammar of a custom tool's text. */
const grammar = z.object({
  type: z.literal('grammar'),
  syntax: z.enum(['lark', 'regex']),
  definition: z.string().min(1),
});

/** A custom tool of the client, which takes a text in place of arguments. */
export const customTool = z.object({
  type: z.literal('custom'),
  name: functionName,
  description: optional(z.string()),
  format: optional(z.discriminatedUnion('type', [z.object({ type: z.literal('text') }), grammar])),
});

const inNamespace = pickSchema((value) => (isObject(value) && value.type === 'custom' ? customTool : functionTool));
/** A group of tools: offered to models as `<namespace>.<name>`, and called with both names. */
export const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: plainName,
  description: optional(z.string()),
  tools: boundedList(inNamespace, { max: 128 }),
});

/** The environment of a shell. Only the client's own machine is supported; the others are hosted by OpenAI. */
const localEnvironment = z.object({
  type: z.literal('local'),
  skills: optional(
    boundedList(
      z.object({ name: z.string().max(256), description: z.string().max(4096), path: z.string().max(4096) }),
      { max: 64 },
    ),
  ),
});
/** OpenAI's tools that run at the client. */
export const shellTools = {
  local_shell: z.object({ type: z.literal('local_shell') }),
  shell: z.object({
    type: z.literal('shell'),
    environment: optional(
      pickSchema((value) =>
        isObject(value) && value.type !== 'local'
          ? { refuse: 'unsupported_parameter', message: 'only the environment local is there', at: 'type' }
          : localEnvironment,
      ),
    ),
  }),
  apply_patch: z.object({ type: z.literal('apply_patch') }),
} as const;

/** A choice among the tools of an MCP server. A field that is not understood would leave a choice of all. */
const toolFilter = z.strictObject({
  tool_names: optional(names),
  read_only: unsupportedField('what a server says of its tools is not known here: send tool_names'),
});
const mcpShape = {
  type: z.literal('mcp'),
  server_label: mcpServer.shape.name,
  connector_id: unsupportedField('connectors run at OpenAI: send server_url'),
  tunnel_id: unsupportedField('tunnels end at OpenAI: send server_url'),
  server_url: httpUrl,
  headers: optional(headerMap),
  authorization: optional(headerValue),
  allowed_tools: optional(z.union([names, toolFilter], 'expected an array of names')),
};

const mcpTool = z.object({
  ...mcpShape,
  require_approval: optional(
    z.union(
      [z.enum(['always', 'never']), z.strictObject({ always: optional(toolFilter), never: optional(toolFilter) })],
      'use "always", "never" or an object of both with tool_names',
    ),
  ),
});

/** An MCP server for APIs that cannot ask the client for approval. */
const mcpToolWithoutApproval = z.object({
  ...mcpShape,
  require_approval: optional(
    z
      .unknown()
      .refine((value) => value === 'never', unsupported('nobody is asked for approval here: use "never"'))
      .transform(() => 'never' as const),
  ),
});

/** A domain, parsed to its host: `example.org`, also from `*.example.org` or `https://example.org/`. */
export const domain = z.string().transform((text, context) => {
  const host = parseHost(text);
  if (host !== undefined) return host;
  context.addIssue({ code: 'custom', message: 'must be a domain such as example.org' });
  return z.NEVER;
});
const filters = z.object({
  allowed_domains: optional(boundedList(domain.meta({ type: 'string' }), { max: 100 })),
  blocked_domains: optional(boundedList(domain.meta({ type: 'string' }), { max: 100 })),
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

const fileSearchTool = z.object({
  type: z.literal('file_search'),
  vector_store_ids: boundedList(z.string().meta({ type: 'string' }), { min: 1, max: 10 }),
  filters: optional(z.unknown()),
  max_num_results: optional(z.int().min(1).max(50)),
  ranking_options: optional(
    z.object({
      score_threshold: optional(z.number().min(0).max(1)),
      ranker: optional(z.string()),
      hybrid_search: optional(z.unknown()),
    }),
  ),
});

const undatedTools = { mcp: mcpTool, code_interpreter: codeInterpreterTool, file_search: fileSearchTool };

/** The type of a server-side tool without its version, such as `web_search` for dated variants; else undefined. */
export function hostedType(type: unknown): 'web_search' | keyof typeof undatedTools | undefined {
  if (type === 'mcp' || type === 'code_interpreter' || type === 'file_search') return type;
  return /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/.test(scalarText(type)) ? 'web_search' : undefined;
}

export function isShellType(type: unknown): type is keyof typeof shellTools {
  return typeof type === 'string' && Object.hasOwn(shellTools, type);
}

/** The server-side tools by their `hostedType`. */
export const hostedTools = { ...undatedTools, web_search: webSearchTool };

/** A tool of a plain model. */
export const plainTool = pickSchema((value) => {
  if (!isObject(value) || value.type === 'function') return functionTool;
  if (value.type === 'namespace') return namespaceTool;
  if (value.type === 'custom') return customTool;
  if (value.type === 'tool_search') return toolSearch;
  if (isShellType(value.type)) return shellTools[value.type];
  const hosted = hostedType(value.type);
  if (hosted) return hostedTools[hosted];
  const type = scalarText(value.type).slice(0, 40);
  return {
    refuse: value.type == null ? 'missing_parameter' : 'unsupported_parameter',
    message:
      value.type == null
        ? 'this field is required'
        : `tools of type ${type} cannot be used here: use functions, or a model with "responses: native"`,
    at: 'type',
  };
});

/** A tool of a Responses request on a research model. Dated variants of web search are equivalent. */
export const responseTool = pickSchema((value) => {
  const type = isObject(value) ? value.type : undefined;
  if (type === 'custom') return { refuse: 'unsupported_parameter', message: TOOLS_RUN_HERE };
  if (type === 'function') return functionTool;
  if (type === 'namespace') return namespaceTool;
  if (type === 'tool_search') return toolSearch;
  if (hostedType(type) === 'web_search') return webSearchTool;
  return byType(
    value,
    undatedTools,
    'unknown tool type: use function, mcp, web_search, file_search or code_interpreter',
  );
}).meta(schemaRef('Tool'));
/** A tool of any request. Custom tools and shell tools are for plain models only. */
export type ResponseTool = z.output<typeof responseTool | typeof customTool | ShellSchema>;
/** A tool that runs at the client. */
export type ClientTool = z.output<(typeof clientTools)[keyof typeof clientTools]>;
type ShellSchema = (typeof shellTools)[keyof typeof shellTools];

const chatFunctionShape = { type: z.literal('function').default('function'), function: z.object(functionShape) };

/** A function of a chat completion, converted to the format of the Responses API. */
export const chatFunction = z
  .object(chatFunctionShape)
  .transform(({ function: fields }): z.output<typeof functionTool> => ({ type: 'function', ...fields }));

/** A tool of a chat completion on a research model. A tool without a type is a function. */
export const chatTool = pickSchema((value) => {
  if (isObject(value) && value.type === 'mcp') return mcpToolWithoutApproval;
  return isObject(value) && (value.type === undefined || value.type === 'function') ? chatFunction : responseTool;
}).meta(schemaRef('Tool'));

/** For the API description, by component name. */
export const toolComponents = {
  Tool: z
    .union([webSearchTool, fileSearchTool, codeInterpreterTool, mcpTool, functionTool, namespaceTool, toolSearch])
    .describe(
      'Server-side tools and functions of the client. If any server-side tool is named, only the named ones are used.',
    ),
  McpServer: mcpServer,
};

const clientTools = {
  function: functionTool,
  custom: customTool,
  namespace: namespaceTool,
  tool_search: toolSearch,
  ...shellTools,
};

/** Whether a tool runs at the client. */
export function isClientTool(tool: ResponseTool): tool is ClientTool {
  return Object.hasOwn(clientTools, tool.type);
}

/** The names of unknown fields of a tool as sent, for `x-ignored-parameters`; null counts as absent. */
export function unknownFields(sent: Record<string, unknown>, tool: ResponseTool): string[] {
  const { type } = tool;
  if (type === 'function' && isObject(sent.function) && sent.name == null) {
    return [...unknownIn(sent, chatFunctionShape, ''), ...unknownIn(sent.function, functionShape, 'function.')];
  }
  const known = { ...clientTools, ...hostedTools }[type].shape;
  const unknown = unknownIn(sent, known, '');
  if (type === 'web_search' && isObject(sent.filters))
    return [...unknown, ...unknownIn(sent.filters, filters.shape, 'filters.')];
  if (type !== 'namespace') return unknown;
  const inner = tool.tools.flatMap((innerTool, index) => {
    const innerSent: unknown = Array.isArray(sent.tools) ? sent.tools[index] : undefined;
    return isObject(innerSent) ? unknownFields(innerSent, innerTool).map((name) => `tools[${index}].${name}`) : [];
  });
  return [...unknown, ...inner];
}

function unknownIn(value: Record<string, unknown>, shape: object, path: string): string[] {
  const names = Object.keys(value).filter((name) => value[name] !== null && !Object.hasOwn(shape, name));
  return names.map((name) => path + name);
}
