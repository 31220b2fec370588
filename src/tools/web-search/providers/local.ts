import type { SearchCode, SearchProviderOptions } from '../create-provider.ts';
import { createLocalSearch } from '../local/local-search.ts';

/** A folder of documents on this machine. */
export function createSearch(options: SearchProviderOptions): SearchCode {
  const { folder = 'docs', indexFolder, log, embeddings } = options;
  return createLocalSearch({ folder, indexFolder, log, embeddings });
}
