import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { AttemptFailure, brokenStream, refusesCredential, timedOut } from '../../upstream/provider-answer.ts';
import { decoderOf, MaskedBody, type ProviderTarget, UNREQUESTED_CODING } from '../../upstream/provider-target.ts';
import { ClientWriter, endAnswer } from '../client-writer.ts';
import { failWritesLate } from './late-write-failure.ts';

/** The longest provider error that is relayed, in bytes. */
const MAX_ERROR = 1024 * 1024;

/** A call that is being proxied. */
export interface ProxyContext {
  target: ProviderTarget;
  origin: string;
  /** Sends the client an error if it has no answer yet; otherwise breaks off its answer. */
  fail(error: unknown): void;
  /** Called when the call has a connection. */
  onConnection?(): void;
  /** Called when the client of a WebSocket has got its answer. */
  onAnswered?(): void;
}

/** How long a call may wait for a free connection, and how long for the head of its answer, in milliseconds. */
export function headLimitMs({ config: { timeouts } }: ProviderTarget): number {
  return Math.max(timeouts.first_byte, timeouts.idle);
}

/**
 * Watches a request to a provider until its answer begins. Limits the time for the connection and for the answer's head,
 * however many interim responses or parts of a head the provider sends meanwhile. A provider that switches protocols, or
 * closes the connection without an answer, has failed.
 */
export function watchRequest(proxyReq: ClientRequest, { target, fail }: Pick<ProxyContext, 'target' | 'fail'>): void {
  limitConnect(proxyReq, target.config.timeouts.connect);
  if (proxyReq.socket) failWritesLate(proxyReq.socket);
  let headTimer: NodeJS.Timeout | undefined;
  let answered = false;
  const onSent = () => {
    if (!answered) headTimer = setTimeout(() => proxyReq.destroy(timedOut('no answer in time')), headLimitMs(target));
  };
  const onAnswer = () => {
    answered = true;
    clearTimeout(headTimer);
  };
  if (proxyReq.writableFinished) onSent();
  else proxyReq.once('finish', onSent);
  proxyReq.once('response', onAnswer);
  // On a timeout http-proxy-middleware destroys the request, and its error would report a reset connection.
  proxyReq.once('timeout', () => fail(timedOut('nothing came in time')));
  proxyReq.once('upgrade', (_answer, socket) => {
    onAnswer();
    socket.destroy();
    fail(brokenStream('HTTP status 101, which was not asked for'));
  });
  proxyReq.once('close', () => {
    clearTimeout(headTimer);
    if (!answered) fail(brokenStream('the connection ended without an answer'));
  });
}

/** Limits the time for opening the connection, in milliseconds. */
export function limitConnect(proxyReq: ClientRequest, ms: number): void {
  const { socket } = proxyReq;
  if (!socket?.connecting) return;
  const timer = setTimeout(() => proxyReq.destroy(timedOut('no connection in time')), ms);
  const clear = () => clearTimeout(timer);
  socket.once('connect', clear);
  proxyReq.once('close', clear);
}

/** Relays the provider's answer as it arrives; an error is buffered first. */
export function relayAnswer(answer: IncomingMessage, res: ServerResponse, context: ProxyContext): void {
  const { target } = context;
  const status = answer.statusCode ?? 0;
  const clientHeaders = () => target.headersToClient(answer);
  failOnThrow(answer, context, () => {
    checkStatus(status);
    if (status >= 400) {
      collectError(answer, context, (body) => {
        const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
        res.writeHead(status, { ...clientHeaders(), ...length });
        endAnswer(res, body);
      });
      return;
    }
    const body = decodedBody(answer);
    const { trailer } = answer.headers;
    res.writeHead(status, {
      ...clientHeaders(),
      ...(trailer !== undefined && mayTrail(answer, res) && { trailer: target.mask.maskText(trailer) }),
    });
    res.flushHeaders();
    relayBody(answer, body, { res, target });
  });
}

/** Whether trailers may follow the body. Otherwise Node throws on the header that announces them. */
function mayTrail(answer: IncomingMessage, res: ServerResponse): boolean {
  return answer.headers['transfer-encoding'] !== undefined && !isBodiless(answer) && res.useChunkedEncodingByDefault;
}

/** Relays the body at the client's pace, with the credentials that the provider may quote in it masked. */
function relayBody(
  answer: IncomingMessage,
  decoded: Readable,
  { res, target: { mask } }: { res: ServerResponse; target: ProviderTarget },
): void {
  const writer = new ClientWriter({ res }, decoded);
  const masked = new MaskedBody(mask);
  // Broken compression must not look like the end of the body. http-proxy-middleware handles all other errors.
  decoded.on('error', () => writer.cut());
  decoded.on('data', (chunk: Buffer) => writer.write(masked.push(chunk)));
  decoded.once('end', () => {
    writer.write(masked.end());
    res.addTrailers(trailersOf(answer, (value) => mask.maskText(value)));
    writer.end();
  });
}

/** @throws AttemptFailure for a status that must not be relayed. */
export function checkStatus(status: number): void {
  // The provider rejected the operator's credential, not the client's.
  if (refusesCredential(status)) {
    throw new AttemptFailure(`HTTP status ${status}`, { kind: 'refused', advice: 'never', status });
  }
  if (status < 200 || status > 599) throw brokenStream(`HTTP status ${status}, which is not valid`);
}

/** Buffers an error answer and masks credentials in it. */
export function collectError(
  answer: IncomingMessage,
  { target, fail }: Pick<ProxyContext, 'target' | 'fail'>,
  write: (body: Buffer) => void,
): void {
  const pieces: Buffer[] = [];
  let size = 0;
  const body = decodedBody(answer);
  const failed = (message: string, failure = brokenStream) => {
    clearTimeout(timer);
    body.removeAllListeners().on('error', () => {});
    discard(answer);
    fail(failure(message));
  };
  const timer = setTimeout(() => failed('an error that did not end in time', timedOut), target.config.timeouts.idle);
  body.on('error', () => failed('the answer cannot be decompressed'));
  body.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_ERROR) failed(`the answer is larger than ${MAX_ERROR} bytes`);
    else pieces.push(chunk);
  });
  answer.once('aborted', () => failed('the connection broke in the middle of the answer'));
  body.once('end', () => {
    clearTimeout(timer);
    const whole = Buffer.concat(pieces);
    target.mask.maskWhole(whole);
    write(whole);
  });
}

/**
 * The decompressed body of an answer. The stream emits `error` if the compression is broken.
 * @throws AttemptFailure for a body that cannot be inspected: one of an unknown coding, or a part of a compressed one.
 */
function decodedBody(answer: IncomingMessage): Readable {
  const decoder = isBodiless(answer) ? undefined : decoderOf(answer.headers);
  if (!decoder) return answer;
  if (answer.statusCode === 206) throw brokenStream(UNREQUESTED_CODING);
  // Without a callback `pipeline` would throw the error; the reader of the decoder gets it as `error`.
  return pipeline(answer, decoder, () => {});
}

function isBodiless({ statusCode, headers, req }: IncomingMessage & { req?: { method?: string } }): boolean {
  return statusCode === 204 || statusCode === 304 || headers['content-length'] === '0' || req?.method === 'HEAD';
}

/** Runs `relay` in a listener, where an uncaught error would end the process, and reports what it throws. */
export function failOnThrow(answer: IncomingMessage, { fail }: Pick<ProxyContext, 'fail'>, relay: () => void): void {
  try {
    relay();
  } catch (error) {
    discard(answer);
    fail(error);
  }
}

/**
 * Destroys an answer that is not relayed. http-proxy-middleware adds its listeners once the current one has
 * returned, and they would close the client's connection as well.
 */
function discard(answer: IncomingMessage): void {
  queueMicrotask(() =>
    answer
      .removeAllListeners()
      .on('error', () => {})
      .destroy(),
  );
}

/** Fields that are not allowed in trailers (RFC 9110, 6.5.1), and those that identify a client. */
const FORBIDDEN_TRAILERS =
  /^(?:authorization|proxy-.*|x-api-key|api-key|cookie|set-cookie|host|connection|upgrade|trailer|te|transfer-encoding|content-(?:length|type|encoding|range)|cache-control|expect|max-forwards|pragma|range|if-.*|forwarded|x-forwarded-.*|x-real-ip|location|www-authenticate|retry-after)$/i;

/** The trailers that are relayed: those that the head announced and that are allowed. */
export function trailersOf(
  { headers, trailers }: IncomingMessage,
  clean: (value: string) => string = (value) => value,
): [string, string][] {
  const announced = new Set((headers.trailer ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.entries(trailers)
    .filter(([name]) => announced.has(name) && !FORBIDDEN_TRAILERS.test(name))
    .map(([name, value]) => [name, clean(value ?? '')]);
}
