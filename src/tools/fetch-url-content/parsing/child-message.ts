import { z } from 'zod';
import type { ParsedDocument } from './parse-job.ts';

/** The child has touched hostile input, so what it sends is checked like any other input. */
export const parsedDocument = z.object({
  title: z.string(),
  content: z.string(),
  author: z.string().optional(),
  published: z.string().optional(),
  updated: z.string().optional(),
  language: z.string().optional(),
  links: z.array(z.string()).optional(),
  incomplete: z.string().optional(),
}) satisfies z.ZodType<ParsedDocument>;

export const childMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('parsed'), document: parsedDocument }),
  z.object({ type: z.literal('failed'), message: z.string() }),
]);
export type ChildMessage = z.output<typeof childMessage>;
