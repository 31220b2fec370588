import { abortable, linkSignals } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import { type CorpusFile, listDocuments } from '../../corpus/corpus.ts';
import { corpusUrl } from '../../corpus/corpus-url.ts';
import type { SearchHit } from '../search-provider.ts';
import { DocumentIndex } from './document-index.ts';
import { FolderReader } from './folder-reader.ts';
import { lockIndex } from './index-database.ts';
import { type Embed, SemanticSearch } from './semantic-search.ts';

/** How many documents are read at once. Of more, the largest would not all be taken by the parse pool, and be lost. */
const BATCH = 8;

/**
 * How long a query waits for changes to be indexed, from the start of the scan for them, in milliseconds. The first scan
 * after a start gets longer: it may index the whole folder, and a part of it answers badly.
 */
const PATIENCE_MS = 1500;
const FIRST_PATIENCE_MS = 15_000;

/**
 * How many times as long as a scan for changes the pause after it is: after a scan of 5 ms the next one comes 100 ms later
 * at the earliest, so a small folder is always fresh and a huge one is not walked for every query.
 */
const REST_FACTOR = 20;
/** The pause after an index cannot be written to, and while another process writes to it, in milliseconds. */
const TROUBLE_REST_MS = 30_000;
const OTHERS_REST_MS = 1000;

/** How many of all documents are in an index. */
interface IndexProgress {
  indexed: number;
  all: number;
}

/** The hits of a search, and the progress of the index. */
export interface FolderAnswer {
  hits: SearchHit[];
  /** Set while documents are being indexed. */
  progress?: IndexProgress;
}

export interface FolderIndexOptions {
  folder: string;
  /** The file of the index, which survives a restart; absent: in memory. */
  indexFile?: string | undefined;
  /** Adds semantic search to the search by words. */
  embeddings?: { model: string; embed: Embed } | undefined;
  /** Called with failures that do not keep queries from being answered. */
  onTrouble(message: string): void;
}

/**
 * A folder and its index, which follows the files: each query first triggers a scan for changed ones. Several processes may
 * share an index file; one of them, the owner, writes to it, and another one takes over when the owner ends.
 */
export class FolderIndex implements Disposable {
  readonly #options: FolderIndexOptions;
  readonly #reader: FolderReader;
  readonly #closing = new AbortController();
  readonly #file: string | undefined;
  readonly #index: DocumentIndex;
  /** Set while this process owns the index file. */
  #ownership: Disposable | undefined;
  readonly #meaning: SemanticSearch | undefined;
  #running: { done: Promise<void>; startedAt: number } | undefined;
  #progress: IndexProgress | undefined;
  #nextScanAt = 0;
  #wasScanned = false;

  constructor(options: FolderIndexOptions) {
    this.#options = options;
    this.#reader = new FolderReader(options.folder);
    const opened = openIndex(options);
    this.#file = opened.file;
    this.#index = opened.index;
    this.#ownership = opened.ownership;
    const owner = () => this.#file === undefined || this.#ownership !== undefined;
    this.#meaning = options.embeddings && new SemanticSearch(this.#index, { ...options.embeddings, owner });
  }

  /**
   * The best documents for a query in plain words. While a large folder is indexed for the first time, only those that are
   * already in the index.
   * @throws Error of the file system if the folder cannot be read.
   */
  async search(text: string, limit: number): Promise<FolderAnswer> {
    const near = this.#meaning?.nearest(text);
    await this.#refresh();
    const hits = this.#index
      .search(text, limit, await near)
      .map(({ path, ...hit }) => ({ url: corpusUrl(path), ...hit }));
    return { hits, ...(this.#progress ? { progress: { ...this.#progress } } : {}) };
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('The local search is closed.'));
    this.#meaning?.[Symbol.dispose]();
    this.#reader[Symbol.dispose]();
    this.#index[Symbol.dispose]();
    this.#ownership?.[Symbol.dispose]();
  }

  async #refresh(): Promise<void> {
    if (!this.#running && performance.now() < this.#nextScanAt) return;
    this.#running ??= this.#start();
    const { done, startedAt } = this.#running;
    const remaining = startedAt + (this.#wasScanned ? PATIENCE_MS : FIRST_PATIENCE_MS) - performance.now();
    if (remaining <= 0) return;
    using patience = linkSignals([], { what: 'looking for changes', timeoutMs: remaining });
    try {
      await abortable(done, patience.signal);
    } catch (error) {
      if (!patience.signal.aborted) throw error;
    }
  }

  #start(): { done: Promise<void>; startedAt: number } {
    const done = this.#scan().finally(() => {
      this.#running = undefined;
    });
    // A waiting query gets a failure; with no query waiting, the next scan fails again.
    done.catch(() => {});
    return { done, startedAt: performance.now() };
  }

  async #scan(): Promise<void> {
    const started = performance.now();
    this.#tryToOwn();
    if (this.#file !== undefined && !this.#ownership) {
      this.#followOthers();
      this.#nextScanAt = performance.now() + OTHERS_REST_MS;
      return;
    }
    try {
      await this.#update();
      this.#wasScanned = true;
      this.#nextScanAt = performance.now() + REST_FACTOR * (performance.now() - started);
    } catch (thrown) {
      // Errors of SQLite have a number.
      if (!(thrown instanceof Error && 'errcode' in thrown)) throw thrown;
      this.#nextScanAt = performance.now() + TROUBLE_REST_MS;
      this.#options.onTrouble(`the index of the local search cannot be written to: ${messageOf(thrown)}`);
    } finally {
      this.#progress = undefined;
    }
  }

  /** Becomes the owner of the index file, unless another process is. */
  #tryToOwn(): void {
    if (this.#file === undefined || this.#ownership) return;
    this.#ownership = lockIndex(this.#file);
    if (this.#ownership) this.#index.loadWords();
  }

  #followOthers(): void {
    this.#index.loadWords();
    const [indexed = 0, all = 0] = (this.#index.storedNote(PROGRESS) ?? '').split('/').map(Number);
    this.#progress = all > 0 ? { indexed, all } : undefined;
  }

  async #update(): Promise<void> {
    const known = this.#index.signatures();
    // Listing a large folder takes a while; until then the number of documents is unknown.
    if (known.size === 0) this.#progress = { indexed: 0, all: 0 };
    const listed = await listDocuments(this.#options.folder, { signal: this.#closing.signal });
    const changed: CorpusFile[] = [];
    for (const file of listed) {
      if (known.get(file.path) !== file.signature) changed.push(file);
      known.delete(file.path);
    }
    for (let at = 0; at < changed.length; at += BATCH) {
      this.#reportProgress({ indexed: listed.length - changed.length + at, all: listed.length });
      const files = changed.slice(at, at + BATCH);
      await this.#index.putInSlices(...(await this.#reader.read(files, { signal: this.#closing.signal })));
      this.#closing.signal.throwIfAborted();
    }
    if (known.size > 0) await this.#index.removeInSlices([...known.keys()]);
    await this.#index.revisitInSlices();
    this.#closing.signal.throwIfAborted();
    if (changed.length > 0) this.#index.note(PROGRESS, '');
    this.#meaning?.embedMissing();
  }

  #reportProgress(progress: IndexProgress): void {
    this.#progress = progress;
    if (this.#file !== undefined) this.#index.note(PROGRESS, `${progress.indexed}/${progress.all}`);
  }
}

const PROGRESS = 'progress';

/** The index in its file, or in memory where that does not work. */
function openIndex({ indexFile, onTrouble }: FolderIndexOptions): {
  index: DocumentIndex;
  file?: string;
  ownership?: Disposable | undefined;
} {
  if (indexFile === undefined) return { index: new DocumentIndex() };
  let ownership: Disposable | undefined;
  try {
    ownership = lockIndex(indexFile);
    return {
      index: new DocumentIndex({ path: indexFile, owner: ownership !== undefined }),
      file: indexFile,
      ownership,
    };
  } catch (thrown) {
    ownership?.[Symbol.dispose]();
    onTrouble(`the index of the local search is kept in memory, as its file cannot be used: ${messageOf(thrown)}`);
    return { index: new DocumentIndex() };
  }
}
