import type { JsonValue } from '../../base/json.ts';
import type { SafeFetch } from '../safe-fetch/safe-fetch.ts';
import { type Tool, ToolError, type ToolOutput } from '../tool.ts';
import type { ToolCache } from '../tool-cache.ts';
import { FETCH_PARAMETERS, type FetchArguments, parseFetchArguments } from './fetch-arguments.ts';
import { type ReadPage, readAddress } from './page-reader.ts';
import { partOf, type TextPart } from './paging.ts';
import { ParsePool, type ParsePoolOptions } from './parsing/parse-pool.ts';
import { PoliteHosts } from './polite-hosts.ts';
import { type RelevantPassage, relevantPassages } from './relevant-passages.ts';

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
  'Reads a web page or document and returns its main text as Markdown, with links and tables. Understands HTML, PDF, ' +
  'text, Markdown, JSON, CSV and feeds. Long documents come in parts: call again with next_offset for the following one.';

const SNIPPET_LENGTH = 300;

/** The tool `fetch_url_content` (contract section 3.3). Dispose it to end its parser processes. */
export function createFetchUrlContentTool(options: FetchUrlContentOptions): Tool & Disposable {
  const { safeFetch, corpusFolder, cache, partLength = 24_000, timeoutMs = 30_000 } = options;
  const pool = new ParsePool(options.parsing);
  const reader = { safeFetch, corpusFolder, cache, pool, hosts: new PoliteHosts() };
  return {
    name: 'fetch_url_content',
    description: DESCRIPTION,
    parameters: FETCH_PARAMETERS,
    timeoutMs,
    async call(args, { signal, log }) {
      const request = parseFetchArguments(args);
      const page = await readAddress(request.url, { ...reader, signal, log });
      if (request.offset > 0 && request.offset >= page.content.length) {
        throw new ToolError(
          'invalid_arguments',
          `offset must be below ${page.content.length}, the length of this document.`,
        );
      }
      const part = partOf(page.content, request.offset, partLength);
      const shown = { from: request.offset, to: part.nextOffset ?? page.content.length };
      const passages = await relevantPassages(page.content, request.goal, shown);
      return toOutput(request, { page, part, passages });
    },
    [Symbol.dispose]() {
      pool[Symbol.dispose]();
    },
  };
}

function toOutput(
  request: FetchArguments,
  read: { page: ReadPage; part: TextPart; passages: readonly RelevantPassage[] },
): ToolOutput {
  const { page, part, passages } = read;
  const { url } = request;
  const snippet = part.text.replace(/\s+/g, ' ').trim().slice(0, SNIPPET_LENGTH);
  return {
    sources: [{ url, title: page.title, snippet, kind: 'read' }],
    result(sourceId) {
      const result: { [key: string]: JsonValue } = {
        url,
        title: page.title,
        content: part.text,
        source_id: sourceId(url),
        truncated: part.nextOffset !== undefined,
      };
      if (part.nextOffset !== undefined) result.next_offset = part.nextOffset;
      if (part.nextOffset !== undefined || request.offset > 0) result.total_length = page.content.length;
      if (page.url !== url) result.final_url = page.url;
      if (page.author) result.author = page.author;
      if (page.published) result.published = page.published;
      if (passages.length > 0) result.more_on_goal = passages.map(({ offset, text }) => ({ offset, text }));
      if (page.incomplete) result.note = `Not everything: ${page.incomplete}.`;
      else if (page.content === '')
        result.note = 'There is no text here; the page may need a browser that runs scripts.';
      return result;
    },
  };
}
