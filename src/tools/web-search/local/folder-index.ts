import { abortable, linkSignals } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import { yieldToEventLoop } from '../../../base/load/event-loop.ts';
import { type CorpusFile, listDocuments } from '../../corpus/corpus.ts';
import { corpusUrl } from '../../corpus/corpus-url.ts';
import type { SearchHit } from '../search-provider.ts';
import { DocumentIndex, type IndexedDocument } from './document-index.ts';
import { FolderReader } from './folder-reader.ts';
import { lockIndex } from './index-database.ts';
import { type Embed, Meaning } from './meaning.ts';

/** Documents that are read beside each other. */
const BATCH = 16;
/** Documents go into the index for so long at a time, in milliseconds; in between, queries are answered. */
const SLICE_MS = 5;
/** Documents that are looked at again at a time. */
const REVISITED = 4;

/** A query waits so long for changes to be taken in, from the moment the look for them began; in milliseconds. */
const PATIENCE_MS = 1500;

/**
 * Looking for changes may take this share of the time: after a look that took 5 ms the next comes 100 ms later at the
 * earliest, so a small folder is always fresh and a huge one is not walked for every query.
 */
const REST_FACTOR = 20;
/** An index that cannot be written to, or that another process writes to, is left alone for so long; in milliseconds. */
const TROUBLE_REST_MS = 30_000;
const OTHERS_REST_MS = 1000;

/** How many documents of how many are in an index. */
interface IndexProgress {
  indexed: number;
  all: number;
}

/** What was found, and how far the index is. */
export interface FolderAnswer {
  hits: SearchHit[];
  /** Set while documents are being taken in. */
  progress?: IndexProgress;
}

export interface FolderIndexOptions {
  folder: string;
  /** Where the index is kept, so that a restart finds it; absent: in memory. */
  indexFile?: string | undefined;
  /** Finds by meaning beside the words. */
  embeddings?: { model: string; embed: Embed } | undefined;
  /** Called for what fails without keeping queries from being answered. */
  onTrouble(message: string): void;
}

/**
 * A folder and its index, which follows the files: each query first has changed ones looked for. Several processes may
 * share an index in a file; one of them follows the files, another one after it.
 */
export class FolderIndex implements Disposable {
  readonly #options: FolderIndexOptions;
  readonly #reader: FolderReader;
  readonly #closing = new AbortController();
  readonly #file: string | undefined;
  readonly #index: DocumentIndex;
  /** Held while this process is the one that follows the files. */
  #ownership: Disposable | undefined;
  readonly #meaning: Meaning | undefined;
  #running: { done: Promise<void>; startedAt: number } | undefined;
  #progress: IndexProgress | undefined;
  #nextLookAt = 0;

  constructor(options: FolderIndexOptions) {
    this.#options = options;
    this.#reader = new FolderReader(options.folder);
    const opened = openIndex(options);
    this.#file = opened.file;
    this.#index = opened.index;
    this.#ownership = opened.ownership;
    const owner = () => this.#file === undefined || this.#ownership !== undefined;
    this.#meaning = options.embeddings && new Meaning(this.#index, { ...options.embeddings, owner });
  }

  /**
   * The best documents for a query in plain words. While a large folder is taken in for the first time, those that are
   * in the index already.
   * @throws Error of the file system if the folder cannot be read.
   */
  async search(text: string, limit: number): Promise<FolderAnswer> {
    const near = this.#meaning?.near(text);
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
    if (!this.#running && performance.now() < this.#nextLookAt) return;
    this.#running ??= this.#start();
    const { done, startedAt } = this.#running;
    const left = startedAt + PATIENCE_MS - performance.now();
    if (left <= 0) return;
    using patience = linkSignals([], { what: 'looking for changes', timeoutMs: left });
    try {
      await abortable(done, patience.signal);
    } catch (error) {
      if (!patience.signal.aborted) throw error;
    }
  }

  #start(): { done: Promise<void>; startedAt: number } {
    const done = this.#look().finally(() => {
      this.#running = undefined;
    });
    // Whoever waits hears of a failure; when nobody does any more, the next look tells.
    done.catch(() => {});
    return { done, startedAt: performance.now() };
  }

  async #look(): Promise<void> {
    const started = performance.now();
    this.#own();
    if (this.#file !== undefined && !this.#ownership) {
      this.#followOthers();
      this.#nextLookAt = performance.now() + OTHERS_REST_MS;
      return;
    }
    try {
      await this.#update();
      this.#nextLookAt = performance.now() + REST_FACTOR * (performance.now() - started);
    } catch (thrown) {
      // Errors of SQLite have a number.
      if (!(thrown instanceof Error && 'errcode' in thrown)) throw thrown;
      this.#nextLookAt = performance.now() + TROUBLE_REST_MS;
      this.#options.onTrouble(`the index of the local search cannot be written to: ${messageOf(thrown)}`);
    } finally {
      this.#progress = undefined;
    }
  }

  /** Becomes the one that follows the files, where nobody else is. */
  #own(): void {
    if (this.#file === undefined || this.#ownership) return;
    this.#ownership = lockIndex(this.#file);
    if (this.#ownership) this.#index.recall();
  }

  #followOthers(): void {
    this.#index.recall();
    const [indexed = 0, all = 0] = (this.#index.noted(PROGRESS) ?? '').split('/').map(Number);
    this.#progress = all > 0 ? { indexed, all } : undefined;
  }

  async #update(): Promise<void> {
    const known = this.#index.signatures();
    // Listing a large folder takes a while, and until then nobody knows how many there are.
    if (known.size === 0) this.#progress = { indexed: 0, all: 0 };
    const listed = await listDocuments(this.#options.folder, { signal: this.#closing.signal });
    const changed: CorpusFile[] = [];
    for (const file of listed) {
      if (known.get(file.path) !== file.signature) changed.push(file);
      known.delete(file.path);
    }
    for (let at = 0; at < changed.length; at += BATCH) {
      this.#tell({ indexed: listed.length - changed.length + at, all: listed.length });
      const files = changed.slice(at, at + BATCH);
      await this.#take(await this.#reader.read(files, { signal: this.#closing.signal }));
    }
    if (known.size > 0) this.#index.update({ put: [], remove: [...known.keys()] });
    while (this.#index.revisit(REVISITED) > 0) {
      await yieldToEventLoop();
      this.#closing.signal.throwIfAborted();
    }
    if (changed.length > 0) this.#index.note(PROGRESS, '');
    this.#meaning?.work();
  }

  #tell(progress: IndexProgress): void {
    this.#progress = progress;
    if (this.#file !== undefined) this.#index.note(PROGRESS, `${progress.indexed}/${progress.all}`);
  }

  async #take(documents: readonly IndexedDocument[]): Promise<void> {
    for (let at = 0; at < documents.length; ) {
      await yieldToEventLoop();
      this.#closing.signal.throwIfAborted();
      const until = performance.now() + SLICE_MS;
      at += this.#index.update({ put: documents.slice(at), remove: [], until });
    }
  }
}

/** Under which name the index says how far it is. */
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
