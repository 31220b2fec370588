import { toSeconds } from '../../../base/clock.ts';
import {
  chunkingStrategy,
  type FileBatchObject,
  type VectorStoreFileObject,
  type VectorStoreObject,
} from '../../../protocol/vector-stores.ts';
import {
  expiryOf,
  type FileBatch,
  type FileState,
  type StoredFile,
  type VectorStore,
} from '../../../vector-stores/records.ts';

/** Vector stores, their files and batches, as clients see them. */

type Counts = Record<FileState, number>;

export function shownStore(store: VectorStore, counts: Counts, bytes: number): VectorStoreObject {
  const { expiresAfterDays: days } = store;
  const expiry = expiryOf(store);
  return {
    id: store.id,
    object: 'vector_store',
    created_at: toSeconds(store.createdAt),
    name: store.name,
    description: store.description ?? null,
    usage_bytes: bytes,
    file_counts: withTotal(counts),
    status: counts.in_progress > 0 ? 'in_progress' : 'completed',
    expires_after: days === undefined ? null : { anchor: 'last_active_at', days },
    expires_at: expiry === undefined ? null : toSeconds(expiry),
    last_active_at: toSeconds(store.lastActiveAt),
    metadata: store.metadata,
  };
}

export function shownFile({
  id,
  store,
  state,
  createdAt,
  bytes,
  attributes,
  chunking,
  error,
}: StoredFile): VectorStoreFileObject {
  return {
    id,
    object: 'vector_store.file',
    created_at: toSeconds(createdAt),
    vector_store_id: store,
    usage_bytes: state === 'completed' ? bytes : 0,
    status: state,
    last_error: error ?? null,
    attributes,
    chunking_strategy: chunkingStrategy.safeParse(chunking?.type === 'static' ? chunking : STRATEGY).data ?? STRATEGY,
  };
}

/** What OpenAI shows for `auto`. Files are split by headings and pages regardless. */
const STRATEGY = { type: 'static' as const, static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } };

export function shownBatch({ id, store, createdAt }: FileBatch, files: readonly StoredFile[]): FileBatchObject {
  const counts: Counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 };
  for (const { state } of files) counts[state] += 1;
  const isOver = counts.in_progress === 0;
  const ended =
    counts.cancelled > 0 ? 'cancelled' : counts.failed > 0 && counts.completed === 0 ? 'failed' : 'completed';
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: toSeconds(createdAt),
    vector_store_id: store,
    status: isOver ? ended : 'in_progress',
    file_counts: withTotal(counts),
  };
}

function withTotal({ in_progress, completed, failed, cancelled }: Counts) {
  return { in_progress, completed, failed, cancelled, total: in_progress + completed + failed + cancelled };
}
