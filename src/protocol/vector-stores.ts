import { z } from 'zod';
import { mapOf } from './requests/parse.ts';

/** Vector stores in the format of OpenAI's API (docs/vector-stores.md). Times are Unix seconds. */

const count = z.int().nonnegative();
const text = z.object({ type: z.literal('text'), text: z.string() });

export const fileStatus = z.enum(['in_progress', 'completed', 'failed', 'cancelled']);
export const fileCounts = z.object({
  in_progress: count,
  completed: count,
  failed: count,
  cancelled: count,
  total: count,
});
const expiresAfter = z.object({ anchor: z.literal('last_active_at'), days: z.int().min(1).max(365) });
/** A map of up to 16 names to values. */
function namedValues<T extends z.ZodType>(value: T, shown: Record<string, unknown>) {
  return mapOf(value, { max: 16, shown }).refine(
    (values) => Object.keys(values).every(({ length }) => length > 0 && length <= 64),
    'names have 1 to 64 characters',
  );
}
const shortText = { type: 'string', maxLength: 512 };
const metadata = namedValues(z.string().max(512), shortText);
/** Attributes by which searches can filter files. */
export const attributes = namedValues(
  z.union(
    [z.string().max(512), z.number(), z.boolean()],
    'expected a number, a boolean or up to 512 characters of text',
  ),
  { anyOf: [shortText, { type: 'number' }, { type: 'boolean' }] },
);
/** Stored and returned, but without effect: passages are split at headings and pages. */
export const chunkingStrategy = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['auto', 'other']) }),
  z.object({
    type: z.literal('static'),
    static: z
      .object({ max_chunk_size_tokens: z.int().min(100).max(4096), chunk_overlap_tokens: z.int().min(0) })
      .refine(({ max_chunk_size_tokens: size, chunk_overlap_tokens: overlap }) => overlap <= size / 2, {
        path: ['chunk_overlap_tokens'],
        message: 'must be half of max_chunk_size_tokens at most',
      }),
  }),
]);

export const vectorStore = z.object({
  id: z.string(),
  object: z.literal('vector_store'),
  created_at: z.int(),
  name: z.string(),
  description: z.string().nullable(),
  usage_bytes: z.int(),
  file_counts: fileCounts,
  status: z.enum(['in_progress', 'completed']),
  expires_after: expiresAfter.nullable(),
  expires_at: z.int().nullable(),
  last_active_at: z.int(),
  metadata: z.record(z.string(), z.string()),
});
export type VectorStoreObject = z.output<typeof vectorStore>;

export const vectorStoreFile = z.object({
  id: z.string(),
  object: z.literal('vector_store.file'),
  created_at: z.int(),
  vector_store_id: z.string(),
  usage_bytes: z.int(),
  status: fileStatus,
  last_error: z
    .object({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
    .nullable(),
  attributes: attributes.nullable(),
  chunking_strategy: chunkingStrategy,
});
export type VectorStoreFileObject = z.output<typeof vectorStoreFile>;
export const deletedVectorStoreFile = z.object({
  id: z.string(),
  object: z.literal('vector_store.file.deleted'),
  deleted: z.boolean(),
});

export const fileBatch = z.object({
  id: z.string(),
  object: z.literal('vector_store.files_batch'),
  created_at: z.int(),
  vector_store_id: z.string(),
  status: fileStatus,
  file_counts: fileCounts,
});
export type FileBatchObject = z.output<typeof fileBatch>;

export const fileContentPage = z.object({
  object: z.literal('vector_store.file_content.page'),
  data: z.array(text),
  has_more: z.literal(false),
  next_page: z.null(),
});

export const searchPage = z.object({
  object: z.literal('vector_store.search_results.page'),
  search_query: z.array(z.string()),
  data: z.array(
    z.object({
      file_id: z.string(),
      filename: z.string(),
      score: z.number(),
      attributes: attributes.nullable(),
      content: z.array(text),
      /** The place of the passage, in documents with pages or headings. */
      page: z.int().optional(),
      section: z.string().optional(),
    }),
  ),
  has_more: z.literal(false),
  next_page: z.null(),
});
export type SearchPage = z.output<typeof searchPage>;

/** How many files one request may name. */
export const MAX_BATCH_FILES = 2000;
const fileIds = z.array(z.string()).max(MAX_BATCH_FILES);

const settings = {
  name: z.string().max(256).nullish(),
  description: z.string().max(512).nullish(),
  metadata: metadata.nullish(),
  expires_after: expiresAfter.nullish(),
};
export const createVectorStoreBody = z.object({
  ...settings,
  file_ids: fileIds.nullish(),
  chunking_strategy: chunkingStrategy.nullish(),
});
export const updateVectorStoreBody = z.object(settings);
export const attachFileBody = z.object({
  file_id: z.string(),
  attributes: attributes.nullish(),
  chunking_strategy: chunkingStrategy.nullish(),
});
export const updateFileBody = z.object({ attributes: attributes.nullable() });
export const createBatchBody = z.object({
  file_ids: fileIds.min(1).nullish(),
  files: z.array(attachFileBody).min(1).max(MAX_BATCH_FILES).nullish(),
  attributes: attributes.nullish(),
  chunking_strategy: chunkingStrategy.nullish(),
});
export const searchBody = z.object({
  query: z.union(
    [z.string().min(1).max(10_000), z.array(z.string().min(1).max(10_000)).min(1).max(10)],
    'expected text or up to 10 texts',
  ),
  filters: z.unknown().optional(),
  max_num_results: z
    .int()
    .min(1)
    .max(50)
    .nullish()
    .transform((value) => value ?? 10),
  ranking_options: z.looseObject({ score_threshold: z.number().min(0).max(1).nullish() }).nullish(),
  /** Accepted without effect: queries are searched for as they are. */
  rewrite_query: z.boolean().nullish(),
});

export const listVectorStoresQuery = z.object({
  limit: z.int().min(1).max(100).default(20),
  after: z.string().optional(),
  before: z.string().optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
});
export const listVectorStoreFilesQuery = listVectorStoresQuery.extend({ filter: fileStatus.optional() });
