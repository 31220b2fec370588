import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Logger } from '../../base/logger.ts';
import { percentDecode } from '../../base/text.ts';
import { isFileUrl } from '../attached-file.ts';
import { isCorpusUrl } from '../corpus/corpus-url.ts';
import { isPublishedWithin, type SourceLimits } from '../source-limits.ts';
import { ToolError } from '../tool.ts';
import type { ToolCache } from '../tool-cache.ts';
import { describeContent } from './content-kind.ts';
import { type PageSourceOptions, type RetrievedBody, retrieve } from './page-source.ts';
import { CONTENT_KINDS, hasPlainText } from './parsing/parse-job.ts';
import { ParseFailure, type ParsePool, parsedDocument } from './parsing/parse-pool.ts';

const parsedPage = parsedDocument.extend({
  /** After redirects. */
  url: z.string(),
  kind: z.enum(CONTENT_KINDS),
  /** Whether `published` is only the last change that the server or the file system reports. */
  datedByServer: z.literal(true).optional(),
});

/** A page with its text. */
export type ParsedPage = z.output<typeof parsedPage>;

export interface PageReaderOptions extends PageSourceOptions {
  pool: ParsePool;
  /** Stores pages of the web for other calls and runs. */
  cache: { store: ToolCache; ttlMs: number } | undefined;
  /** Stores pages for this run alone, if there is a cache at all. */
  runPages?: RunPages;
}

/** Longer pages are not stored. In UTF-16 code units. */
const MAX_CACHED = 1_000_000;

/** The pages that a run read last and that other runs may not see; together at most `MAX_CACHED` long. */
export type RunPages = LRUCache<string, ParsedPage>;

export function createRunPages(): RunPages {
  return new LRUCache({ maxSize: MAX_CACHED, sizeCalculation: cachedLength });
}

/** The size of a page in the cache, which demands at least 1. */
function cachedLength({ content, links = [] }: ParsedPage): number {
  return links.reduce((sum, address) => sum + address.length, Math.max(1, content.length));
}

/**
 * Retrieves and reads a page, or takes it from the cache.
 * @throws ToolError, such as `outside_dates` for a page that was published at a time that the request does not allow.
 */
export async function readPage(
  url: string,
  options: PageReaderOptions & { signal: AbortSignal; log: Logger },
): Promise<ParsedPage> {
  const page = await cachedOrRetrieved(url, options);
  if (!page.datedByServer) checkDate(page, options.limits);
  return page;
}

function checkDate({ published }: ParsedPage, limits: SourceLimits): void {
  if (isPublishedWithin(published, limits)) return;
  const { after, before } = limits;
  const allowed = [after && `from ${after}`, before && `until ${before}`].filter(Boolean).join(' ');
  throw new ToolError('outside_dates', `This was published on ${published}; only sources ${allowed} may be used.`);
}

async function cachedOrRetrieved(
  url: string,
  options: PageReaderOptions & { signal: AbortSignal; log: Logger },
): Promise<ParsedPage> {
  const cache = isCorpusUrl(url) || isFileUrl(url) ? undefined : options.cache;
  const key = cacheKey(url, options.safeFetch.policy);
  const runPage = options.runPages?.get(key);
  if (runPage) return runPage;
  // A cache that is down costs a request, not the call.
  const cached = cache && parsedPage.safeParse(await cache.store.get(key).catch(() => undefined));
  if (cached?.success) return cached.data;
  const body = await retrieve(url, options);
  using _ = body.held;
  const page = await readBody(body, options);
  if (!cache || cachedLength(page) > MAX_CACHED) return page;
  if (body.shared) await cache.store.set(key, { ...page }, cache.ttlMs).catch(() => {});
  else options.runPages?.set(key, page);
  return page;
}

/** The key contains the host rules, too: a host that is denied now is not read from the cache either. */
function cacheKey(url: string, policy: string): string {
  const identity = JSON.stringify([url.split('#', 1)[0], policy]);
  return `fetch_url_content:${createHash('sha256').update(identity).digest('hex')}`;
}

async function readBody(
  body: RetrievedBody,
  { pool, signal, log }: PageReaderOptions & { signal: AbortSignal; log: Logger },
): Promise<ParsedPage> {
  const { url, bytes } = body;
  const { kind, charset } = describeContent(bytes, body.contentType);
  const job = { kind, bytes, charset, url, referenceLinks: true };
  const document = await pool.parse(job, { signal }).catch(async (failure: unknown) => {
    if (!(failure instanceof ParseFailure)) throw failure;
    log.info({ kind, failure: failure.kind }, 'a page could not be parsed');
    if (failure.kind === 'busy') throw new ToolError('busy', 'Too many documents are being read. Try again later.');
    // Its plain text is read in a process, too: what broke one reader must not reach the gateway's event loop.
    const plain =
      hasPlainText(kind) && (await pool.parse({ ...job, isPlainTextOnly: true }, { signal }).catch(ignoreParseFailure));
    if (plain) return plain;
    throw new ToolError('unreadable', `The document could not be read: ${failure.message}.`, { cause: failure });
  });
  // Files are cited by their names, whatever their documents call themselves (docs/files.md).
  const title = (!isFileUrl(url) && document.title) || nameFromUrl(url);
  const published = document.published ?? body.modified;
  const dated = document.published === undefined && published !== undefined && { datedByServer: true as const };
  return { ...document, url, kind, title, ...(published ? { published } : {}), ...dated };
}

function ignoreParseFailure(error: unknown): undefined {
  if (!(error instanceof ParseFailure)) throw error;
}

function nameFromUrl(url: string): string {
  const parsed = URL.parse(url);
  const name = parsed?.pathname.split('/').filter(Boolean).at(-1) ?? '';
  return (percentDecode(name) ?? name) || (parsed?.host ?? url);
}
