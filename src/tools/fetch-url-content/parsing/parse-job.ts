import { z } from 'zod';

/** What a body is read as. */
export const officeKind = z.enum(['docx', 'pptx', 'xlsx', 'odf', 'epub', 'rtf']);
export type OfficeKind = z.output<typeof officeKind>;
export const contentKind = z.enum(['html', 'markdown', 'text', 'json', 'csv', 'xml', 'pdf', ...officeKind.options]);
export type ContentKind = z.output<typeof contentKind>;

/** Whether a body of this kind still says something when nothing but its characters is read. */
export function hasPlainText(kind: ContentKind): boolean {
  return kind !== 'pdf' && !isOffice(kind);
}

/** Whether it is an Office document, an e-book or rich text. */
export function isOffice(kind: ContentKind): kind is OfficeKind {
  return officeKind.safeParse(kind).success;
}

/** A body to read, as it is sent to the child process. */
export interface ParseJob {
  kind: ContentKind;
  bytes: Uint8Array;
  /** The charset that the server named. */
  charset: string | undefined;
  /** Where the body came from: the base of relative links. */
  url: string;
  /** Links of long pages stand in `links`, and their numbers in the text: for those who show it in parts. */
  referenceLinks?: boolean;
  /** The longest text of a plain kind that is kept, in UTF-16 code units. Default 2 million. */
  longest?: number;
  /** Only its plain text, without parsing: for documents that broke the parser. */
  plainly?: boolean;
  /** The parser stops by itself after this time of its own, where it can, and returns what it has; in milliseconds. */
  softLimitMs: number;
}

/** What was read. The child has touched hostile input, so what it sends is checked like any other input. */
export const parsedDocument = z.object({
  title: z.string(),
  /** Markdown, or the text as it is for kinds that are text already. */
  content: z.string(),
  author: z.string().optional(),
  /** As the page gives it, usually ISO 8601. */
  published: z.string().optional(),
  /** When it was changed last, in the page's own words. */
  updated: z.string().optional(),
  /** BCP 47. */
  language: z.string().optional(),
  /** The addresses of `[text][L1]`, `[text][L2]` in the content, in the order of their numbers. */
  links: z.array(z.string()).optional(),
  /** Why this is less than the whole document, in a few words. */
  incomplete: z.string().optional(),
});
export type ParsedDocument = z.output<typeof parsedDocument>;

/** The longest content that is kept, in UTF-16 code units. */
export const MAX_CONTENT = 2_000_000;

export const childMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('parsed'), document: parsedDocument }),
  z.object({ type: z.literal('failed'), message: z.string() }),
]);
export type ChildMessage = z.output<typeof childMessage>;
