import { z } from 'zod';

/** What the gateway asks the thread of the local search. */
export interface SearchQuestion {
  id: number;
  text: string;
  limit: number;
}

/** What the thread is started with. */
export interface SearchThreadData {
  folder: string;
  /** Where the index is kept; absent: in memory. */
  indexFile: string | undefined;
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
  z.object({ type: z.literal('trouble'), message: z.string() }),
]);
export type SearchReply = z.output<typeof searchReply>;
