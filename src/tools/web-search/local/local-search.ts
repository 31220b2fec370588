import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { abortable } from '../../../base/abort.ts';
import { currentTrace } from '../../../base/telemetry/trace-context.ts';
import type { SearchProviderOptions } from '../create-provider.ts';
import { SearchFailure, type SearchProvider } from '../search-provider.ts';
import type { FolderAnswer } from './folder-index.ts';
import { type QueryFailure, QueryThread } from './query-thread.ts';
import type { SearchQuestion, SearchThreadData } from './search-messages.ts';

export interface LocalSearchOptions extends Pick<SearchProviderOptions, 'indexFolder' | 'log' | 'embeddings'> {
  /** The folder with the documents; its subfolders are searched too. */
  folder: string;
}

/** How many queries may be pending: further ones would wait for longer than their time limit. */
const MAX_WAITING = 64;

const FAILURES: Readonly<Record<QueryFailure, string>> = {
  'too many': 'Too many local searches are under way.',
  closed: 'The local search is closed.',
  broken: 'The local search broke down.',
  refused: 'The folder of the local search cannot be read.',
};

/**
 * Full-text search over a folder, in a thread of its own. The index is built from the first query on and follows the
 * files. Hits have `corpus:///` URLs.
 */
export function createLocalSearch(options: LocalSearchOptions): SearchProvider & Disposable {
  const { folder, log, embeddings } = options;
  const data = { folder, indexFile: indexFileOf(options), embeddingModel: embeddings?.model };
  const thread = new QueryThread<SearchQuestion, FolderAnswer>({
    entry: new URL('./search-thread.ts', import.meta.url),
    data: data satisfies SearchThreadData,
    maxPending: MAX_WAITING,
    embeddings: () => embeddings,
    log,
    where: { folder },
    failure: (why) => new SearchFailure('unavailable', FAILURES[why]),
  });
  return {
    name: 'local',
    cacheKey: undefined,
    async search({ text, limit }, { signal }) {
      signal.throwIfAborted();
      const { hits, progress } = await abortable(thread.ask({ text, limit, trace: currentTrace() }), signal);
      return { hits, ...noteOf(progress) };
    },
    [Symbol.dispose]: () => thread[Symbol.dispose](),
  };
}

/** The index file, one for each searched folder. */
function indexFileOf({ folder, indexFolder }: LocalSearchOptions): string | undefined {
  if (indexFolder === undefined) return undefined;
  const name = createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 24);
  return join(indexFolder, `${name}.db`);
}

function noteOf(progress: FolderAnswer['progress']): { note?: string } {
  if (!progress) return {};
  const { indexed, all } = progress;
  const searched = all === 0 ? 'none could be searched yet' : `${indexed} of ${all} were searched`;
  return { note: `The documents are still being indexed: ${searched}.` };
}
