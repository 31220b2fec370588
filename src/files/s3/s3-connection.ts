import { createHash } from 'node:crypto';
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import { linkSignals, sleep, TimeoutError } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { HttpAgent, httpRequest } from '../../base/node-http.ts';
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
  headers: IncomingMessage['headers'];
  text: string;
  /** Whether an earlier attempt may have reached the store. */
  isRetry: boolean;
}

const TIMES: S3Times = { idleMs: 8_000, totalMs: 25_000, backoffMs: 200 };
const MAX_ATTEMPTS = 3;
/** Largest number of idle sockets. */
const MAX_IDLE_SOCKETS = 16;
/** Largest response that is read whole, in bytes: a page of a list has a thousand entries. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Number of chunks to hash before the event loop continues. */
const CHUNKS_PER_TURN = 16;

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
  /** Node's HTTP or HTTPS client, loaded with the first request. */
  #client: Promise<{ agent: Agent; request: (options: RequestOptions) => ClientRequest }> | undefined;
  #disposed = false;

  constructor(options: S3ConnectionOptions) {
    this.#options = options;
    this.#endpoint = new URL(options.endpoint);
    this.#times = { ...TIMES, ...options.times };
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    void this.#client?.then(({ agent }) => agent.destroy());
  }

  /**
   * Sends a request and reads the whole response.
   * @throws GatewayError `store_unavailable` if the store is unavailable, too slow, or refuses; the signal's reason.
   */
  async send(request: S3Request, signal: AbortSignal): Promise<S3Response> {
    return await this.#withRetries(signal, async (within, isRetry) => {
      const response = await this.#exchange(request, within);
      const text = await readText(response);
      const { statusCode: status = 0, headers } = response;
      // The store answers the completion of a multipart upload with 200 before it knows whether it succeeds.
      const failed = status === 200 && request.method === 'POST' && text.includes('<Error>');
      if (failed || (status >= 300 && !isAbsent(status, text))) throw new S3Error(request, status, text);
      return { status, headers, text, isRetry };
    });
  }

  /** Sends a request. Read the body of the response with `readChunks`; undefined for 404. @throws as `send`. */
  async open(request: S3Request, signal: AbortSignal): Promise<IncomingMessage | undefined> {
    return await this.#withRetries(signal, async (within) => {
      const response = await this.#exchange(request, within);
      const { statusCode: status = 0 } = response;
      if (status < 300) return response;
      const text = await readText(response);
      if (!isAbsent(status, text)) throw new S3Error(request, status, text);
      return undefined;
    });
  }

  /** Reads the body of a response, which is destroyed when the iteration ends. @throws if it breaks off or stalls. */
  async *readChunks(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
    const chunks: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
    const stop = () => response.destroy(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      for (;;) {
        const next = await this.#nextChunk(response, chunks);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      response.destroy();
    }
  }

  /** Reads the next chunk. The time limit does not run while a slow reader works on the last one. */
  async #nextChunk(response: IncomingMessage, chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    const { idleMs } = this.#times;
    using limit = linkSignals([], { what: 'The next piece from the object storage', timeoutMs: idleMs });
    limit.signal.addEventListener('abort', () => response.destroy(limit.signal.reason), { once: true });
    return await chunks.next();
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
  async #exchange(request: S3Request, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, query, body = [] } = request;
    const { credentials, region } = this.#options;
    const target = signedTarget(`${this.#endpoint.pathname.replace(/\/$/, '')}${path}`, query);
    const length = body.reduce((sum, chunk) => sum + chunk.length, 0);
    const headers: Record<string, string> = { ...request.headers, host: this.#endpoint.host };
    if (method === 'PUT' || method === 'POST') headers['content-length'] = String(length);
    const unsigned = { method, target, headers, payloadHash: await hashOf(body) };
    const signed = signRequest(unsigned, { credentials, region, now: Date.now() });
    const { agent, request: open } = await this.#loadClient();
    signal.throwIfAborted();
    const { hostname, port } = this.#endpoint;
    const host = hostname.replace(/^\[|\]$/g, '');
    const { idleMs: timeout } = this.#times;
    const req = open({ host, port, method, path: target, headers: signed, agent, signal, timeout, setHost: false });
    return await this.#responseTo(req, body);
  }

  async #responseTo(req: ClientRequest, body: readonly Buffer[]): Promise<IncomingMessage> {
    const { idleMs } = this.#times;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    req.once('timeout', () => req.destroy(new TimeoutError('An answer of the object storage', idleMs)));
    req.on('error', reject);
    req.once('response', (response) => {
      // From here on the reader of the body watches the time.
      req.setTimeout(0);
      resolve(response);
    });
    req.once('close', () => reject(new Error('the object storage closed the connection')));
    Readable.from(body, { objectMode: false }).pipe(req);
    return await promise;
  }

  #loadClient() {
    if (this.#disposed) throw new Error('The connection to the object storage is closed.');
    this.#client ??= importClient(this.#endpoint.protocol === 'https:');
    return this.#client;
  }
}

/** Whether an object or upload does not exist. A missing bucket is an error of the configuration instead. */
function isAbsent(status: number, text: string): boolean {
  return status === 404 && elementText(text, 'Code') !== 'NoSuchBucket';
}

async function importClient(secure: boolean) {
  const options = { keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS };
  if (!secure) return { agent: new HttpAgent(options), request: httpRequest };
  const https = await import('node:https');
  return { agent: new https.Agent(options), request: https.request };
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new Error('the response of the object storage is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function hashOf(body: readonly Buffer[]): Promise<string> {
  const sum = createHash('sha256');
  for (const [index, chunk] of body.entries()) {
    sum.update(chunk);
    if (index % CHUNKS_PER_TURN === CHUNKS_PER_TURN - 1) await otherWork();
  }
  return sum.digest('hex');
}
