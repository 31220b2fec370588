import { fileIdIn, fileUrl, isFileUrl, type ReadFile, readAttachedFile } from '../attached-file.ts';
import { readDocument } from '../corpus/corpus.ts';
import { isCorpusUrl } from '../corpus/corpus-url.ts';
import { checkRequested } from '../safe-fetch/host-rules.ts';
import type { HostFetch } from '../safe-fetch/safe-fetch.ts';
import { mayBeShared } from '../shared-answers.ts';
import type { SourceLimits } from '../source-limits.ts';
import { ToolError } from '../tool.ts';
import type { PoliteHosts } from './polite-hosts.ts';

/** The body at an address, unparsed. */
export interface RetrievedBody {
  /** The address that it came from, after redirects. */
  url: string;
  contentType: string | null;
  bytes: Uint8Array;
  /** The last change that the server or the file system reports, ISO 8601. */
  modified: string | undefined;
  /** Whether it may be stored for other users. */
  shared: boolean;
  /** Dispose it once the bytes are read. */
  held?: Disposable;
}

export interface PageSourceOptions {
  safeFetch: HostFetch;
  hosts: PoliteHosts;
  /** The limits of the request. Here they apply to corpus documents; `safeFetch` enforces them for hosts. */
  limits: SourceLimits;
  /** The folder of `corpus:///` documents; undefined if there is no corpus. */
  corpusFolder: string | undefined;
  /** Reads files of the run's user; undefined if there are none. */
  readFile?: ReadFile | undefined;
}

const HEADERS = {
  accept:
    'text/html,application/xhtml+xml,text/markdown;q=0.95,application/pdf;q=0.9,text/*;q=0.9,application/json;q=0.8,*/*;q=0.5',
  'accept-language': 'en,*;q=0.7',
};

/**
 * Retrieves the body of an address.
 * @throws ToolError that names what went wrong: `not_found`, `forbidden`, `rate_limited`, `http_error` or those of the
 *   safe fetch.
 */
export async function retrieve(
  url: string,
  options: PageSourceOptions & { signal: AbortSignal },
): Promise<RetrievedBody> {
  if (isCorpusUrl(url)) {
    checkRequested('corpus', options.limits.allowedDomains, options.limits.blockedDomains);
    return await retrieveDocument(url, options.corpusFolder);
  }
  if (isFileUrl(url)) {
    const file = await readAttachedFile(url, options);
    const { name, bytes, type, createdAt } = file;
    return {
      // The model may have written the file's name in another way.
      url: fileUrl(fileIdIn(url) ?? '', name),
      bytes,
      contentType: type || null,
      modified: new Date(createdAt).toISOString(),
      shared: false,
      held: file,
    };
  }
  const host = URL.parse(url)?.host ?? '';
  return await options.hosts.visit(host, () => retrievePage(url, options), { signal: options.signal });
}

async function retrieveDocument(url: string, folder: string | undefined): Promise<RetrievedBody> {
  if (folder === undefined) throw new ToolError('not_found', 'There is no local corpus here.');
  const { bytes, contentType, modifiedAt } = await readDocument(folder, url);
  return { url, bytes, contentType, modified: new Date(modifiedAt).toISOString(), shared: false };
}

async function retrievePage(url: string, options: PageSourceOptions & { signal: AbortSignal }): Promise<RetrievedBody> {
  const { safeFetch, hosts, signal } = options;
  const response = await safeFetch.fetch(url, { headers: HEADERS, signal });
  if (!response.ok) {
    await response.body?.cancel();
    if (response.status === 429 || response.status === 503) {
      hosts.pause(URL.parse(response.url)?.host ?? '', response.headers);
    }
    throw httpError(response);
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const modified = Date.parse(response.headers.get('last-modified') ?? '');
  return {
    url: response.url,
    bytes,
    contentType: response.headers.get('content-type'),
    modified: Number.isFinite(modified) ? new Date(modified).toISOString() : undefined,
    shared: mayBeShared(response.headers),
  };
}

function httpError({ status, url }: Response): ToolError {
  const host = URL.parse(url)?.host ?? 'The server';
  if (status === 404 || status === 410) return new ToolError('not_found', `${host} has no such page (HTTP ${status}).`);
  if (status === 401 || status === 402 || status === 403 || status === 451) {
    return new ToolError('forbidden', `${host} does not show this page to us (HTTP ${status}).`);
  }
  if (status === 429) return new ToolError('rate_limited', `${host} is asked too often (HTTP 429).`);
  return new ToolError('http_error', `${host} answered with HTTP ${status}.`);
}
