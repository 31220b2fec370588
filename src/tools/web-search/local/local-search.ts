import { abortable } from '../../../base/abort.ts';
import { listDocuments, readDocument } from '../../corpus/corpus.ts';
import { corpusUrl } from '../../corpus/corpus-url.ts';
import { ToolError } from '../../tool.ts';
import { SearchFailure, type SearchProvider } from '../search-provider.ts';
import { chunkDocument } from './chunks.ts';
import { DocumentIndex } from './document-index.ts';

export interface LocalSearchOptions {
  /** The folder with Markdown, HTML and text files; its subfolders are searched too. */
  folder: string;
}

/**
 * Looking for changes may take this share of the time: after a look that took 5 ms the next comes 100 ms later at the
 * earliest, so a small folder is always fresh and a huge one is not walked for every query.
 */
const REST_FACTOR = 20;

/**
 * Full-text search over a folder. The index lives in memory, is built at the first query and follows the files:
 * each query first looks for changed ones. Hits have `corpus:///` URLs.
 */
export function createLocalSearch(options: LocalSearchOptions): SearchProvider & Disposable {
  const index = new DocumentIndex();
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  let nextLookAt = 0;

  async function update(): Promise<void> {
    const started = performance.now();
    const known = index.signatures();
    for (const file of await listDocuments(options.folder, { signal: closing.signal })) {
      const before = known.get(file.path);
      known.delete(file.path);
      if (before !== file.signature) await add(file);
    }
    for (const gone of known.keys()) index.remove(gone);
    const now = performance.now();
    nextLookAt = now + REST_FACTOR * (now - started);
  }

  async function add(file: { path: string; signature: string }): Promise<void> {
    const { path } = file;
    try {
      const { bytes, contentType } = await readDocument(options.folder, corpusUrl(path));
      closing.signal.throwIfAborted();
      const name = path.slice(path.lastIndexOf('/') + 1);
      index.put(file, chunkDocument(new TextDecoder().decode(bytes), { contentType, name }));
    } catch (error) {
      // A file that vanished since it was listed is no document any more.
      if (!(error instanceof ToolError)) throw error;
      index.remove(path);
    }
  }

  function refresh(): Promise<void> {
    if (!running && performance.now() < nextLookAt) return Promise.resolve();
    running ??= update().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    name: 'local',
    cacheable: false,
    async search(query, { signal }) {
      signal.throwIfAborted();
      await abortable(refresh(), signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new SearchFailure('unavailable', 'The folder of the local search cannot be read.', { cause: error });
      });
      const hits = index.search(query.text, query.limit);
      return { hits: hits.map(({ path, title, snippet }) => ({ url: corpusUrl(path), title, snippet })) };
    },
    [Symbol.dispose]() {
      closing.abort(new Error('The local search is closed.'));
      index[Symbol.dispose]();
    },
  };
}
