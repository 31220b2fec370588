import type { Attributes, Filter } from '../filters.ts';

/** What a thread of the indexes begins with. */
export interface IndexThreadData {
  folder: string;
  /** Whether it is the one that writes, where this process does, or the one that searches. */
  writes: boolean;
}

/** What a thread of the indexes works with: it comes with each question, as it is then. */
export interface IndexSettings {
  /** Whether it may write. */
  owner: boolean;
  /** What vectors come from, where passages are found by meaning too. */
  embeddingModel: string | undefined;
}

const MEMORY = 'memory of ';

/** The name of an index that lies in memory and has no vectors. It may be gone at any time. */
export function inMemory(name: string): string {
  return MEMORY + name;
}

export function isInMemory(store: string): boolean {
  return store.startsWith(MEMORY);
}

/** What the gateway asks a thread of the indexes; see `index-thread.ts`. */
export type IndexQuestion =
  | IndexChange
  | ({ store: string } & (
      | { ask: 'state'; path?: string }
      | { ask: 'progress' }
      /** What an earlier process left undone is done now. */
      | { ask: 'open' }
      | { ask: 'search'; queries: readonly string[]; limit: number; filter: Filter | undefined }
      | { ask: 'drop' }
    ));

/** What is changed in an index. */
export type IndexChange = { store: string } & (
  | { ask: 'put'; file: IndexFile }
  | { ask: 'attributes'; path: string; signature: string; attributes: Attributes }
  | { ask: 'remove'; paths: readonly string[] }
  | { ask: 'note'; revision: number }
);

/** A document for an index. Its path is the id of its file. */
export interface IndexFile {
  path: string;
  /** Changes whenever the file or its attributes do. */
  signature: string;
  name: string;
  title: string;
  /** Markdown, with marks where pages begin. */
  text: string;
  attributes: Attributes;
}

/** What an index holds: the signatures of its files by their paths. */
export type IndexState = ReadonlyMap<string, string>;

/** A passage that was found. */
export interface IndexHit {
  path: string;
  text: string;
  /** From 0 to 1: the better it matches, the more. */
  score: number;
  page?: number;
  section?: string;
}

/** How far an index is: how many documents it holds, and the revision of the list that it was brought up to. */
export interface IndexProgress {
  documents: number;
  /** See `EntryStore`. */
  revision?: number;
}

export type IndexAnswer = IndexState | IndexHit[] | IndexProgress | undefined;
