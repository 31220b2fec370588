import type { Logger } from '../../base/logger.ts';
import type { ToolsConfig } from '../../config/schema.ts';
import { SEARCH_PROVIDERS, type SearchOption, searchableCountry } from '../../config/search-providers.ts';
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import { isPrivate } from '../shared-answers.ts';
import type { Embeddings, SearchProvider } from './search-provider.ts';

/** One entry of `tools.web_search` or its `fallbacks` (docs/configuration.md, "tools"). */
type SearchBackend = ToolsConfig['web_search']['fallbacks'][number];

/** What the code of a provider is given. The options that its row needs are there. */
export interface SearchProviderOptions extends SearchBackend {
  fetch: SafeFetch['fetch'];
  /** For `local`: where its index is kept; absent: in memory. */
  indexFolder?: string | undefined;
  log?: Logger | undefined;
  /** For `local`. */
  embeddings?: Embeddings | undefined;
  /** Unix milliseconds, for ages such as "2 days ago". */
  now: () => number;
}

/** What a provider does; the rest of a `SearchProvider` stands in its row. */
export type SearchCode = Pick<SearchProvider, 'search'> & Partial<Disposable>;

/** What `providers/<name>.ts` exports. */
interface SearchProviderModule {
  createSearch(options: SearchProviderOptions): SearchCode;
}

/**
 * The provider of a configured backend. `fetch` reaches services that the operator chose, so it should allow private
 * addresses: a SearXNG instance usually has one.
 * @throws Error if what the provider needs is missing.
 */
export function createSearchProvider(
  backend: SearchBackend,
  options: Pick<SearchProviderOptions, 'fetch' | 'indexFolder' | 'log' | 'embeddings'> &
    Partial<Pick<SearchProviderOptions, 'now'>>,
): SearchProvider & AsyncDisposable {
  const { provider: name } = backend;
  const { needs, cacheable, maxConcurrent } = SEARCH_PROVIDERS[name];
  const missing = needs.find((option: SearchOption) => !backend[option]);
  if (missing) throw new Error(`The search provider ${name} needs ${missing}.`);
  let loaded: Promise<SearchCode> | undefined;
  const load = async () => {
    const module: unknown = await import(`./providers/${name}.ts`);
    if (!isProviderModule(module)) throw new Error(`The code of the search provider ${name} exports no createSearch.`);
    return module.createSearch({ ...backend, now: Date.now, ...options });
  };
  return {
    name,
    cacheable,
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    async search(query, call) {
      loaded ??= load();
      const { country: given, ...rest } = query;
      const country = searchableCountry(name, given);
      let hasPrivate = false;
      const answered = (headers: Headers) => {
        hasPrivate ||= isPrivate(headers);
      };
      const answer = await (await loaded).search({ ...rest, ...(country ? { country } : {}) }, { ...call, answered });
      return hasPrivate ? { ...answer, private: true } : answer;
    },
    async [Symbol.asyncDispose]() {
      const code = await loaded?.catch(() => undefined);
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
