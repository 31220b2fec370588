import { createHash } from 'node:crypto';
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import { linkSignals, sleep, TimeoutError } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { HttpAgent, httpRequest } from '../../base/node-http.ts';
import { placeFails } from '../file-place.ts';
import { elementText } from './s3-xml.ts';
import { type S3Credentials, signedTarget, signRequest } from './sign-request.ts';

/** Times in milliseconds. */
export interface S3Times {
  /** How long nothing may come or go. */
  idleMs: number;
  /** How long a request may take with its repeats: less than a form may stand still while a part of it goes out. */
  wholeMs: number;
  /** Before the first repeat; twice as long before the next one. */
  backoffMs: number;
}

export interface S3ConnectionOptions {
  /** `http://host:port`, with a path where the store lies below one. */
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

export interface S3Answer {
  /** 2xx or 404. */
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  /** Whether an earlier try may have been heard. */
  repeated: boolean;
}

const TIMES: S3Times = { idleMs: 8_000, wholeMs: 25_000, backoffMs: 200 };
const TRIES = 3;
/** Sockets that are kept open for the next request, at most. */
const IDLE_SOCKETS = 16;
/** The largest answer that is read whole, in bytes: a page of a list has a thousand entries. */
const LARGEST_ANSWER = 4 * 1024 * 1024;
/** So many pieces are hashed before other work gets its turn. */
const PIECES_AT_ONCE = 16;

/** A refusal by the store. Its message has the code alone: the rest would show what was signed. */
class S3Refusal extends Error {
  override readonly name = 'S3Refusal';
  readonly mayPass: boolean;

  constructor(request: S3Request, status: number, text: string) {
    const code = elementText(text, 'Code')?.slice(0, 64).replace(/\W/g, '') ?? 'no code';
    super(`the object storage answered ${request.method} with ${status} (${code})`);
    this.mayPass = status >= 500 || status === 429 || status === 200 || code === 'RequestTimeout';
  }
}

/** Signed requests to a store that speaks S3; what fails for a moment is sent again. */
export class S3Connection implements Disposable {
  readonly #options: S3ConnectionOptions;
  readonly #endpoint: URL;
  readonly #times: S3Times;
  /** Of Node's HTTPS where the endpoint is one. It is loaded with the first request. */
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
   * The answer, read whole.
   * @throws GatewayError `store_unavailable` where the store is away, too slow, or refuses; the reason of the signal.
   */
  async send(request: S3Request, signal: AbortSignal): Promise<S3Answer> {
    return await this.#repeated(signal, async (within, repeated) => {
      const answer = await this.#exchange(request, within);
      const text = await wholeText(answer);
      const { statusCode: status = 0, headers } = answer;
      // The end of an upload in parts is answered with 200 before it is known whether it succeeds.
      const failed = status === 200 && request.method === 'POST' && text.includes('<Error>');
      if (failed || (status >= 300 && !isAbsent(status, text))) throw new S3Refusal(request, status, text);
      return { status, headers, text, repeated };
    });
  }

  /** The head of an answer, and its body to be read with `piecesOf`; undefined for 404. @throws as `send`. */
  async open(request: S3Request, signal: AbortSignal): Promise<IncomingMessage | undefined> {
    return await this.#repeated(signal, async (within) => {
      const answer = await this.#exchange(request, within);
      const { statusCode: status = 0 } = answer;
      if (status < 300) return answer;
      const text = await wholeText(answer);
      if (!isAbsent(status, text)) throw new S3Refusal(request, status, text);
      return undefined;
    });
  }

  /** The body of an answer, which is destroyed with the iteration. @throws where it breaks off or stands still. */
  async *piecesOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
    const pieces: AsyncIterator<Buffer> = answer[Symbol.asyncIterator]();
    const stop = () => answer.destroy(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      signal.throwIfAborted();
      for (;;) {
        const next = await this.#inTime(answer, pieces);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      answer.destroy();
    }
  }

  /** The next piece. Time counts while it is waited for, and not while a slow reader has the last one. */
  async #inTime(answer: IncomingMessage, pieces: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    const { idleMs } = this.#times;
    using limit = linkSignals([], { what: 'The next piece from the object storage', timeoutMs: idleMs });
    limit.signal.addEventListener('abort', () => answer.destroy(limit.signal.reason), { once: true });
    return await pieces.next();
  }

  async #repeated<T>(signal: AbortSignal, work: (within: AbortSignal, repeated: boolean) => Promise<T>): Promise<T> {
    const { wholeMs, backoffMs } = this.#times;
    using limit = linkSignals([signal], { what: 'A request to the object storage', timeoutMs: wholeMs });
    const within = limit.signal;
    for (let tried = 1; ; tried++) {
      try {
        within.throwIfAborted();
        return await work(within, tried > 1);
      } catch (thrown) {
        signal.throwIfAborted();
        const mayPass = !(thrown instanceof S3Refusal) || thrown.mayPass;
        if (!mayPass || tried === TRIES || within.aborted) throw this.failure(within.aborted ? within.reason : thrown);
        await sleep(backoffMs * 2 ** (tried - 1) * (0.5 + Math.random()), { signal: within }).catch(() => {});
        signal.throwIfAborted();
      }
    }
  }

  /** What a client is told of a failure, which is logged. */
  failure(cause: unknown): Error {
    this.#options.log.warn({ err: messageOf(cause) }, 'the object storage of files fails');
    return placeFails(cause);
  }

  /** Sends a request; the head of its answer. */
  async #exchange(request: S3Request, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, query, body = [] } = request;
    const { credentials, region } = this.#options;
    const target = signedTarget(`${this.#endpoint.pathname.replace(/\/$/, '')}${path}`, query);
    const length = body.reduce((sum, piece) => sum + piece.length, 0);
    const headers: Record<string, string> = { ...request.headers, host: this.#endpoint.host };
    if (method === 'PUT' || method === 'POST') headers['content-length'] = String(length);
    const unsigned = { method, target, headers, payloadHash: await hashOf(body) };
    const signed = signRequest(unsigned, { credentials, region, now: Date.now() });
    const { agent, request: open } = await this.#opened();
    signal.throwIfAborted();
    const { hostname, port } = this.#endpoint;
    const host = hostname.replace(/^\[|\]$/g, '');
    const { idleMs: timeout } = this.#times;
    const req = open({ host, port, method, path: target, headers: signed, agent, signal, timeout, setHost: false });
    return await this.#answerTo(req, body);
  }

  async #answerTo(req: ClientRequest, body: readonly Buffer[]): Promise<IncomingMessage> {
    const { idleMs } = this.#times;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    req.once('timeout', () => req.destroy(new TimeoutError('An answer of the object storage', idleMs)));
    req.on('error', reject);
    req.once('response', (answer) => {
      // From here on who reads it watches the time.
      req.setTimeout(0);
      resolve(answer);
    });
    req.once('close', () => reject(new Error('the object storage closed the connection')));
    Readable.from(body, { objectMode: false }).pipe(req);
    return await promise;
  }

  #opened() {
    if (this.#disposed) throw new Error('The connection to the object storage is closed.');
    this.#client ??= clientOf(this.#endpoint.protocol === 'https:');
    return this.#client;
  }
}

/** Whether an object or upload is not there; a bucket that is not is a mistake of the configuration. */
function isAbsent(status: number, text: string): boolean {
  return status === 404 && elementText(text, 'Code') !== 'NoSuchBucket';
}

async function clientOf(secure: boolean) {
  const options = { keepAlive: true, maxFreeSockets: IDLE_SOCKETS };
  if (!secure) return { agent: new HttpAgent(options), request: httpRequest };
  const https = await import('node:https');
  return { agent: new https.Agent(options), request: https.request };
}

async function wholeText(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += piece.length;
    if (bytes > LARGEST_ANSWER) throw new Error('the object storage answered with more than it should');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function hashOf(body: readonly Buffer[]): Promise<string> {
  const sum = createHash('sha256');
  for (const [index, piece] of body.entries()) {
    sum.update(piece);
    if (index % PIECES_AT_ONCE === PIECES_AT_ONCE - 1) await otherWork();
  }
  return sum.digest('hex');
}
