import type { JsonValue } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { counted, toSingleLine } from '../../base/text.ts';
import { isFileUrl, type ReadFile } from '../attached-file.ts';
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import type { SourceLimits } from '../source-limits.ts';
import { type Tool, ToolError, type ToolOutput, type ToolSource } from '../tool.ts';
import type { ToolCache } from '../tool-cache.ts';
import { FETCH_PARAMETERS, type FetchArguments, parseFetchArguments } from './fetch-arguments.ts';
import { createRunPages, type PageReaderOptions, type ParsedPage, readPage } from './page-reader.ts';
import { partOf, type TextPart } from './paging.ts';
import { ParsePool, type ParsePoolOptions } from './parsing/parse-pool.ts';
import { linksIn, type PartLinks } from './part-links.ts';
import { type DocumentPassage, type FoundPassages, findPassages, relevantPassages } from './passages.ts';
import { PoliteHosts } from './polite-hosts.ts';

export interface FetchUrlContentOptions {
  /** Fetches http(s) addresses. The caller disposes it. */
  safeFetch: SafeFetch;
  /** The folder of `corpus:///` documents, as for the local search. */
  corpusFolder?: string;
  /** Stores pages for other calls and runs. */
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
/** The share of a part that the addresses of its links may take. */
const MAX_LINKS_SHARE = 0.25;

/** How to read a document outside of any run. */
export interface ReadOptions {
  readFile?: ReadFile | undefined;
  signal: AbortSignal;
  log: Logger;
}

/** The tool, which can be limited to one run. */
export interface FetchUrlContentTool extends Tool, Disposable {
  /**
   * The tool for one run: it remembers pages that may not be shared with other runs, and reads only what the request's
   * limits allow, redirects included.
   */
  forRun(limits: SourceLimits, readFile?: ReadFile): Tool;
  /** Reads a whole document, outside of any run. @throws ToolError as a call does. */
  read(url: string, options: ReadOptions): Promise<ParsedPage>;
}

/** The tool `fetch_url_content` (docs/research.md, "Tools"). Dispose it to end its parser processes. */
export function createFetchUrlContentTool(options: FetchUrlContentOptions): FetchUrlContentTool {
  const { safeFetch, corpusFolder, cache, partLength = 24_000, timeoutMs = 30_000 } = options;
  const pool = new ParsePool(options.parsing);
  const shared = { safeFetch, corpusFolder, cache, pool, hosts: new PoliteHosts(), limits: { allowedDomains: [] } };
  const parts = { partLength, timeoutMs };
  return {
    ...toolOf(shared, parts),
    read: (url, options) => readPage(url, { ...shared, ...options }),
    forRun(limits, readFile) {
      const runPages = createRunPages();
      const limitedFetch = safeFetch.within(limits.allowedDomains, limits.blockedDomains);
      return toolOf({ ...shared, runPages, limits, readFile, safeFetch: limitedFetch }, parts);
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
      const parsed = parseFetchArguments(args);
      const page = await readPage(parsed.url, { ...reader, signal, log });
      const request = isFileUrl(parsed.url) ? { ...parsed, url: page.url } : parsed;
      if (request.offset > 0 && request.offset >= page.content.length) {
        throw new ToolError(
          'invalid_arguments',
          `offset must be below ${page.content.length}, the length of this document.`,
        );
      }
      if (request.find !== '') {
        const found = await findPassages(page.content, request.find);
        const text = found.passages.map((passage) => passage.text).join('\n');
        const links = linksIn(text, page.links, partLength * MAX_LINKS_SHARE);
        return passagesOutput(request, { page, found, links });
      }
      const { part, links } = partWithLinks(page, request.offset, partLength);
      const shown = { from: request.offset, to: part.nextOffset ?? page.content.length };
      const passages = await relevantPassages(page.content, request.goal, shown);
      return partOutput(request, { page, part, links, passages });
    },
  };
}

/** The part of a page from `offset`, with its links: together they take at most `length` UTF-16 code units. */
function partWithLinks(page: ParsedPage, offset: number, length: number): { part: TextPart; links: PartLinks } {
  const room = Math.floor(length * MAX_LINKS_SHARE);
  const longest = partOf(page.content, offset, length);
  const links = linksIn(longest.text, page.links, room);
  if (longest.text.length + links.length <= length) return { part: longest, links };
  const part = partOf(page.content, offset, length - links.length);
  return { part, links: linksIn(part.text, page.links, room) };
}

/** The passages around the text to find, each after its offset. */
function passagesOutput(
  { url, find }: FetchArguments,
  { page, found, links }: { page: ParsedPage; found: FoundPassages; links: PartLinks },
): ToolOutput {
  const { passages, places } = found;
  const content = passages.map(({ offset, text }) => `[offset ${offset}]\n${text}`).join('\n\n');
  const snippet = toSingleLine(passages[0]?.text ?? page.content.slice(0, 2 * SNIPPET_LENGTH));
  return {
    sources: [{ ...sourceOf(url, page), snippet: snippet.slice(0, SNIPPET_LENGTH).toWellFormed() }],
    result(sourceId) {
      const result = describePage(url, page, { content, source_id: sourceId(url), truncated: true });
      result.find = find;
      result.matches = passages.map(({ offset, text }) => ({ offset, length: text.length }));
      result.total_length = page.content.length;
      addLinks(result, links);
      const notes = page.incomplete ? [`Not everything was searched: ${page.incomplete}.`] : [];
      if (passages.length === 0) notes.push('None of these words stand in the document. Other words may.');
      else if (places > passages.length)
        notes.push(`Some of it stands in ${counted(places - passages.length, 'more place')}.`);
      if (notes.length > 0) result.note = notes.join(' ');
      return result;
    },
  };
}

/** Adds links in a field of their own, so that the contents of a document's parts can be joined to the whole. */
function addLinks(result: { [key: string]: JsonValue }, { links, omitted }: PartLinks): void {
  if (Object.keys(links).length > 0) result.links = links;
  if (omitted > 0) result.links_left_out = omitted;
}

function sourceOf(url: string, page: ParsedPage): Omit<ToolSource, 'snippet'> {
  return { url, title: page.title, kind: 'read', ...(page.published ? { published: page.published } : {}) };
}

/** A result with the metadata of its page. */
function describePage(
  url: string,
  page: ParsedPage,
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

function partOutput(
  request: FetchArguments,
  read: { page: ParsedPage; part: TextPart; links: PartLinks; passages: readonly DocumentPassage[] },
): ToolOutput {
  const { page, part, links, passages } = read;
  const { url } = request;
  const snippet = toSingleLine(part.text).slice(0, SNIPPET_LENGTH).toWellFormed();
  return {
    sources: [{ ...sourceOf(url, page), snippet }],
    result(sourceId) {
      const truncated = part.nextOffset !== undefined;
      const result = describePage(url, page, { content: part.text, source_id: sourceId(url), truncated });
      if (part.nextOffset !== undefined) result.next_offset = part.nextOffset;
      if (part.nextOffset !== undefined || request.offset > 0) result.total_length = page.content.length;
      addLinks(result, links);
      if (passages.length > 0) result.more_on_goal = passages.map(({ offset, text }) => ({ offset, text }));
      if (page.incomplete) result.note = `Not everything: ${page.incomplete}.`;
      else if (page.content === '')
        result.note = 'There is no text here; the page may need a browser that runs scripts.';
      return result;
    },
  };
}
