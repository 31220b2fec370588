import type { Logger } from '../../base/logger.ts';
import type { ToolsConfig } from '../../config/schema.ts';
import { SEARCH_PROVIDERS, type SearchOption, searchableCountry } from '../../config/search-providers.ts';
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import { isPrivateAnswer } from '../shared-answers.ts';
import type { Embeddings, SearchProvider } from './search-provider.ts';

/** One entry of `tools.web_search` or its `fallbacks` (docs/configuration.md, "tools"). */
type SearchBackend = ToolsConfig['web_search']['fallbacks'][number];

/** The options of a provider's code. Those that its row in `SEARCH_PROVIDERS` needs are present. */
export interface SearchProviderOptions extends SearchBackend {
  fetch: SafeFetch['fetch'];
  /** For `local`: the folder of its index, which survives a restart; absent: in memory. */
  indexFolder?: string | undefined;
  log?: Logger | undefined;
  /** For `local`: adds semantic search to the search by words. */
  embeddings?: Embeddings | undefined;
  /** Unix milliseconds, for ages such as "2 days ago". */
  now: () => number;
}

/** The code of a provider; its row in `SEARCH_PROVIDERS` has the rest of a `SearchProvider`. */
export type SearchCode = Pick<SearchProvider, 'search'> & Partial<Disposable>;

/** The exports of `providers/<name>.ts`. */
interface SearchProviderModule {
  createSearch(options: SearchProviderOptions): SearchCode;
}

/**
 * The provider of a configured backend. `fetch` should allow private addresses: the operator chose the services, and a
 * SearXNG instance usually has a private one.
 * @throws Error if what the provider needs is missing.
 */
export function createSearchProvider(
  backend: SearchBackend,
  options: Pick<SearchProviderOptions, 'fetch' | 'indexFolder' | 'log' | 'embeddings'> &
    Partial<Pick<SearchProviderOptions, 'now'>>,
): SearchProvider & AsyncDisposable {
  const { provider: name, url, engine_id, engines, language } = backend;
  const { needs, cacheable, maxConcurrent, timeoutMs } = SEARCH_PROVIDERS[name];
  const missing = needs.find((option: SearchOption) => !backend[option]);
  if (missing) throw new Error(`The search provider ${name} needs ${missing}.`);
  let code: SearchCode | undefined;
  const load = async () => {
    // Node keeps what was loaded; what failed to load is loaded again by the next search.
    const module: unknown = await import(`./providers/${name}.ts`);
    if (!isProviderModule(module)) throw new Error(`The code of the search provider ${name} exports no createSearch.`);
    code ??= module.createSearch({ ...backend, now: Date.now, ...options });
    return code;
  };
  return {
    name,
    cacheKey: cacheable ? JSON.stringify([name, url, engine_id, engines, language]) : undefined,
    maxConcurrent,
    timeoutMs,
    async search(query, call) {
      const { country: userCountry, ...rest } = query;
      const country = searchableCountry(name, userCountry);
      let hasPrivate = false;
      const onAnswer = (headers: Headers) => {
        hasPrivate ||= isPrivateAnswer(headers);
      };
      const answer = await (await load()).search({ ...rest, ...(country ? { country } : {}) }, { ...call, onAnswer });
      return hasPrivate ? { ...answer, private: true } : answer;
    },
    async [Symbol.asyncDispose]() {
      code?.[Symbol.dispose]?.();
    },
  };
}

function isProviderModule(module: unknown): module is SearchProviderModule {
  return (
    typeof module === 'object' &&
    module !== null &&
    'createSearch' in module &&
    typeof module.createSearch === 'function'
  );
}
