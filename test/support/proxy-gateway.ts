import { createLogger } from '../../src/base/logger.ts';
import { configSchema, type GatewayConfig } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from './idle-load.ts';

/** The API key of the client. */
export const CLIENT_KEY = 'sk-client-of-the-gateway';

export interface TestProvider {
  url: string;
  /** A text, or a source that gives it. */
  apiKey?: string | object;
  apiKeyHeader?: string;
  headers?: Record<string, string | object>;
  timeouts?: { connect?: number; first_byte?: number; first_token?: number; idle?: number; patience?: number };
  maxRetries?: number;
  maxConnections?: number;
  wire?: string;
}

export interface ProxyGatewayOptions {
  /** Providers by name; each model has one route to each, in this order. */
  providers: Record<string, TestProvider>;
  /** Further fields of the key. */
  key?: object;
  /** Further keys. */
  keys?: readonly object[];
  /** Further models. */
  models?: object;
  storeUrl?: string;
  files?: object;
  server?: object;
  passthrough?: readonly object[];
  tools?: object;
  teams?: object;
}

export interface ProxyGateway extends AsyncDisposable {
  /** Address with `/v1`. */
  url: string;
  gateway: Gateway;
  config: GatewayConfig;
  /** Lines of the log, as text. */
  log: string[];
}

/** A whole gateway with the proxy model `fast` and the research model `deep`. */
export async function startProxyGateway(options: ProxyGatewayOptions): Promise<ProxyGateway> {
  const log: string[] = [];
  const routes = Object.keys(options.providers).map((name) => ({ provider: name, model: `${name}-model` }));
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 1, ...options.server },
    store: { url: options.storeUrl ?? 'memory:' },
    files: options.files ?? {},
    providers: Object.fromEntries(
      Object.entries(options.providers).map(
        ([name, { url, apiKey, apiKeyHeader, headers, timeouts, maxRetries, maxConnections, wire }]) => [
          name,
          {
            base_url: url,
            ...(wire && { wire }),
            ...(apiKey && { api_key: apiKey }),
            ...(apiKeyHeader && { api_key_header: apiKeyHeader }),
            headers: headers ?? {},
            timeouts: timeouts ?? {},
            max_retries: maxRetries ?? 0,
            ...(maxConnections && { max_connections: maxConnections }),
          },
        ],
      ),
    ),
    models: {
      fast: { kind: 'proxy', responses: 'native', routes, apis: APIS },
      deep: { kind: 'research', routes, research: { tools: ['fetch_url_content'] } },
      ...options.models,
    },
    keys: [{ id: 'client', secret: CLIENT_KEY, ...options.key }, ...(options.keys ?? [])],
    tools: options.tools ?? {},
    teams: options.teams ?? {},
    passthrough: options.passthrough ?? [],
  });
  const logger = createLogger({ destination: { write: (line: string) => void log.push(line) } });
  const gateway = await startGateway({ config, log: logger, load: IDLE_LOAD });
  return {
    url: `${gateway.url}/v1`,
    gateway,
    config,
    log,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const APIS = ['chat_completions', 'async', 'responses', 'embeddings', 'completions', 'audio', 'files', 'images'];

/** Sends a request like a client. A body that is neither text nor bytes is sent as JSON. */
export function send(
  gateway: { url: string },
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const { body, headers = {}, signal } = options;
  const isForm = body instanceof FormData;
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${CLIENT_KEY}`,
      ...(!isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: typeof body === 'string' || isForm ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
}

/** A chat request for the proxy model. */
export function chat(fields: object = {}): object {
  return { model: 'fast', messages: [{ role: 'user', content: 'hello' }], ...fields };
}

/** The payloads of an event stream; `[DONE]` as text. */
export function payloadsOf(text: string): unknown[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));
}
