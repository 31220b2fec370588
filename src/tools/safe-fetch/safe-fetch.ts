import { type Dispatcher, type Response as FetchedAnswer, fetch as undiciFetch } from 'undici';
import { causesOf, messageOf } from '../../base/errors.ts';
import { StallDetector } from '../../base/load/stall.ts';
import { parseNetwork } from '../../base/networks.ts';
import { ToolError } from '../tool.ts';
import { createGuardedAgent, type ExchangeTimeouts, type GuardedAgentOptions } from './guarded-agent.ts';
import { checkUrl, type HostRules } from './host-rules.ts';
import { bodyTooLarge, limitBody } from './limited-body.ts';
import { followRedirect, type Hop, requestHeaders } from './redirects.ts';

export interface SafeFetchOptions extends Pick<GuardedAgentOptions, 'connections' | 'resolve'> {
  /** Hosts that may be contacted, with their subdomains; empty or absent: all. */
  allowHosts?: readonly string[];
  /** Hosts that may not be contacted, with their subdomains. */
  denyHosts?: readonly string[];
  /** Allows loopback and private addresses. Link-local and metadata addresses stay refused. */
  allowPrivateAddresses?: boolean;
  /** Addresses or networks (`10.1.2.0/24`) that are allowed although they are not public. */
  allowAddresses?: readonly string[];
  /** The largest body after decompression, in bytes. Default 10 MiB. */
  maxBytes?: number;
  /** Default 5. */
  maxRedirects?: number;
  /** Defaults: connect 10 s, headers 30 s, idle 30 s. */
  timeouts?: Partial<ExchangeTimeouts>;
  userAgent?: string;
}

/** How the gateway introduces itself to the sites it reads. */
export const USER_AGENT = 'research-gateway/0.1 (automated research; reads single pages on request)';

/**
 * Fetches addresses that a model, a page or a client chose. It checks every hop of every request: scheme, host
 * lists, and each resolved address when it connects. `fetch` follows the Fetch standard closely enough to
 * be passed to other libraries; it returns a standard `Response` with a limited body.
 *
 * `fetch` rejects with a `ToolError` (`invalid_url`, `blocked_host`, `blocked_address`, `bad_redirect`, `too_large`,
 * `timeout`, `unreachable`, `http_error` for a number that is no status) or with the reason of the caller's signal. The
 * body fails in the same ways.
 */
export interface SafeFetch extends HostFetch, AsyncDisposable {
  /** Limits fetching to these hosts and their subdomains (empty: all), without the denied ones. Shares the connections. */
  within(hosts: readonly string[], denied?: readonly string[]): HostFetch;
}

/** Fetching under one set of rules. */
export interface HostFetch {
  /**
   * Identifies the rules. An answer that was fetched under other rules may be forbidden under these, so caches include
   * the policy in their keys.
   */
  readonly policy: string;
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
}

/** Opens a safe fetch; dispose it to close its connections. */
export function createSafeFetch(options: SafeFetchOptions = {}): SafeFetch {
  const addresses = {
    allowPrivate: options.allowPrivateAddresses ?? false,
    allowed: (options.allowAddresses ?? []).map(parseNetwork),
  };
  const rules = {
    allowHosts: options.allowHosts ?? [],
    denyHosts: options.denyHosts ?? [],
    allowLocalNames: addresses.allowPrivate || addresses.allowed.length > 0,
    requestedHosts: [],
  };
  const maxBytes = options.maxBytes ?? 10 * 1024 * 1024;
  const maxRedirects = options.maxRedirects ?? 5;
  const userAgent = options.userAgent ?? USER_AGENT;
  const makeAgent = () =>
    createGuardedAgent({
      addresses,
      timeouts: { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, ...options.timeouts },
      connections: options.connections,
      resolve: options.resolve,
    });
  const agents = new FreshAgent(makeAgent);

  async function exchange(hop: Hop, signal: AbortSignal | undefined) {
    try {
      return await undiciFetch(hop.url, {
        method: hop.method,
        headers: [...hop.headers],
        body: hop.body,
        duplex: 'half',
        redirect: 'manual',
        dispatcher: agents.current,
        signal: signal ?? null,
      });
    } catch (error) {
      throw explainFailure(error, { host: hop.url.host, signal });
    }
  }

  const fetchUnder = (rules: HostRules & { allowLocalNames: boolean }): HostFetch => ({
    policy: JSON.stringify([rules, addresses.allowPrivate, options.allowAddresses ?? []]),
    async fetch(input, init) {
      const { hop: first, redirect, signal } = readRequest(input, init, userAgent);
      let hop = first;
      const redirectHeaders: Headers[] = [];
      for (let redirects = 0; ; redirects++) {
        checkUrl(hop.url, rules);
        const answer = await exchange(hop, signal);
        const next =
          redirect === 'manual' ? undefined : followRedirect(hop, answer.status, answer.headers.get('location'));
        if (!next) {
          const { host, href } = hop.url;
          if (answer.status > MAX_STATUS) {
            await answer.body?.cancel();
            throw new ToolError('http_error', `${host} answered with HTTP ${answer.status}.`);
          }
          const body = await boundedBody(answer, maxBytes, (error) => explainFailure(error, { host, signal }));
          return toResponse(answer, { body, url: href, redirectHeaders });
        }
        redirectHeaders.push(new Headers([...answer.headers]));
        await answer.body?.cancel();
        if (redirect === 'error')
          throw new ToolError('bad_redirect', 'The server redirects, which is not allowed here.');
        if (redirects >= maxRedirects) throw new ToolError('bad_redirect', `More than ${maxRedirects} redirects.`);
        hop = next;
      }
    },
  });

  return {
    ...fetchUnder(rules),
    within: (requestedHosts, denied = []) =>
      fetchUnder({ ...rules, requestedHosts, denyHosts: [...rules.denyHosts, ...denied] }),
    [Symbol.asyncDispose]: () => agents[Symbol.asyncDispose](),
  };
}

/** Replaces its agent after the process was suspended: servers closed its idle connections, where requests would be lost. */
class FreshAgent implements AsyncDisposable {
  readonly #make: () => Dispatcher;
  #agent: Dispatcher;
  #watch = new StallDetector();

  constructor(make: () => Dispatcher) {
    this.#make = make;
    this.#agent = make();
  }

  get current(): Dispatcher {
    if (!this.#watch.hasStalled) return this.#agent;
    this.#watch[Symbol.dispose]();
    this.#watch = new StallDetector();
    void this.#agent.close().catch(() => {});
    this.#agent = this.#make();
    return this.#agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch[Symbol.dispose]();
    await this.#agent.destroy();
  }
}

/** @throws ToolError `too_large` if `content-length` exceeds the limit. */
async function boundedBody({ headers, body }: FetchedAnswer, maxBytes: number, explain: (error: unknown) => unknown) {
  if (body && Number(headers.get('content-length') ?? 0) > maxBytes) {
    await body.cancel();
    throw bodyTooLarge(maxBytes);
  }
  return body && limitBody(body, maxBytes, explain);
}

function readRequest(input: string | URL | Request, init: RequestInit | undefined, userAgent: string) {
  const request = input instanceof Request ? input : undefined;
  const url = URL.parse(request ? request.url : String(input));
  if (!url) throw new ToolError('invalid_url', 'This is not a complete http or https address.');
  const body = init?.body ?? request?.body ?? null;
  const hop: Hop = {
    url,
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    headers: requestHeaders(init?.headers ?? request?.headers, userAgent, body),
    body,
  };
  return {
    hop,
    redirect: init?.redirect ?? request?.redirect ?? 'follow',
    signal: init?.signal ?? request?.signal ?? undefined,
  };
}

/** Some sites refuse with a number that HTTP and its `Response` do not know, such as 999. */
const MAX_STATUS = 599;
const BODYLESS = new Set([101, 204, 205, 304]);

function toResponse(
  answer: { status: number; statusText: string; headers: Iterable<[string, string]> },
  parts: { body: ReadableStream<Uint8Array> | null; url: string; redirectHeaders: readonly Headers[] },
): Response {
  const response = new Response(BODYLESS.has(answer.status) ? null : parts.body, {
    status: answer.status,
    // Other characters are not valid there.
    statusText: answer.statusText.replace(/[^\t\x20-\x7e]/g, ''),
    headers: [...answer.headers],
  });
  Object.defineProperty(response, 'url', { value: parts.url });
  Object.defineProperty(response, 'redirected', { value: parts.redirectHeaders.length > 0 });
  // The cache directives and cookies of a redirect also apply to the answer it leads to.
  for (const headers of parts.redirectHeaders) {
    for (const name of ['cache-control', 'set-cookie', 'vary']) {
      const value = headers.get(name);
      if (value !== null) response.headers.append(name, value);
    }
  }
  return response;
}

/** Codes of undici and Node for an exceeded time limit. */
const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** The error of a failed exchange for its caller: the reason of its abort, a refusal of an address, or the failure in short. */
function explainFailure(error: unknown, about: { host: string; signal: AbortSignal | undefined }): unknown {
  if (about.signal?.aborted) return about.signal.reason;
  for (const cause of causesOf(error)) {
    if (cause instanceof ToolError) return cause;
    const code = codeOf(cause);
    if (code && TIMEOUT_CODES.has(code)) {
      return new ToolError('timeout', `${about.host} did not answer in time.`, { cause: error });
    }
  }
  const reason = causesOf(error).map(codeOf).find(Boolean) ?? messageOf(error);
  return new ToolError('unreachable', `${about.host} could not be read (${reason}).`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
