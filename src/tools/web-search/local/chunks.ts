import { drainSteps } from '../../../base/load/event-loop.ts';
import { naturalEnd } from '../../../base/text.ts';
import { htmlToText } from '../../text/html-text.ts';
import { firstHeading, isFence, type MarkdownHeading, markdownHeading } from '../../text/markdown-heading.ts';
import { publishedDate } from '../published.ts';

/** A passage of a document under its heading. */
export interface Chunk {
  heading: string;
  text: string;
  /** The page on which it begins, where the document has pages. */
  page?: number;
  /** The headings above it, the outermost first; in a spreadsheet the sheet and the cells. */
  section?: string;
}

/** A document cut into passages for the index. */
export interface ChunkedDocument {
  title: string;
  /** The publication date in ISO 8601, if the document has one. */
  published?: string;
  chunks: Chunk[];
}

/** The usual length of a passage, in characters: long enough for context, short enough to rank and quote well. */
const TARGET = 1200;
/** Sections shorter than this are joined with the next one, in characters. */
const SMALL = 200;
/** Separates the headings of a section. */
const SEPARATOR = ' › ';
/** How the parsers mark the start of a page or a slide. */
const PAGE_MARK = /^\[(?:Page|Slide) (\d{1,6})\]$/;
/** How the parsers mark a range of cells. */
const CELLS_MARK = /^\[Cells ([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})\]$/;
const MAX_SECTION = 300;
/** How many passages one document may have. */
const MAX_CHUNKS = 20_000;
const LINES_PER_STEP = 200;

/**
 * Cuts a document into titled passages. `name`: the file's name, the title of last resort. `places`: each passage belongs
 * to one heading, however short that makes it, because it is cited with its place.
 */
export function chunkDocument(text: string, about: DocumentAbout): ChunkedDocument {
  return drainSteps(chunkInSteps(text, about));
}

interface DocumentAbout {
  contentType: string;
  name: string;
  places?: boolean;
}

/** As `chunkDocument`, in steps of some lines each. */
export function* chunkInSteps(text: string, about: DocumentAbout): Generator<void, ChunkedDocument> {
  if (about.contentType === 'text/html') {
    const page = htmlToText(text);
    return { title: page.title || titleFromName(about.name), chunks: yield* cut(page.text, SMALL) };
  }
  const { body, title, published } =
    about.contentType === 'text/markdown' ? withoutFrontMatter(text) : { body: text, title: '', published: undefined };
  const heading = firstHeading(body);
  return {
    title: title || plainInline(heading ?? '') || titleFromName(about.name),
    ...(published ? { published } : {}),
    chunks: yield* cut(body, about.places ? 0 : SMALL),
  };
}

function titleFromName(name: string): string {
  return name.replace(/\.[^.]+$/, '').replace(/[-_]+/g, ' ');
}

function withoutFrontMatter(text: string): { body: string; title: string; published: string | undefined } {
  const match = /^---\r?\n([\s\S]{0,5000}?)\r?\n---\r?\n/.exec(text);
  if (!match) return { body: text, title: '', published: undefined };
  const lines = (match[1] ?? '').split('\n');
  const fieldOf = (key: string) => {
    const line = lines.find((candidate) => candidate.startsWith(`${key}:`)) ?? '';
    const value = line.slice(key.length + 1).trim();
    const isQuoted = value.length > 1 && (value[0] === '"' || value[0] === "'") && value.at(-1) === value[0];
    return isQuoted ? value.slice(1, -1) : value;
  };
  const published = publishedDate(fieldOf('date') || fieldOf('published'), 0);
  return { body: text.slice(match[0].length), title: fieldOf('title'), published };
}

/** Markdown links, emphasis and code marks removed from a heading. */
function plainInline(text: string): string {
  return text
    .replace(/!?\[([^\][]{0,500})\]\([^()]{0,2000}\)/g, '$1')
    .replace(/[*`]|\b_|_\b/g, '')
    .trim();
}

/** Cuts at headings outside code fences, and long sections at paragraphs. A section below `small` joins the next one. */
function* cut(text: string, small: number): Generator<void, Chunk[]> {
  const chunks: Chunk[] = [];
  let heading = '';
  let page: number | undefined;
  const path: string[] = [];
  let section = '';
  let cells: string | undefined;
  let lines: string[] = [];
  let size = 0;
  let hasBody = false;
  let inFence = false;

  const flush = () => {
    const body = lines.join('\n').trim();
    lines = [];
    size = 0;
    hasBody = false;
    if (body === '') return;
    const place = [section, cells].filter(Boolean).join(SEPARATOR);
    chunks.push({ heading, text: body, ...(page !== undefined && { page }), ...(place !== '' && { section: place }) });
  };

  const all = text.split(/\r?\n/);
  for (const [at, line] of all.entries()) {
    if (at % LINES_PER_STEP === LINES_PER_STEP - 1) yield;
    if (chunks.length >= MAX_CHUNKS) break;
    if (isFence(line)) inFence = !inFence;
    const nextPage = PAGE_MARK.exec(line)?.[1];
    if (nextPage !== undefined) {
      // No passage spans two pages, because a citation names the page.
      flush();
      page = Number(nextPage);
      continue;
    }
    const range = CELLS_MARK.exec(line)?.[1];
    if (range !== undefined) {
      if (hasBody) flush();
      cells = range;
      continue;
    }
    const found = inFence ? undefined : (markdownHeading(line) ?? underlinedHeading(all, at));
    if (found) {
      if (hasBody && (size >= small || cells !== undefined)) flush();
      cells = undefined;
      const title = plainInline(found.text);
      path.splice(found.level - 1, path.length, ...Array(Math.max(0, found.level - 1 - path.length)).fill(''), title);
      if (size === 0) heading = title;
      // Headings directly below each other share one passage.
      if (!hasBody) {
        section = path
          .filter((part) => part !== '')
          .join(SEPARATOR)
          .slice(0, MAX_SECTION);
      }
    } else if (line.trim() !== '') hasBody = true;
    else if (size >= TARGET) flush();
    for (const piece of pieces(line)) {
      if (size + piece.length > 2 * TARGET) flush();
      lines.push(piece);
      size += piece.length;
    }
  }
  flush();
  return chunks;
}

/** A heading that a line of `=` or `-` follows. Only after an empty line: such a line also ends a quotation or a table. */
function underlinedHeading(lines: readonly string[], at: number): MarkdownHeading | undefined {
  const text = lines[at]?.trim() ?? '';
  if (text === '' || text.length > MAX_SECTION || (lines[at - 1] ?? '').trim() !== '') return undefined;
  if (!/[\p{L}\p{N}]/u.test(text) || !/^(={3,}|-{3,})\s*$/.test(lines[at + 1] ?? '')) return undefined;
  return { level: lines[at + 1]?.startsWith('=') ? 1 : 2, text };
}

/** The line, or parts of at most `TARGET` characters where a line is very long. */
function pieces(line: string): string[] {
  if (line.length <= 2 * TARGET) return [line];
  const parts: string[] = [];
  for (let at = 0; at < line.length; ) {
    const end = naturalEnd(line, { from: at + TARGET / 2, limit: at + TARGET, marks: ['。', ' '] });
    parts.push(line.slice(at, end));
    at = end;
  }
  return parts;
}
