import { createHash } from 'node:crypto';
import { linkSignals, sleep } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import type { Logger } from '../../base/logger.ts';
import type { SafeFetch } from '../../tools/safe-fetch/safe-fetch.ts';
import { blobStoreUnavailable } from '../blob-store.ts';
import { elementText } from './s3-xml.ts';
import { type S3Credentials, signedTarget, signRequest } from './sign-request.ts';

/** Times in milliseconds. */
export interface S3Times {
  /** Longest time without any bytes. */
  idleMs: number;
  /** Longest time of a request with its retries: shorter than a form may pause while one of its parts is uploaded. */
  totalMs: number;
  /** Pause before the first retry; it doubles with each further one. */
  backoffMs: number;
}

export interface S3ConnectionOptions {
  /** `http://host:port`, with the path of the store if it has one. */
  endpoint: string;
  region: string;
  credentials: S3Credentials;
  log: Logger;
  times?: Partial<S3Times> | undefined;
}

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** `/bucket/key`, not encoded. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: readonly Buffer[];
}

export interface S3Response {
  /** 2xx or 404. */
  status: number;
  headers: Headers;
  text: string;
  /** Whether an earlier attempt may have reached the store. */
  isRetry: boolean;
}

const TIMES: S3Times = { idleMs: 8_000, totalMs: 25_000, backoffMs: 200 };
const MAX_ATTEMPTS = 3;
/** The most connections; further requests wait for one. */
const CONNECTIONS = 256;
/** Largest response that is read whole, in bytes: a page of a list has a thousand entries. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** An error response of the store. The message contains only its code: the rest would reveal what was signed. */
class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly isRetryable: boolean;

  constructor(request: S3Request, status: number, text: string) {
    const code = elementText(text, 'Code')?.slice(0, 64).replace(/\W/g, '') ?? 'no code';
    super(`the object storage answered ${request.method} with ${status} (${code})`);
    this.isRetryable = status >= 500 || status === 429 || status === 200 || code === 'RequestTimeout';
  }
}

/** Sends signed requests to a store that speaks S3, and retries failures that may pass. */
export class S3Connection implements Disposable {
  readonly #options: S3ConnectionOptions;
  readonly #endpoint: URL;
  readonly #times: S3Times;
  /** Loaded with the first request. */
  #client: SafeFetch | undefined;

  constructor(options: S3ConnectionOptions) {
    this.#options = options;
    this.#endpoint = new URL(options.endpoint);
    this.#times = { ...TIMES, ...options.times };
  }

  [Symbol.dispose](): void {
    void this.#client?.[Symbol.asyncDispose]();
  }

  /**
   * Sends a request and reads the whole response.
   * @throws GatewayError `store_unavailable` if the store is unavailable, too slow, or refuses; the signal's reason.
   */
  async send(request: S3Request, signal: AbortSignal): Promise<S3Response> {
    return await this.#withRetries(signal, async (within, isRetry) => {
      const response = await this.#exchange(request, within);
      const text = await readText(response);
      const { status, headers } = response;
      // The store answers the completion of a multipart upload with 200 before it knows whether it succeeds.
      const failed = status === 200 && request.method === 'POST' && text.includes('<Error>');
      if (failed || (status >= 300 && !isAbsent(status, text))) throw new S3Error(request, status, text);
      return { status, headers, text, isRetry };
    });
  }

  /**
   * Sends a request, and leaves the body of the response to be read until `signal` aborts; undefined for 404. The body
   * fails if it breaks off or stalls. @throws as `send`.
   */
  async open(request: S3Request, signal: AbortSignal): Promise<Response | undefined> {
    return await this.#withRetries(signal, async () => {
      const response = await this.#exchange(request, signal);
      const { status } = response;
      if (status < 300) return response;
      const text = await readText(response);
      if (!isAbsent(status, text)) throw new S3Error(request, status, text);
      return undefined;
    });
  }

  async #withRetries<T>(signal: AbortSignal, work: (within: AbortSignal, isRetry: boolean) => Promise<T>): Promise<T> {
    const { totalMs, backoffMs } = this.#times;
    using limit = linkSignals([signal], { what: 'A request to the object storage', timeoutMs: totalMs });
    const within = limit.signal;
    for (let attempt = 1; ; attempt++) {
      try {
        within.throwIfAborted();
        return await work(within, attempt > 1);
      } catch (thrown) {
        signal.throwIfAborted();
        const isRetryable = !(thrown instanceof S3Error) || thrown.isRetryable;
        if (!isRetryable || attempt === MAX_ATTEMPTS || within.aborted)
          throw this.failure(within.aborted ? within.reason : thrown);
        await sleep(backoffMs * 2 ** (attempt - 1) * (0.5 + Math.random()), { signal: within }).catch(() => {});
        signal.throwIfAborted();
      }
    }
  }

  /** Logs a failure, and returns the error that clients get. */
  failure(cause: unknown): Error {
    this.#options.log.warn({ err: messageOf(cause) }, 'the object storage of files fails');
    return blobStoreUnavailable(cause);
  }

  /** Sends a request once; resolves with the head of the response. */
  async #exchange(request: S3Request, signal: AbortSignal): Promise<Response> {
    const { method, path, query, body = [] } = request;
    const { credentials, region } = this.#options;
    const target = signedTarget(`${this.#endpoint.pathname.replace(/\/$/, '')}${path}`, query);
    const length = body.reduce((sum, chunk) => sum + chunk.length, 0);
    const headers: Record<string, string> = { ...request.headers, host: this.#endpoint.host };
    if (length > 0) headers['content-length'] = String(length);
    const unsigned = { method, target, headers, payloadHash: await hashOf(body) };
    const signed = signRequest(unsigned, { credentials, region, now: Date.now() });
    const { fetch } = await this.#loadClient();
    signal.throwIfAborted();
    // Compressed, a body would not have the bytes that a range counts.
    const sent = { ...signed, 'accept-encoding': 'identity' };
    const init = { method, headers: sent, redirect: 'manual', signal } as const;
    return await fetch(this.#endpoint.origin + target, {
      ...init,
      body: length > 0 ? ReadableStream.from(body) : null,
    });
  }

  async #loadClient(): Promise<SafeFetch> {
    const { createSafeFetch } = await import('../../tools/safe-fetch/safe-fetch.ts');
    const { idleMs } = this.#times;
    this.#client ??= createSafeFetch({
      allowAddresses: ['0.0.0.0/0', '::/0'],
      connections: CONNECTIONS,
      maxBytes: Number.POSITIVE_INFINITY,
      timeouts: { connectMs: idleMs, headersMs: idleMs, idleMs },
      userAgent: 'research-gateway',
    });
    return this.#client;
  }
}

/** Whether an object or upload does not exist. A missing bucket is an error of the configuration instead. */
function isAbsent(status: number, text: string): boolean {
  return status === 404 && elementText(text, 'Code') !== 'NoSuchBucket';
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error(`The answer is larger than ${MAX_RESPONSE_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function hashOf(body: readonly Buffer[]): Promise<string> {
  const sum = createHash('sha256');
  await inSlices(body, (chunk) => void sum.update(chunk));
  return sum.digest('hex');
}
