import { boundedCache } from '../../../base/bounded-cache.ts';
import { type CorpusFile, readDocument } from '../../corpus/corpus.ts';
import { corpusUrl } from '../../corpus/corpus-url.ts';
import { describeContent } from '../../fetch-url-content/content-kind.ts';
import { ParseFailure, ParsePool } from '../../fetch-url-content/parsing/parse-pool.ts';
import { decodeText } from '../../fetch-url-content/reading/plain/charset.ts';
import { ToolError } from '../../tool.ts';
import { type ChunkedDocument, chunkDocument } from './chunks.ts';
import type { IndexedDocument } from './document-index.ts';

/** How often reading a version of a document may fail before it counts as empty: a parser may be killed, a disk fail. */
const MAX_FAILURES = 3;

/** Reads the documents of a folder into passages for the index. */
export class FolderReader implements Disposable {
  readonly #folder: string;
  readonly #pool = new ParsePool();
  /** Failures of the versions that are to be read again. */
  readonly #failures = boundedCache<number>(10_000);

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads several documents at once, without those that are to be read again. @throws the signal's reason. */
  async read(files: readonly CorpusFile[], options: { signal: AbortSignal }): Promise<IndexedDocument[]> {
    const documents = await Promise.all(
      files.map(async (file) => ({ file, document: await this.#read(file, options.signal) })),
    );
    options.signal.throwIfAborted();
    return documents.flatMap(({ file, document = this.#fail(file) }) => (document ? [{ file, document }] : []));
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }

  /** Counts a failure to read a document; an empty one after too many. */
  #fail({ path, signature }: CorpusFile): ChunkedDocument | undefined {
    const version = `${signature} ${path}`;
    const failures = (this.#failures.get(version) ?? 0) + 1;
    this.#failures.delete(version);
    if (failures === MAX_FAILURES) return { title: '', chunks: [] };
    this.#failures.set(version, failures);
    return undefined;
  }

  /** Undefined if it cannot be read now. @throws what is no failure of reading it. */
  async #read({ path }: CorpusFile, signal: AbortSignal): Promise<ChunkedDocument | undefined> {
    try {
      const { bytes, contentType } = await readDocument(this.#folder, corpusUrl(path));
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (isText(contentType)) return chunkDocument(decodeText(bytes), { contentType, name });
      const { kind, charset } = describeContent(bytes, contentType);
      const job = { kind, bytes, charset, url: corpusUrl(path) };
      const { title, content, published } = await this.#pool.parse(job, { signal });
      const { chunks } = chunkDocument(content, { contentType: 'text/markdown', name });
      return { title: title || name, chunks, ...(published ? { published: published.slice(0, 10) } : {}) };
    } catch (error) {
      // The file is gone since it was listed, or cannot be read.
      if (!(error instanceof ToolError || error instanceof ParseFailure)) throw error;
      return undefined;
    }
  }
}

/** Whether a document is cut as it is; the parsers of web pages read all others, in processes of their own. */
function isText(contentType: string): boolean {
  return contentType === 'text/markdown' || contentType === 'text/html' || contentType === 'text/plain';
}
