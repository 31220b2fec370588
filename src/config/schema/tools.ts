import { z } from 'zod';
import { SEARCH_PROVIDER_NAMES } from '../search-providers.ts';
import { minutesOrNone, seconds, size } from '../units.ts';
import { routes } from './providers.ts';
import { credential, headers, hosts, httpUrl } from './values.ts';

/** `tools`: the tools that models may call. */

const searchProvider = z.enum(SEARCH_PROVIDER_NAMES);
const searchBackend = z.strictObject({
  provider: searchProvider,
  folder: z.string().optional(),
  url: httpUrl.optional(),
  api_key: credential.optional(),
  /** For `google`: the id of the Programmable Search Engine. */
  engine_id: credential.optional(),
  /** For `searxng`: engines to query, such as `duckduckgo`. Default: those of the instance. */
  engines: z.array(z.string().regex(/^[\w .-]+$/, 'must be the name of an engine')).optional(),
  /** Language of the results, for services that support one. */
  language: z
    .string()
    .regex(/^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$/, 'must be a language code such as en or pt-BR')
    .optional(),
});
/** Renames the durations of a tool with a cache to their parsed unit. 0 minutes: no cache. */
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
    /** For `local`: the folder of its index. Default: beside a `file:` store, else in memory. */
    index_folder: z.string().min(1).optional(),
    /** For `local`: the embedding model that adds semantic search. All routes must lead to the same model. */
    embeddings: z
      .strictObject({
        routes,
        /** The number of dimensions, for models with a choice. */
        dimensions: z.int().min(8).max(4096).optional(),
      })
      .optional(),
    /** Tried in order when the first provider fails. */
    fallbacks: z.array(searchBackend).default([]),
    max_results: z.int().positive().max(50).default(8),
    cache_minutes: minutesOrNone.prefault(60),
    allow_domains: hosts.default([]),
    deny_domains: hosts.default([]),
    timeout_seconds: seconds.prefault(20),
  })
  .transform(inMilliseconds);
const fetchUrlContent = z
  .strictObject({
    max_bytes: size.prefault('10mb'),
    allow_hosts: hosts.default([]),
    deny_hosts: hosts.default([]),
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
  .transform(withTimeoutMs);
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

export const tools = z.strictObject({
  web_search: webSearch.prefault({}),
  fetch_url_content: fetchUrlContent.prefault({}),
  execute_python: executePython.prefault({}),
  mcp_servers: z.array(mcpServer).default([]),
});
