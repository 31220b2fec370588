import { z } from 'zod';

/** What the gateway asks the thread of the local search. */
export interface SearchQuestion {
  type: 'search';
  id: number;
  text: string;
  limit: number;
}

/** What the gateway says to `embed`; without vectors where they could not be had. */
export interface EmbeddedTexts {
  type: 'embedded';
  id: number;
  vectors: Float32Array[] | undefined;
}

/** What the thread is started with. */
export interface SearchThreadData {
  folder: string;
  /** Where the index is kept; absent: in memory. */
  indexFile: string | undefined;
  /** What vectors come from, where passages are found by meaning too. */
  embeddingModel: string | undefined;
}

/** What the thread answers. */
export const searchReply = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('found'),
    id: z.number(),
    hits: z.array(
      z.object({ url: z.string(), title: z.string(), snippet: z.string(), published: z.string().optional() }),
    ),
    progress: z.object({ indexed: z.number(), all: z.number() }).optional(),
  }),
  z.object({ type: z.literal('failed'), id: z.number() }),
  z.object({
    type: z.literal('embed'),
    id: z.number(),
    purpose: z.enum(['query', 'documents']),
    texts: z.array(z.string()),
  }),
  z.object({ type: z.literal('trouble'), message: z.string() }),
]);
export type SearchReply = z.output<typeof searchReply>;
