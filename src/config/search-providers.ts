/** Options of `tools.web_search` that a search provider cannot do without. */
export type SearchOption = 'url' | 'api_key' | 'engine_id';

/** What the gateway knows of a search provider before it is asked anything. */
export interface SearchProviderRow {
  needs: readonly SearchOption[];
  /** Searches that it bears at a time, if fewer than usual. */
  maxConcurrent?: number;
  /** Whether answers may be kept and given to other runs. Not so for files that change. */
  cacheable: boolean;
}

/**
 * Every search provider, one row each. Its code is `tools/web-search/providers/<name>.ts`, which is loaded when it is
 * asked for the first time; the configuration, its checks and its messages follow from here.
 */
const ROWS = {
  local: { needs: [], cacheable: false },
  searxng: { needs: ['url'], cacheable: true },
  // Free plans allow one request a second.
  brave: { needs: ['api_key'], cacheable: true, maxConcurrent: 1 },
  exa: { needs: ['api_key'], cacheable: true },
  google: { needs: ['api_key', 'engine_id'], cacheable: true },
  jina: { needs: ['api_key'], cacheable: true },
  kagi: { needs: ['api_key'], cacheable: true },
  serper: { needs: ['api_key'], cacheable: true },
  tavily: { needs: ['api_key'], cacheable: true },
  you: { needs: ['api_key'], cacheable: true },
} as const satisfies Record<string, SearchProviderRow>;

export type SearchProviderName = keyof typeof ROWS;

export const SEARCH_PROVIDERS: Readonly<Record<SearchProviderName, SearchProviderRow>> = ROWS;

/** The names, in the order in which they are shown. */
export const SEARCH_PROVIDER_NAMES = Object.keys(ROWS).filter(isSearchProvider);

function isSearchProvider(name: string): name is SearchProviderName {
  return Object.hasOwn(ROWS, name);
}
