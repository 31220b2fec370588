import { sleep } from '../../../base/abort.ts';
import { type CorpusFile, listDocuments, readDocument } from '../../corpus/corpus.ts';
import { corpusUrl } from '../../corpus/corpus-url.ts';
import { describeContent } from '../../fetch-url-content/content-kind.ts';
import { ParsePool } from '../../fetch-url-content/parsing/parse-pool.ts';
import { ParseFailure } from '../../fetch-url-content/parsing/parse-process.ts';
import { ToolError } from '../../tool.ts';
import type { SearchHit } from '../search-provider.ts';
import { type ChunkedDocument, chunkDocument } from './chunks.ts';
import { DocumentIndex } from './document-index.ts';

/** Documents put into the index in one transaction. Between two of these, queries are answered. */
const BATCH = 32;

/** A query waits so long for changes to be taken in, from the moment the look for them began; in milliseconds. */
const PATIENCE_MS = 1500;

/**
 * Looking for changes may take this share of the time: after a look that took 5 ms the next comes 100 ms later at the
 * earliest, so a small folder is always fresh and a huge one is not walked for every query.
 */
const REST_FACTOR = 20;

/** What was found, and how far the index is. */
export interface FolderAnswer {
  hits: SearchHit[];
  /** Set while documents are being taken in: how many of how many are in the index. */
  progress?: { indexed: number; all: number };
}

/** A folder and its index, which follows the files: each query first has changed ones looked for. */
export class FolderIndex implements Disposable {
  readonly #folder: string;
  readonly #index = new DocumentIndex();
  readonly #pool = new ParsePool({ totalMs: 60_000 });
  readonly #closing = new AbortController();
  #running: { done: Promise<void>; startedAt: number } | undefined;
  #progress: { indexed: number; all: number } | undefined;
  #nextLookAt = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * The best documents for a query in plain words. While a large folder is taken in for the first time, those that are
   * in the index already.
   * @throws Error of the file system if the folder cannot be read.
   */
  async search(text: string, limit: number): Promise<FolderAnswer> {
    await this.#refresh();
    const hits = this.#index.search(text, limit).map(({ path, ...hit }) => ({ url: corpusUrl(path), ...hit }));
    return { hits, ...(this.#progress ? { progress: { ...this.#progress } } : {}) };
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('The local search is closed.'));
    this.#pool[Symbol.dispose]();
    this.#index[Symbol.dispose]();
  }

  async #refresh(): Promise<void> {
    if (!this.#running && performance.now() < this.#nextLookAt) return;
    this.#running ??= this.#start();
    const { done, startedAt } = this.#running;
    const left = startedAt + PATIENCE_MS - performance.now();
    if (left <= 0) return;
    const waiting = new AbortController();
    const patience = sleep(left, { signal: waiting.signal }).catch(() => {});
    await Promise.race([done, patience]);
    waiting.abort();
  }

  #start(): { done: Promise<void>; startedAt: number } {
    const done = this.#update().finally(() => {
      this.#running = undefined;
      this.#progress = undefined;
    });
    // Whoever waits hears of a failure; when nobody does any more, the next look tells.
    done.catch(() => {});
    return { done, startedAt: performance.now() };
  }

  async #update(): Promise<void> {
    const started = performance.now();
    const known = this.#index.signatures();
    // Listing a large folder takes a while, and until then nobody knows how many there are.
    if (known.size === 0) this.#progress = { indexed: 0, all: 0 };
    const listed = await listDocuments(this.#folder, { signal: this.#closing.signal });
    const changed: CorpusFile[] = [];
    for (const file of listed) {
      if (known.get(file.path) !== file.signature) changed.push(file);
      known.delete(file.path);
    }
    for (let at = 0; at < changed.length; at += BATCH) {
      this.#progress = { indexed: listed.length - changed.length + at, all: listed.length };
      await this.#take(changed.slice(at, at + BATCH));
    }
    if (known.size > 0) this.#index.update({ put: [], remove: [...known.keys()] });
    const now = performance.now();
    this.#nextLookAt = now + REST_FACTOR * (now - started);
  }

  async #take(files: readonly CorpusFile[]): Promise<void> {
    const read = await Promise.all(files.map((file) => this.#read(file)));
    this.#closing.signal.throwIfAborted();
    const put = read.flatMap((document, at) => (files[at] ? [{ file: files[at], document }] : []));
    this.#index.update({ put, remove: [] });
  }

  async #read({ path }: CorpusFile): Promise<ChunkedDocument> {
    try {
      const { bytes, contentType } = await readDocument(this.#folder, corpusUrl(path));
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (isText(contentType)) return chunkDocument(new TextDecoder().decode(bytes), { contentType, name });
      const { kind, charset } = describeContent(bytes, contentType);
      const job = { kind, bytes, charset, url: corpusUrl(path) };
      const { title, content, published } = await this.#pool.parse(job, { signal: this.#closing.signal });
      const { chunks } = chunkDocument(content, { contentType: 'text/markdown', name });
      return { title: title || name, chunks, ...(published ? { published: published.slice(0, 10) } : {}) };
    } catch (error) {
      // Gone since it was listed, or nothing that can be read: no document of the index.
      if (error instanceof ToolError || error instanceof ParseFailure) return { title: '', chunks: [] };
      throw error;
    }
  }
}

/** Kinds that are cut as they are; the others are read by the parsers of pages, in processes of their own. */
function isText(contentType: string): boolean {
  return contentType === 'text/markdown' || contentType === 'text/html' || contentType === 'text/plain';
}
