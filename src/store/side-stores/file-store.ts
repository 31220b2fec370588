import { z } from 'zod';

/**
 * Metadata of the users' files (docs/files.md); a `BlobStore` has their bytes. One contract, several backends, one
 * suite (`test/contract/files.ts`). The caller checks who owns a file. Times are Unix milliseconds.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface FileStore {
  /**
   * Adds a file. `full`: the files of its user would have more than `maxBytes`, and nothing was added. Does nothing if
   * the id exists, for a retry after an unknown outcome.
   */
  add(file: FileRecord, options: { maxBytes: number }): Promise<'added' | 'full'>;
  get(id: string): Promise<FileRecord | undefined>;
  /** A user's files in order of creation, ties in a stable order. */
  list(query: FileQuery): Promise<{ files: FileRecord[]; hasMore: boolean }>;
  /** False if there was none. */
  remove(id: string): Promise<boolean>;
  /** Changes when a file expires, to `expiresAt`. Does nothing if the file is gone. */
  setExpiry(file: FileRecord): Promise<void>;
  /** At most `limit` files that have expired at `now`, in order, without the first `skip`; null if one cannot be read. */
  expired(options: { now: number; limit: number; skip: number }): Promise<(FileRecord | null)[]>;
}

export const fileRecord = z.object({
  /** Without prefix. */
  id: z.string(),
  user: z.string(),
  name: z.string(),
  purpose: z.string(),
  /** The media type that its sender named; empty if it named none. */
  type: z.string(),
  bytes: z.int(),
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
});
export type FileRecord = z.output<typeof fileRecord>;

export interface FileQuery {
  user: string;
  /** 1 to 10 000. */
  limit: number;
  order: 'asc' | 'desc';
  /** Only files that follow this one in the list; it may be gone. */
  after?: Pick<FileRecord, 'id' | 'createdAt'> | undefined;
  purpose?: string | undefined;
}
