/** What a body is read as. The process that reads knows these words without a library for schemas, which is large. */
const OFFICE_KINDS = ['docx', 'pptx', 'xlsx', 'odf', 'epub', 'rtf'] as const;
export type OfficeKind = (typeof OFFICE_KINDS)[number];
export const CONTENT_KINDS = ['html', 'markdown', 'text', 'json', 'csv', 'xml', 'pdf', ...OFFICE_KINDS] as const;
export type ContentKind = (typeof CONTENT_KINDS)[number];

/** Whether a body of this kind still says something when nothing but its characters is read. */
export function hasPlainText(kind: ContentKind): boolean {
  return kind !== 'pdf' && !isOffice(kind);
}

/** Whether it is an Office document, an e-book or rich text. */
export function isOffice(kind: ContentKind): kind is OfficeKind {
  return OFFICE_KINDS.some((office) => office === kind);
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

/** What was read. */
export interface ParsedDocument {
  title: string;
  /** Markdown, or the text as it is for kinds that are text already. */
  content: string;
  author?: string | undefined;
  /** As the page gives it, usually ISO 8601. */
  published?: string | undefined;
  /** When it was changed last, in the page's own words. */
  updated?: string | undefined;
  /** BCP 47. */
  language?: string | undefined;
  /** The addresses of `[text][L1]`, `[text][L2]` in the content, in the order of their numbers. */
  links?: string[] | undefined;
  /** Why this is less than the whole document, in a few words. */
  incomplete?: string | undefined;
}

/** The longest content that is kept, in UTF-16 code units. */
export const MAX_CONTENT = 2_000_000;
