import type { Logger } from '../../base/logger.ts';
import type { ToolsConfig } from '../../config/schema.ts';
import { createSafeFetch } from '../safe-fetch/safe-fetch.ts';
import type { ToolCache } from '../tool-cache.ts';
import { type EmbeddingsSource, embeddingsOf } from './configured-embeddings.ts';
import { createSearchProvider } from './create-provider.ts';
import { createWebSearchTool, type WebSearchTool } from './web-search.ts';

/** The longest answer of a search service, in bytes: parsing more would block the event loop. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** The folder of the local corpus: that of the first `local` backend in the configuration that names one. */
export function corpusFolder(config: ToolsConfig['web_search']): string | undefined {
  return (
    [config, ...config.fallbacks].find(({ provider, folder }) => provider === 'local' && folder)?.folder ??
    config.folder
  );
}

/** `web_search` with the provider and the fallbacks of `tools.web_search` (docs/configuration.md, "tools"). */
export function createConfiguredSearch(
  config: ToolsConfig['web_search'],
  options: { cache: ToolCache; log?: Logger; embeddings?: EmbeddingsSource | undefined },
): WebSearchTool & AsyncDisposable {
  const resources = new AsyncDisposableStack();
  // The operator chose these addresses; a SearXNG instance usually has a private one.
  const { fetch } = resources.use(createSafeFetch({ allowPrivateAddresses: true, maxBytes: MAX_ANSWER_BYTES }));
  const providers = [config, ...config.fallbacks].map((backend) =>
    resources.use(
      createSearchProvider(backend, {
        fetch,
        indexFolder: config.index_folder,
        log: options.log,
        embeddings: embeddingsOf(config, options.embeddings),
      }),
    ),
  );
  const tool = createWebSearchTool({
    providers,
    maxResults: config.max_results,
    timeoutMs: config.timeoutMs,
    attemptTimeoutMs: Math.ceil(config.timeoutMs * 0.4),
    filters: { allowedDomains: config.allow_domains, blockedDomains: config.deny_domains },
    ...(config.cacheMs > 0 ? { cache: { store: options.cache, ttlMs: config.cacheMs } } : {}),
  });
  return { ...tool, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
