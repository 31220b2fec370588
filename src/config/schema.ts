import { z } from 'zod';
import { withoutTrailing } from '../base/text.ts';
import { SEARCH_PROVIDER_NAMES } from './search-providers.ts';
import { hours, minutes, minutesOrNone, seconds, size } from './units.ts';

/**
 * The configuration file (contract section 9), validated strictly: an unknown key is an error. What the file writes in
 * seconds, minutes or sizes is parsed to milliseconds and bytes, and then has its unit in its name (`heartbeatMs`).
 */

const name = z.string().regex(/^[\w.:@/-]{1,128}$/, 'must be 1 to 128 letters, digits or . _ : @ / -');
const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/^https?:\/\/[^/?#]*@/i.test(url), {
    error: 'must not hold a user or password: URLs are shown in logs; use api_key or headers',
  })
  .transform((url) => withoutTrailing(url, '/'));
/** A credential as it can stand in a header. */
const credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, and not empty');
const headers = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name'), z.string());

/** The origin of a web page, as browsers send it. */
const origin = z
  .string()
  .regex(/^(?:\*|[a-z][a-z\d+.-]*:\/\/[^/?#\s]+)$/i, 'must be an origin such as https://app.example.com, or *');

const server = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1'),
    port: z.int().min(0).max(65_535).default(8080),
    /** A second port for /healthz, /readyz, /metrics, /openapi.json, /docs and /console; absent: the main one. */
    admin_port: z.int().min(0).max(65_535).optional(),
    /** Processes behind one port; `auto`: one per core. */
    workers: z.union([z.int().min(1).max(64), z.literal('auto')], 'must be a number from 1 to 64, or auto').default(1),
    body_limit: size.prefault('10mb'),
    /** All bodies that are being read or answered, together. One key may take half of it. */
    body_memory: size.prefault('256mb'),
    heartbeat_seconds: seconds.prefault(15),
    shutdown_grace_seconds: seconds.prefault(30),
    /** Origins of web pages that may call the gateway; `*`: every one. */
    cors_origins: z.array(origin).default([]),
    /** What prices are in. Shown beside costs, never converted. */
    currency: z
      .string()
      .regex(/^[A-Za-z]{3}$/, 'must be three letters such as USD')
      .default('USD'),
    /** Addresses or ranges of proxies whose X-Forwarded-For is believed. */
    trust_proxy: z.array(z.string()).default([]),
  })
  .transform(
    ({
      body_limit: bodyLimitBytes,
      body_memory: bodyMemoryBytes,
      heartbeat_seconds: heartbeatMs,
      shutdown_grace_seconds: shutdownGraceMs,
      ...rest
    }) => ({
      ...rest,
      bodyLimitBytes,
      bodyMemoryBytes,
      heartbeatMs,
      shutdownGraceMs,
    }),
  );

const store = z
  .strictObject({
    url: z
      .string()
      .regex(
        /^(file:(?!\/\/[^/]).+|memory:|rediss?(-cluster|-sentinel)?:\/\/.+)$/,
        'must be file:<folder>, memory:, redis://host:port/db, redis-cluster://a:6379,b:6379 or redis-sentinel://s1:26379,s2:26379/name',
      )
      .default('file:./data'),
    retention_hours: hours.prefault(168),
    /** SQLite only. `normal`: a process crash loses nothing; `full`: nor does a power loss, at a cost. */
    sync: z.enum(['normal', 'full']).default('normal'),
    /** Redis only: replicas that must have a write before it is answered and shown. */
    replicas: z.int().nonnegative().default(0),
    /** For `rediss...`: files in PEM, and the name that certificates must have where it is not the host's. */
    tls: z
      .strictObject({
        ca_file: z.string().optional(),
        cert_file: z.string().optional(),
        key_file: z.string().optional(),
        server_name: z.string().optional(),
      })
      .transform(({ ca_file: caFile, cert_file: certFile, key_file: keyFile, server_name: serverName }) => ({
        caFile,
        certFile,
        keyFile,
        serverName,
      }))
      .optional(),
  })
  .transform(({ retention_hours: retentionMs, ...rest }) => ({ ...rest, retentionMs }));

const runs = z
  .strictObject({
    max_concurrent: z.int().positive().default(200),
    max_queued: z.int().nonnegative().default(1000),
    /** What becomes of the runs of a key that is removed. */
    keys_removed: z.enum(['keep', 'cancel']).default('keep'),
    max_minutes: minutes.prefault(60),
  })
  .transform(({ max_minutes: maxRunMs, ...rest }) => ({ ...rest, maxRunMs }));

const timeouts = z.strictObject({
  connect: seconds.prefault(5),
  /** Until the response headers. */
  first_byte: seconds.prefault(120),
  /** From the headers to the first token; as `first_byte` where absent. */
  first_token: seconds.optional(),
  /** Between two chunks. */
  idle: seconds.prefault(60),
  /** Until the first token, while another route could be asked; three times as long for answers that are not streamed. */
  patience: seconds.prefault(30),
  /** A whole call, from the request to the end of the answer; absent: no limit. */
  total: seconds.optional(),
});

const builtinProvider = z.strictObject({
  builtin: z.literal('demo'),
  /** Pause between streamed words in milliseconds, so that progress can be watched. */
  pace_ms: z.int().nonnegative().max(1000).default(0),
});
const remoteProvider = z.strictObject({
  base_url: httpUrl,
  /** The API that research speaks with it: OpenAI's chat completions or Responses, Anthropic's Messages. */
  wire: z.enum(['chat', 'responses', 'messages']).default('chat'),
  api_key: credential.optional(),
  headers: headers.default({}),
  timeouts: timeouts.prefault({}),
  max_retries: z.int().nonnegative().max(10).default(2),
  /** Connections kept to this provider at most. */
  max_connections: z.int().positive().default(256),
  /** Forces what is otherwise seen from the stream. */
  dialect: z.string().min(1).optional(),
});
const provider = z.union([builtinProvider, remoteProvider], {
  error: 'needs one of the two: base_url: <URL of the provider>, or builtin: demo',
});

/** What a million tokens cost, in `server.currency`. */
const price = z.strictObject({
  input: z.number().nonnegative(),
  /** Input that the provider had seen before; as `input` where absent. */
  cached_input: z.number().nonnegative().optional(),
  output: z.number().nonnegative(),
});
const route = z.strictObject({
  provider: name,
  model: z.string().min(1),
  /** Tokens that this route's model reads at most; the model's `context_length` where absent. */
  context_length: z.int().positive().optional(),
  price: price.optional(),
});
const routes = z.array(route).min(1, 'needs at least one route: { provider, model }');

/** Values of `models.<name>.apis`: those of the gateway itself and the `/v1/<path>` families of proxy models. */
const api = z
  .string()
  .regex(/^[a-z][a-z0-9_/.-]*$/, 'must be an API name such as responses, async, chat_completions, embeddings');

export const effortLevel = z.enum(['low', 'medium', 'high']);
/** Whose grammar responses have where it is not the service's own. */
const profile = z.enum(['openai']);
const budget = z.strictObject({
  turns: z.int().positive().optional(),
  tool_calls: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  minutes: z.number().positive().optional(),
  /** In `server.currency`; only where every route has a price. */
  cost: z.number().positive().optional(),
  parallel_tool_calls: z.int().positive().max(64).optional(),
});
const research = z.strictObject({
  effort: effortLevel.default('medium'),
  tools: z.array(z.string().min(1)).default(['web_search', 'fetch_url_content']),
  /** Own budgets; what is absent keeps its default (see docs/configuration.md). */
  budgets: z.partialRecord(effortLevel, budget).default({}),
  /** Recent tool results that stay whole in the context. */
  keep_tool_results: z.int().positive().default(5),
  /** The part of the context up to which requests only grow; then older turns become findings. */
  compact_at: z.number().min(0.1).max(0.9).default(0.42),
  /** A cheaper route that summarises huge pages; absent: the model's own routes. */
  reader: z.array(route).optional(),
  verify: z.boolean().default(false),
  /** Added to the system prompt of every run of this model. */
  instructions: z.string().optional(),
});

const modelBase = {
  apis: z.array(api).min(1).default(['chat_completions']),
  context_length: z.int().positive().default(128_000),
  max_completion_tokens: z.int().positive().default(16_384),
  owned_by: z.string().min(1).default('research-gateway'),
  /** Unix seconds, shown by /v1/models. */
  created: z.int().nonnegative().default(0),
  /** After so long without a word a second route is asked beside the first; absent: never. */
  hedge_after: seconds.optional(),
  routes,
};
const model = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('research'),
      ...modelBase,
      apis: z
        .array(z.enum(['responses', 'async', 'chat_completions']))
        .min(1)
        .default(['responses', 'async', 'chat_completions']),
      /** Whether the provider's model reads images; absent: `input_image` is refused. */
      vision: z.boolean().default(false),
      profile: profile.optional(),
      research: research.prefault({}),
    }),
    z.strictObject({
      kind: z.literal('proxy'),
      ...modelBase,
      /** A stream that breaks is continued by the next route, in place. */
      continue_streams: z.boolean().default(false),
    }),
  ],
  { error: 'must be one of: research, proxy' },
);

const limits = z.strictObject({
  requests_per_minute: z.int().positive().optional(),
  concurrent_runs: z.int().positive().optional(),
  tokens_per_day: z.int().positive().optional(),
  /** In `server.currency`, of research runs on routes that have a price. */
  cost_per_day: z.number().positive().optional(),
});
/** Paths that have endpoints of their own. */
const OWN_PATHS = ['/v1/responses', '/v1/async', '/v1/models', '/v1/chat/completions'];

const key = z
  .strictObject({
    id: name,
    /** Whose items; the key's id where absent. */
    user: name.optional(),
    secret: credential.optional(),
    secret_sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
      .transform((hex) => hex.toLowerCase())
      .optional(),
    /** Models the key may use; absent: all. */
    models: z.array(z.string()).optional(),
    routes: z.record(z.string(), routes).default({}),
    provider_keys: z.record(z.string(), credential).default({}),
    limits: limits.prefault({}),
    mcp_servers: z.boolean().default(false),
    /** Whose grammar the responses of this key have, whatever the model says. */
    profile: profile.optional(),
    /** Whether it may read the operator's endpoint behind the console. */
    admin: z.boolean().default(false),
    /** The passed-through paths that it may use. */
    passthrough: z.union([z.literal('all'), z.array(z.string().regex(/^\/v1\/./, 'must begin with /v1/'))]).default([]),
  })
  .refine((value) => (value.secret === undefined) !== (value.secret_sha256 === undefined), {
    path: ['secret'],
    error: 'give either secret or secret_sha256',
  });

const searchProvider = z.enum(SEARCH_PROVIDER_NAMES);
const searchBackend = z.strictObject({
  provider: searchProvider,
  folder: z.string().optional(),
  url: httpUrl.optional(),
  api_key: credential.optional(),
  /** For `google`: the id of the Programmable Search Engine. */
  engine_id: credential.optional(),
  /** For `searxng`: engines to ask, such as `duckduckgo`; absent: those of the instance. */
  engines: z.array(z.string().regex(/^[\w .-]+$/, 'must be the name of an engine')).optional(),
  /** Language of the results, for services that know one. */
  language: z
    .string()
    .regex(/^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$/, 'must be a language code such as en or pt-BR')
    .optional(),
});
/** The two durations of a tool that keeps answers. 0 minutes: nothing is kept. */
const inMilliseconds = <T extends { cache_minutes: number; timeout_seconds: number }>({
  cache_minutes: cacheMs,
  timeout_seconds: timeoutMs,
  ...rest
}: T) => ({ ...rest, cacheMs, timeoutMs });
const withTimeoutMs = <T extends { timeout_seconds: number }>({ timeout_seconds: timeoutMs, ...rest }: T) => ({
  ...rest,
  timeoutMs,
});

const webSearch = z
  .strictObject({
    ...searchBackend.shape,
    provider: searchProvider.default('local'),
    /** Tried in order when the first provider fails. */
    fallbacks: z.array(searchBackend).default([]),
    max_results: z.int().positive().max(50).default(8),
    cache_minutes: minutesOrNone.prefault(60),
    allow_domains: z.array(z.string()).default([]),
    deny_domains: z.array(z.string()).default([]),
    timeout_seconds: seconds.prefault(20),
  })
  .transform(inMilliseconds);
const fetchUrlContent = z
  .strictObject({
    max_bytes: size.prefault('10mb'),
    allow_hosts: z.array(z.string()).default([]),
    deny_hosts: z.array(z.string()).default([]),
    allow_private_addresses: z.boolean().default(false),
    cache_minutes: minutesOrNone.prefault(60),
    timeout_seconds: seconds.prefault(30),
    user_agent: z.string().min(1).optional(),
  })
  .transform(inMilliseconds);
const executePython = z
  .strictObject({
    timeout_seconds: seconds.prefault(30),
    memory_mb: z.int().min(64).max(8192).default(512),
  })
  .transform(({ timeout_seconds: timeoutMs, ...rest }) => ({ ...rest, timeoutMs }));
const oauth = z.strictObject({
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  token_url: httpUrl.optional(),
  issuer: httpUrl.optional(),
  scope: z.string().optional(),
});
const mcpCommon = {
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  allowed_tools: z.array(z.string()).optional(),
  timeout_seconds: seconds.prefault(60),
};
const mcpServer = z.union(
  [
    z
      .strictObject({
        ...mcpCommon,
        url: httpUrl,
        headers: headers.default({}),
        access_token: credential.optional(),
        oauth: oauth.optional(),
      })
      .transform(withTimeoutMs),
    z
      .strictObject({
        ...mcpCommon,
        command: z.string().min(1),
        args: z.array(z.string()).default([]),
        env: z.record(z.string(), z.string()).default({}),
      })
      .transform(withTimeoutMs),
  ],
  { error: 'needs one of the two: url: <address of the server>, or command: <program to start>' },
);

const tools = z.strictObject({
  web_search: webSearch.prefault({}),
  fetch_url_content: fetchUrlContent.prefault({}),
  execute_python: executePython.prefault({}),
  mcp_servers: z.array(mcpServer).default([]),
});

const logging = z.strictObject({
  level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

/** An API that is passed as it comes to one provider (contract section 8.1). */
const passthrough = z.strictObject({
  path: z
    .string()
    .regex(/^\/v1(?:\/[A-Za-z0-9_.~-]+)+$/, 'must be a path under /v1 such as /v1/files')
    .refine((path) => !OWN_PATHS.some((own) => path === own || path.startsWith(`${own}/`)), {
      error: `must not be one of the gateway's own: ${OWN_PATHS.join(', ')}`,
    }),
  provider: name,
  websocket: z.boolean().default(false),
});

export const configSchema = z.strictObject({
  server: server.prefault({}),
  store: store.prefault({}),
  runs: runs.prefault({}),
  providers: z.record(name, provider),
  models: z.record(name, model),
  /** Off unless both this and a key name the path. */
  passthrough: z.array(passthrough).default([]),
  keys: z.array(key).min(1, 'needs at least one key: { id, secret }'),
  tools: tools.prefault({}),
  logging: logging.prefault({}),
});

/** What a setting is called in the file, where its parsed name has another unit. */
export const NAME_IN_FILE: Readonly<Record<string, string>> = {
  bodyLimitBytes: 'body_limit',
  bodyMemoryBytes: 'body_memory',
  heartbeatMs: 'heartbeat_seconds',
  shutdownGraceMs: 'shutdown_grace_seconds',
  retentionMs: 'retention_hours',
  maxRunMs: 'max_minutes',
};

/** The parsed configuration, frozen by `load.ts`. */
export type GatewayConfig = z.output<typeof configSchema>;
export type ProviderConfig = GatewayConfig['providers'][string];
/** A provider reached over HTTP. */
export type RemoteProviderConfig = z.output<typeof remoteProvider>;
export type ModelConfig = GatewayConfig['models'][string];
export type ResearchModelConfig = Extract<ModelConfig, { kind: 'research' }>;
export type ProxyModelConfig = Extract<ModelConfig, { kind: 'proxy' }>;
export type RouteConfig = z.output<typeof route>;
export type KeyConfig = GatewayConfig['keys'][number];
export type McpServerConfig = z.output<typeof mcpServer>;
export type ToolsConfig = GatewayConfig['tools'];
export type Effort = z.output<typeof effortLevel>;
export type Profile = z.output<typeof profile>;
export type BudgetConfig = z.output<typeof budget>;
