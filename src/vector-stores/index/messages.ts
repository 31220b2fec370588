import type { Attributes, Filter } from '../filters.ts';

/** The data that an index thread starts with. */
export interface IndexThreadData {
  folder: string;
  /** Whether the thread writes, if this process does, or searches. */
  writes: boolean;
}

/** Current settings of the index threads, sent with each request. */
export interface IndexSettings {
  /** Whether it may write. */
  owner: boolean;
  /** The model that computes vectors, if passages are also found by meaning. */
  embeddingModel: string | undefined;
}

const MEMORY = 'memory of ';

/** The name of an index in memory, which has no vectors and may be dropped at any time. */
export function memoryIndexName(name: string): string {
  return MEMORY + name;
}

export function isInMemory(store: string): boolean {
  return store.startsWith(MEMORY);
}

/** A request to an index thread; see `index-thread.ts`. */
export type IndexRequest =
  | IndexChange
  | ({ store: string } & (
      | { ask: 'state'; path?: string }
      | { ask: 'progress' }
      /** Continues what an earlier process left undone. */
      | { ask: 'open' }
      | { ask: 'search'; queries: readonly string[]; limit: number; filter: Filter | undefined }
      | { ask: 'drop' }
    ));

export type IndexChange = { store: string } & (
  | { ask: 'put'; file: IndexFile }
  | { ask: 'attributes'; path: string; signature: string; attributes: Attributes }
  | { ask: 'remove'; paths: readonly string[] }
  | { ask: 'note'; revision: number }
);

/** A document to add to an index. Its path is the id of its file. */
export interface IndexFile {
  path: string;
  /** Changes whenever the file or its attributes do. */
  signature: string;
  name: string;
  title: string;
  /** Markdown, with marks at the start of pages. */
  text: string;
  attributes: Attributes;
}

/** The content of an index: signatures of files by path. */
export type IndexState = ReadonlyMap<string, string>;

/** A passage that matches a search. */
export interface IndexHit {
  path: string;
  text: string;
  /** From 0 to 1; higher is better. */
  score: number;
  page?: number;
  section?: string;
}

/** The progress of an index: its number of documents, and the revision of the list that it has reached. */
export interface IndexProgress {
  documents: number;
  /** See `EntryStore`. */
  revision?: number;
}

export type IndexResponse = IndexState | IndexHit[] | IndexProgress | undefined;
