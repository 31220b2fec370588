import type { Logger } from '../base/logger.ts';
import type { ToolsConfig } from '../config/schema.ts';
import { createExecutePythonTool } from './execute-python/execute-python.ts';
import { createFetchUrlContentTool } from './fetch-url-content/fetch-url-content.ts';
import { createSafeFetch } from './safe-fetch/safe-fetch.ts';
import type { Tool } from './tool.ts';
import type { ToolCache } from './tool-cache.ts';
import { corpusFolder, createConfiguredSearch } from './web-search/configured-search.ts';

/** What a run asks the toolbox for. */
export interface ToolRequest {
  /** Names of built-in tools; ones that the toolbox does not have are left out. */
  builtin: readonly string[];
  /** Restricts searches to these sites; empty: no restriction. */
  allowedDomains: readonly string[];
  log: Logger;
  signal: AbortSignal;
}

/** The tools of one run. Dispose them when the run is left. */
export interface OpenedTools extends AsyncDisposable {
  tools: ReadonlyMap<string, Tool>;
}

/** The tools of a configuration, shared by all runs. */
export interface Toolbox extends AsyncDisposable {
  open(request: ToolRequest): Promise<OpenedTools>;
}

/** Makes the tools of a configuration. */
export function createToolbox(config: ToolsConfig, options: { log: Logger; cache: ToolCache }): Toolbox {
  const resources = new AsyncDisposableStack();
  const pages = config.fetch_url_content;
  const safeFetch = resources.use(
    createSafeFetch({
      allowHosts: pages.allow_hosts,
      denyHosts: pages.deny_hosts,
      allowPrivateAddresses: pages.allow_private_addresses,
      maxBytes: pages.max_bytes,
      ...(pages.user_agent === undefined ? {} : { userAgent: pages.user_agent }),
    }),
  );
  const folder = corpusFolder(config.web_search);
  const webSearch = resources.use(createConfiguredSearch(config.web_search, { cache: options.cache }));
  const fetchUrlContent = resources.use(
    createFetchUrlContentTool({
      safeFetch,
      ...(folder === undefined ? {} : { corpusFolder: folder }),
      ...(pages.cache_minutes > 0 ? { cache: { store: options.cache, ttlMs: pages.cache_minutes * 60_000 } } : {}),
      timeoutMs: pages.timeout_seconds,
    }),
  );
  const executePython = resources.use(
    createExecutePythonTool({
      timeoutSeconds: config.execute_python.timeout_seconds / 1000,
      memoryMb: config.execute_python.memory_mb,
    }),
  );
  const builtin = new Map<string, (request: ToolRequest) => Tool>([
    [
      'web_search',
      ({ allowedDomains }) =>
        allowedDomains.length === 0 ? webSearch : webSearch.restrictedTo({ allowedDomains, blockedDomains: [] }),
    ],
    ['fetch_url_content', () => fetchUrlContent],
    ['execute_python', () => executePython],
  ]);
  return {
    async open(request) {
      const tools = new Map<string, Tool>();
      for (const name of request.builtin) {
        const make = builtin.get(name);
        if (make) tools.set(name, make(request));
      }
      return { tools, async [Symbol.asyncDispose]() {} };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
