import type { JsonValue } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { onOneLine } from '../../base/text.ts';
import { isFileUrl, type ReadFile } from '../attached-file.ts';
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import type { SourceLimits } from '../source-limits.ts';
import { type Tool, ToolError, type ToolOutput, type ToolSource } from '../tool.ts';
import type { ToolCache } from '../tool-cache.ts';
import { FETCH_PARAMETERS, type FetchArguments, parseFetchArguments } from './fetch-arguments.ts';
import { createRunPages, type PageReaderOptions, type ReadPage, readAddress } from './page-reader.ts';
import { partOf, type TextPart } from './paging.ts';
import { ParsePool, type ParsePoolOptions } from './parsing/parse-pool.ts';
import { type FoundPassages, findPassages, type PassageAt, relevantPassages } from './passages.ts';
import { PoliteHosts } from './polite-hosts.ts';
import { linksIn, type ShownLinks } from './shown-links.ts';

export interface FetchUrlContentOptions {
  /** How http(s) addresses are fetched; stays the caller's to dispose. */
  safeFetch: SafeFetch;
  /** The folder of `corpus:///` documents, as for the local search. */
  corpusFolder?: string;
  /** Where pages are kept for other calls and runs. */
  cache?: { store: ToolCache; ttlMs: number };
  /** The longest text of one call, in UTF-16 code units. Default 24 000. */
  partLength?: number;
  /** Time limit of one call, in milliseconds. Default 30 s. */
  timeoutMs?: number;
  parsing?: ParsePoolOptions;
}

const DESCRIPTION =
  'Reads a web page or document and returns its main text as Markdown, with links and tables. Understands HTML, PDF, Office documents, EPUB, ' +
  'text, Markdown, JSON, CSV and feeds. Long documents come in parts: call again with next_offset for the following one, or use find. ' +
  'Links of long pages are numbered, [text][L3], with their addresses in links; find "[L3]" tells one that was left out.';

const SNIPPET_LENGTH = 300;
/** The most of a part that the addresses of its links may take. */
const LINKS_SHARE = 0.25;

/** Whose files may be read, and for how long. */
export interface ReadOptions {
  readFile?: ReadFile | undefined;
  signal: AbortSignal;
  log: Logger;
}

/** The tool, which can be made one of a run. */
export interface FetchUrlContentTool extends Tool, Disposable {
  /**
   * Keeps the pages that are meant for nobody else, and reads only what keeps to the limits of a request, redirects
   * included.
   */
  forRun(limits: SourceLimits, readFile?: ReadFile): Tool;
  /** A whole document, outside of any run. @throws ToolError as a call does. */
  read(url: string, options: ReadOptions): Promise<ReadPage>;
}

/** The tool `fetch_url_content` (docs/research.md, "Tools"). Dispose it to end its parser processes. */
export function createFetchUrlContentTool(options: FetchUrlContentOptions): FetchUrlContentTool {
  const { safeFetch, corpusFolder, cache, partLength = 24_000, timeoutMs = 30_000 } = options;
  const pool = new ParsePool(options.parsing);
  const shared = { safeFetch, corpusFolder, cache, pool, hosts: new PoliteHosts(), limits: { allowedDomains: [] } };
  const parts = { partLength, timeoutMs };
  return {
    ...toolOf(shared, parts),
    read: (url, options) => readAddress(url, { ...shared, ...options }),
    forRun(limits, readFile) {
      const ownPages = createRunPages();
      const within = safeFetch.within(limits.allowedDomains, limits.blockedDomains);
      return toolOf({ ...shared, ownPages, limits, readFile, safeFetch: within }, parts);
    },
    [Symbol.dispose]() {
      pool[Symbol.dispose]();
    },
  };
}

function toolOf(reader: PageReaderOptions, { partLength, timeoutMs }: { partLength: number; timeoutMs: number }): Tool {
  return {
    name: 'fetch_url_content',
    description: DESCRIPTION,
    parameters: FETCH_PARAMETERS,
    timeoutMs,
    async call(args, { signal, log }) {
      const asked = parseFetchArguments(args);
      const page = await readAddress(asked.url, { ...reader, signal, log });
      const request = isFileUrl(asked.url) ? { ...asked, url: page.url } : asked;
      if (request.offset > 0 && request.offset >= page.content.length) {
        throw new ToolError(
          'invalid_arguments',
          `offset must be below ${page.content.length}, the length of this document.`,
        );
      }
      if (request.find !== '') {
        const found = await findPassages(page.content, request.find);
        const text = found.passages.map((passage) => passage.text).join('\n');
        const links = linksIn(text, page.links, partLength * LINKS_SHARE);
        return foundOutput(request, { page, found, links });
      }
      const { part, links } = shownPart(page, request.offset, partLength);
      const shown = { from: request.offset, to: part.nextOffset ?? page.content.length };
      const passages = await relevantPassages(page.content, request.goal, shown);
      return toOutput(request, { page, part, links, passages });
    },
  };
}

/** The part of a page from `offset`, with the links in it: both together no longer than a part may be. */
function shownPart(page: ReadPage, offset: number, length: number): { part: TextPart; links: ShownLinks } {
  const room = Math.floor(length * LINKS_SHARE);
  const whole = partOf(page.content, offset, length);
  const needed = linksIn(whole.text, page.links, room);
  if (whole.text.length + needed.length <= length) return { part: whole, links: needed };
  const part = partOf(page.content, offset, length - needed.length);
  return { part, links: linksIn(part.text, page.links, room) };
}

/** The passages around what was looked for, each behind its offset. */
function foundOutput(
  { url, find }: FetchArguments,
  { page, found, links }: { page: ReadPage; found: FoundPassages; links: ShownLinks },
): ToolOutput {
  const { passages, places } = found;
  const content = passages.map(({ offset, text }) => `[offset ${offset}]\n${text}`).join('\n\n');
  const snippet = onOneLine(passages[0]?.text ?? page.content.slice(0, 2 * SNIPPET_LENGTH));
  return {
    sources: [{ ...sourceOf(url, page), snippet: snippet.slice(0, SNIPPET_LENGTH) }],
    result(sourceId) {
      const result = described(url, page, { content, source_id: sourceId(url), truncated: true });
      result.find = find;
      result.matches = passages.map(({ offset, text }) => ({ offset, length: text.length }));
      result.total_length = page.content.length;
      tellLinks(result, links);
      if (passages.length === 0) result.note = 'None of these words stand in the document. Other words may.';
      else if (places > passages.length) result.note = `${places - passages.length} more places have some of it.`;
      return result;
    },
  };
}

/** A field of its own: the content of the parts of a document joins to the whole. */
function tellLinks(result: { [key: string]: JsonValue }, { links, left }: ShownLinks): void {
  if (Object.keys(links).length > 0) result.links = links;
  if (left > 0) result.links_left_out = left;
}

function sourceOf(url: string, page: ReadPage): Omit<ToolSource, 'snippet'> {
  return { url, title: page.title, kind: 'read', ...(page.published ? { published: page.published } : {}) };
}

/** A result with what is known of its page. */
function described(
  url: string,
  page: ReadPage,
  part: { content: string; source_id: number; truncated: boolean },
): { [key: string]: JsonValue } {
  const result: { [key: string]: JsonValue } = { url, title: page.title, ...part };
  if (page.url !== url) result.final_url = page.url;
  for (const key of ['author', 'published', 'updated', 'language'] as const) {
    const value = page[key];
    if (value) result[key] = value;
  }
  return result;
}

function toOutput(
  request: FetchArguments,
  read: { page: ReadPage; part: TextPart; links: ShownLinks; passages: readonly PassageAt[] },
): ToolOutput {
  const { page, part, links, passages } = read;
  const { url } = request;
  const snippet = onOneLine(part.text).slice(0, SNIPPET_LENGTH);
  return {
    sources: [{ ...sourceOf(url, page), snippet }],
    result(sourceId) {
      const truncated = part.nextOffset !== undefined;
      const result = described(url, page, { content: part.text, source_id: sourceId(url), truncated });
      if (part.nextOffset !== undefined) result.next_offset = part.nextOffset;
      if (part.nextOffset !== undefined || request.offset > 0) result.total_length = page.content.length;
      tellLinks(result, links);
      if (passages.length > 0) result.more_on_goal = passages.map(({ offset, text }) => ({ offset, text }));
      if (page.incomplete) result.note = `Not everything: ${page.incomplete}.`;
      else if (page.content === '')
        result.note = 'There is no text here; the page may need a browser that runs scripts.';
      return result;
    },
  };
}
