import { z } from 'zod';
import { parseJson } from '../base/json.ts';
import { yieldToEventLoop } from '../base/load/event-loop.ts';
import type { Entry } from '../store/side-stores/entry-store.ts';
import { attributeValue } from './filters.ts';

/** The records of vector stores, in lists of small records (docs/vector-stores.md). New fields have to be optional. */

/** Names of the lists: vector stores of a user, files of a vector store, batches, vector stores of a file. */
export const listNames = {
  stores: (user: string) => `vector stores of ${user}`,
  files: (store: string) => `files of ${store}`,
  batches: (store: string) => `batches of ${store}`,
  filesOfBatch: (batch: string) => `files of ${batch}`,
  /** The vector stores that contain a file. */
  placesOf: (file: string) => `stores of ${file}`,
};

export const DAY_MS = 86_400_000;

export const OPEN = 'open';
export const FILE_STATES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;
export type FileState = (typeof FILE_STATES)[number];

const storeValue = z.object({
  name: z.string(),
  description: z.string().optional(),
  metadata: z.record(z.string(), z.string()),
  /** In days after the last activity. */
  expiresAfterDays: z.number().optional(),
  /** Unix milliseconds. */
  lastActiveAt: z.number(),
});
export type StoreValue = z.output<typeof storeValue>;

const fileValue = z.object({
  /** Its name, for answers. */
  name: z.string(),
  bytes: z.number(),
  attributes: z.record(z.string(), attributeValue),
  chunking: z.record(z.string(), z.unknown()).optional(),
  batch: z.string().optional(),
  /** Increases with every change of the attributes. */
  version: z.number(),
  error: z
    .object({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
    .optional(),
});
export type FileValue = z.output<typeof fileValue>;

export interface VectorStore extends StoreValue {
  id: string;
  user: string;
  createdAt: number;
  entry: Entry;
}

export interface StoredFile extends FileValue {
  /** The id that clients see. */
  id: string;
  store: string;
  state: FileState;
  createdAt: number;
  entry: Entry;
}

export interface FileBatch {
  id: string;
  store: string;
  createdAt: number;
}

export function parseStore(entry: Entry | undefined, user: string): VectorStore | undefined {
  const parsed = storeValue.safeParse(entry && parseJson(entry.value));
  return entry && parsed.success
    ? { ...parsed.data, id: entry.id, user, createdAt: entry.createdAt, entry }
    : undefined;
}

export function parseFile(entry: Entry | undefined, store: string): StoredFile | undefined {
  const parsed = fileValue.safeParse(entry && parseJson(entry.value));
  const state = FILE_STATES.find((known) => known === entry?.state);
  if (!entry || !parsed.success || !state) return undefined;
  return { ...parsed.data, id: entry.id, store, state, createdAt: entry.createdAt, entry };
}

export function storeEntry(id: string, value: StoreValue, createdAt: number): Entry {
  return { id, state: OPEN, value: JSON.stringify(storeValue.parse(value)), createdAt };
}

export function fileEntry(id: string, state: FileState, value: FileValue, createdAt: number): Entry {
  return { id, state, value: JSON.stringify(fileValue.parse(value)), createdAt };
}

/** Expiry in Unix milliseconds; undefined if it never expires. */
export function expiryOf({ expiresAfterDays, lastActiveAt }: VectorStore): number | undefined {
  return expiresAfterDays === undefined ? undefined : lastActiveAt + expiresAfterDays * DAY_MS;
}

export function isExpired(store: VectorStore, now: number): boolean {
  return (expiryOf(store) ?? Number.POSITIVE_INFINITY) <= now;
}

/** Records that are read or written in parallel. */
const CONCURRENCY = 32;

/** Calls `work` for thousands of records, a few at once, and returns the results in order. */
export async function forRecords<T, R>(
  records: readonly T[],
  work: (record: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < records.length; at += CONCURRENCY) {
    results.push(
      ...(await Promise.all(records.slice(at, at + CONCURRENCY).map((record, index) => work(record, at + index)))),
    );
    await yieldToEventLoop();
  }
  return results;
}

/** Tells an index whether it has the current version of a file. */
export function signatureOf({ id, version }: Pick<StoredFile, 'id' | 'version'>): string {
  return `${id} ${version}`;
}
