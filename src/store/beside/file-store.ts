/**
 * What is known of the files of users (docs/files.md); their bytes lie elsewhere (`files/`). One contract, several backends,
 * one contract suite (`test/contract/files.ts`). Whose a file is, is the caller's to look at. Times are Unix milliseconds.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface FileStore {
  /**
   * Adds a file. `full`: its user would have more than `most` bytes, and nothing was added. An id that is there is left as
   * it is, for a repeat after an unknown outcome.
   */
  add(file: FileRecord, options: { most: number }): Promise<'added' | 'full'>;
  get(id: string): Promise<FileRecord | undefined>;
  /** A user's files in the order of their creation, ties in a stable order. */
  list(query: FileQuery): Promise<{ files: FileRecord[]; hasMore: boolean }>;
  /** False if there was none. */
  remove(id: string): Promise<boolean>;
  /** Files whose time is over at `now`, at most `limit`. */
  expired(options: { now: number; limit: number }): Promise<FileRecord[]>;
}

export interface FileRecord {
  /** Without prefix. */
  id: string;
  user: string;
  name: string;
  purpose: string;
  /** Its media type, as its sender named it; empty where it did not. */
  type: string;
  bytes: number;
  createdAt: number;
  expiresAt: number | null;
}

export interface FileQuery {
  user: string;
  /** 1 to 10 000. */
  limit: number;
  order: 'asc' | 'desc';
  /** Only files behind this one in the order of the list. */
  after?: FileRecord | undefined;
  purpose?: string | undefined;
}
