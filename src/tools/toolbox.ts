import type { Logger } from '../base/logger.ts';
import { type BuiltinTool, isBuiltinTool } from '../config/builtin-tools.ts';
import type { ToolsConfig } from '../config/schema.ts';
import type { ReadFile } from './attached-file.ts';
import { createExecutePythonTool } from './execute-python/execute-python.ts';
import { createFetchUrlContentTool, type ReadOptions } from './fetch-url-content/fetch-url-content.ts';
import type { ParsedPage } from './fetch-url-content/page-reader.ts';
import { type HttpMcpServer, MCP_EXCHANGE } from './mcp/mcp-server.ts';
import { createMcpTools } from './mcp/mcp-tools.ts';
import { mcpServerOf } from './mcp/server-of.ts';
import { createSafeFetch } from './safe-fetch/safe-fetch.ts';
import { withoutControlTokens } from './text/control-tokens.ts';
import type { Tool } from './tool.ts';
import type { ToolCache } from './tool-cache.ts';
import type { EmbeddingsSource } from './web-search/configured-embeddings.ts';
import { corpusFolder, createConfiguredSearch } from './web-search/configured-search.ts';
import type { SearchRequestOptions } from './web-search/web-search.ts';

/** What a run asks the toolbox for. */
export interface ToolRequest extends SearchRequestOptions {
  /** Names of built-in tools; unknown ones are ignored. */
  builtin: readonly string[];
  /** Whether the configured MCP servers are offered. */
  configuredMcp: boolean;
  /** MCP servers of the request. Only the safe fetch reaches them; their tools replace configured ones of the same name. */
  mcpServers: readonly HttpMcpServer[];
  /** Tools of this run that its caller made; offered if `builtin` names them. */
  runTools?: readonly Tool[] | undefined;
  /** Reads files of the run's user. */
  readFile?: ReadFile | undefined;
  log: Logger;
  signal: AbortSignal;
}

/** The tools of one run. Dispose them when the run ends or moves to another instance. */
export interface OpenedTools extends AsyncDisposable {
  tools: ReadonlyMap<string, Tool>;
}

/** The tools of a configuration, shared by all runs. */
export interface Toolbox extends AsyncDisposable {
  open(request: ToolRequest): Promise<OpenedTools>;
  /** Reads a whole document, outside of any run. @throws ToolError as `fetch_url_content` does. */
  read(url: string, options: ReadOptions): Promise<Pick<ParsedPage, 'title' | 'content'>>;
}

/** Creates the tools of a configuration. */
export function createToolbox(
  config: ToolsConfig,
  options: { log: Logger; cache: ToolCache; embeddings?: EmbeddingsSource },
): Toolbox {
  const resources = new AsyncDisposableStack();
  const pages = config.fetch_url_content;
  const hostRules = {
    allowHosts: pages.allow_hosts,
    denyHosts: pages.deny_hosts,
    allowPrivateAddresses: pages.allow_private_addresses,
  };
  const userAgent = pages.user_agent === undefined ? {} : { userAgent: pages.user_agent };
  const safeFetch = resources.use(createSafeFetch({ ...hostRules, ...userAgent, maxBytes: pages.max_bytes }));
  const folder = corpusFolder(config.web_search);
  const webSearch = resources.use(createConfiguredSearch(config.web_search, options));
  const fetchUrlContent = resources.use(
    createFetchUrlContentTool({
      safeFetch,
      ...(folder === undefined ? {} : { corpusFolder: folder }),
      ...(pages.cacheMs > 0 ? { cache: { store: options.cache, ttlMs: pages.cacheMs } } : {}),
      timeoutMs: pages.timeoutMs,
    }),
  );
  const executePython = resources.use(
    createExecutePythonTool({
      timeoutSeconds: config.execute_python.timeoutMs / 1000,
      memoryMb: config.execute_python.memory_mb,
    }),
  );
  const builtin: Readonly<Record<BuiltinTool, (request: ToolRequest) => Tool>> = {
    web_search: (request) => webSearch.forRun(request),
    fetch_url_content: (request) => fetchUrlContent.forRun(request, request.readFile),
    execute_python: () => executePython,
  };
  const configuredMcp = resources.use(
    createMcpTools({
      servers: config.mcp_servers.map(mcpServerOf),
      // The operator wrote these addresses, so private ones are intended.
      fetch: resources.use(createSafeFetch({ allowPrivateAddresses: true, ...MCP_EXCHANGE })).fetch,
      log: options.log,
    }),
  );
  const requestedFetch = resources.use(createSafeFetch({ ...hostRules, ...MCP_EXCHANGE }));
  return {
    read: (url, options) => fetchUrlContent.read(url, options),
    async open(request) {
      const { builtin: names, mcpServers, signal, log } = request;
      const tools = new Map<string, Tool>();
      for (const name of names) {
        const tool = isBuiltinTool(name) ? builtin[name](request) : request.runTools?.find((own) => own.name === name);
        if (tool) tools.set(name, withoutControlTokens(tool));
      }
      await using opened = new AsyncDisposableStack();
      const requested = opened.use(createMcpTools({ servers: mcpServers, fetch: requestedFetch.fetch, log }));
      const configured = request.configuredMcp ? await configuredMcp.tools({ signal }) : [];
      for (const tool of [...configured, ...(await requested.tools({ signal }))])
        tools.set(tool.name, withoutControlTokens(tool));
      const owned = opened.move();
      return { tools, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
