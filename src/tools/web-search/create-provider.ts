import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import { createLocalSearch } from './local/local-search.ts';
import { createBrave } from './remote/brave.ts';
import { createSearxng } from './remote/searxng.ts';
import { createSerper } from './remote/serper.ts';
import { createTavily } from './remote/tavily.ts';
import type { SearchProvider } from './search-provider.ts';

/** One entry of `tools.web_search` or its `fallbacks` (contract section 9). */
export interface SearchBackend {
  provider: 'local' | 'searxng' | 'brave' | 'tavily' | 'serper';
  /** For `local`. */
  folder?: string | undefined;
  /** For `searxng` the instance, for the others another address than their own. */
  url?: string | undefined;
  apiKey?: string | undefined;
}

/**
 * The provider of a configured backend. `fetch` reaches services that the operator chose, so it should allow private
 * addresses: a SearXNG instance usually has one.
 * @throws Error if what the provider needs is missing.
 */
export function createSearchProvider(
  backend: SearchBackend,
  options: { fetch: SafeFetch['fetch'] },
): SearchProvider & Partial<Disposable> {
  const remote = { fetch: options.fetch, url: backend.url, apiKey: backend.apiKey };
  switch (backend.provider) {
    case 'local':
      return createLocalSearch({ folder: needed(backend, 'folder') });
    case 'searxng':
      return createSearxng({ ...remote, url: needed(backend, 'url') });
    case 'brave':
      return createBrave({ ...remote, apiKey: needed(backend, 'apiKey') });
    case 'tavily':
      return createTavily({ ...remote, apiKey: needed(backend, 'apiKey') });
    case 'serper':
      return createSerper({ ...remote, apiKey: needed(backend, 'apiKey') });
  }
}

function needed(backend: SearchBackend, name: 'folder' | 'url' | 'apiKey'): string {
  const value = backend[name];
  if (!value) throw new Error(`The search provider ${backend.provider} needs ${name === 'apiKey' ? 'api_key' : name}.`);
  return value;
}
