/** The kinds of bodies, without a schema: the reading process does not load the schema library, which is large. */
const OFFICE_KINDS = ['docx', 'pptx', 'xlsx', 'odf', 'epub', 'rtf'] as const;
export type OfficeKind = (typeof OFFICE_KINDS)[number];
export const CONTENT_KINDS = ['html', 'markdown', 'text', 'json', 'csv', 'xml', 'pdf', ...OFFICE_KINDS] as const;
export type ContentKind = (typeof CONTENT_KINDS)[number];

/** Whether the bare characters of a body of this kind are still worth reading. */
export function hasPlainText(kind: ContentKind): boolean {
  return kind !== 'pdf' && !isOffice(kind);
}

/** Whether it is an Office document, an e-book or rich text. */
export function isOffice(kind: ContentKind): kind is OfficeKind {
  return OFFICE_KINDS.some((office) => office === kind);
}

/** A body to read, as the child process receives it. */
export interface ParseJob {
  kind: ContentKind;
  bytes: Uint8Array;
  /** The charset that the server named. */
  charset: string | undefined;
  /** Where the body came from: the base of relative links. */
  url: string;
  /** Whether the links of a long page go into `links`, with their numbers in the text: for callers that show it in parts. */
  referenceLinks?: boolean;
  /** How much text of a plain kind is read, in UTF-16 code units. Default 2 million. */
  maxLength?: number;
  /** Whether to read only its plain text, without parsing: for documents that broke the parser. */
  isPlainTextOnly?: boolean;
  /** After this time a parser that can do so stops and returns what it has read; in milliseconds. */
  softLimitMs: number;
}

/** A document after reading. */
export interface ParsedDocument {
  title: string;
  /** Markdown; for kinds that are text already, the text unchanged. */
  content: string;
  author?: string | undefined;
  /** The date of publication as the page gives it, usually ISO 8601. */
  published?: string | undefined;
  /** The date of the last change as the page gives it. */
  updated?: string | undefined;
  /** BCP 47. */
  language?: string | undefined;
  /** The addresses of `[text][L1]`, `[text][L2]` in the content, in the order of their numbers. */
  links?: string[] | undefined;
  /** Why this is not the whole document, in a few words. */
  incomplete?: string | undefined;
}

/** How long the content of a document may be, in UTF-16 code units; the rest is cut off. */
export const MAX_CONTENT = 2_000_000;
