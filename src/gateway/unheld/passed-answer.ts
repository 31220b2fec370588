import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { AttemptFailure, brokenStream, timedOut } from '../../upstream/provider-answer.ts';
import { decoderOf, MaskedBody, type ProviderTarget, UNASKED } from '../../upstream/provider-target.ts';
import { ClientWriter, endAnswer } from '../client-writer.ts';
import { failWritesLate } from './late-write-failure.ts';

/** The longest error of a provider that is passed on, in bytes. */
const MAX_ERROR = 1024 * 1024;

/** A call that is being passed on. */
export interface Passing {
  target: ProviderTarget;
  origin: string;
  /** Tells the client of a failure, where nothing was answered yet; ends the answer where something was. */
  fail(error: unknown): void;
  /** The client of a WebSocket has its answer. */
  answered(): void;
}

/**
 * Watches a request to a provider until its answer begins: a connection, then the answer's head within the time that
 * the provider has for it, however many interim answers and pieces of a head it sends meanwhile. A provider that
 * changes to another protocol, or ends without an answer, has failed.
 */
export function watchRequest(proxyReq: ClientRequest, { target, fail }: Pick<Passing, 'target' | 'fail'>): void {
  const { first_byte, idle, connect } = target.config.timeouts;
  limitConnect(proxyReq, connect);
  if (proxyReq.socket) failWritesLate(proxyReq.socket);
  let headTimer: NodeJS.Timeout | undefined;
  let answered = false;
  const onSent = () => {
    if (!answered)
      headTimer = setTimeout(() => proxyReq.destroy(timedOut('no answer in time')), Math.max(first_byte, idle));
  };
  const onAnswer = () => {
    answered = true;
    clearTimeout(headTimer);
  };
  if (proxyReq.writableFinished) onSent();
  else proxyReq.once('finish', onSent);
  proxyReq.once('response', onAnswer);
  // Nothing was said for too long: http-proxy-middleware destroys the request, and its error would tell of a reset.
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

/** Limits the time until there is a connection, in milliseconds. */
export function limitConnect(proxyReq: ClientRequest, ms: number): void {
  const { socket } = proxyReq;
  if (!socket?.connecting) return;
  const timer = setTimeout(() => proxyReq.destroy(timedOut('no connection in time')), ms);
  const clear = () => clearTimeout(timer);
  socket.once('connect', clear);
  proxyReq.once('close', clear);
}

/** Writes the provider's answer: as it comes, or, where it is an error, once it is whole. */
export function passAnswer(answer: IncomingMessage, res: ServerResponse, passing: Passing): void {
  const { target } = passing;
  const status = answer.statusCode ?? 0;
  const headersTo = () => target.headersToClient(answer);
  orFail(answer, passing, () => {
    throwRefusal(status);
    if (status >= 400) {
      collectError(answer, passing, (body) => {
        const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
        res.writeHead(status, { ...headersTo(), ...length });
        endAnswer(res, body);
      });
      return;
    }
    const body = decodedBody(answer);
    const { trailer } = answer.headers;
    res.writeHead(status, { ...headersTo(), ...(trailer !== undefined && { trailer: target.mask.text(trailer) }) });
    res.flushHeaders();
    passBody(answer, body, { res, target });
  });
}

/** The body at the pace of its reader, without the credentials that the provider may quote in it. */
function passBody(
  answer: IncomingMessage,
  decoded: Readable,
  { res, target: { mask } }: { res: ServerResponse; target: ProviderTarget },
): void {
  const writer = new ClientWriter({ res }, decoded);
  const masked = new MaskedBody(mask);
  // Broken compression is no end of the body; what is broken otherwise, http-proxy-middleware sees.
  decoded.on('error', () => writer.cut());
  decoded.on('data', (chunk: Buffer) => writer.write(masked.push(chunk)));
  decoded.once('end', () => {
    writer.write(masked.end());
    res.addTrailers(trailersOf(answer, (value) => mask.text(value)));
    writer.end();
  });
}

/** @throws AttemptFailure for a status with which an answer is not passed on. */
export function throwRefusal(status: number): void {
  // It is about the operator's credential, not the client's.
  if (status === 401 || status === 403) {
    throw new AttemptFailure(`HTTP status ${status}`, { kind: 'refused', advice: 'never', status });
  }
  if (status < 200 || status > 599) throw brokenStream(`HTTP status ${status}, which is not valid`);
}

/** Reads an answer that is an error to its end, and blanks credentials in it. */
export function collectError(
  answer: IncomingMessage,
  { target, fail }: Pick<Passing, 'target' | 'fail'>,
  write: (body: Buffer) => void,
): void {
  const pieces: Buffer[] = [];
  let size = 0;
  const body = decodedBody(answer);
  const failed = (message: string) => {
    body.removeAllListeners().on('error', () => {});
    leave(answer);
    fail(brokenStream(message));
  };
  body.on('error', () => failed('the answer cannot be decompressed'));
  body.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_ERROR) failed(`the answer is larger than ${MAX_ERROR} bytes`);
    else pieces.push(chunk);
  });
  answer.once('aborted', () => failed('the connection broke in the middle of the answer'));
  body.once('end', () => {
    const whole = Buffer.concat(pieces);
    target.mask.apply(whole);
    write(whole);
  });
}

/**
 * The body of an answer as it was before it was compressed. What is broken is an `error` of the stream.
 * @throws AttemptFailure where nobody can look inside: an unknown coding, or a part of a compressed body.
 */
function decodedBody(answer: IncomingMessage & { req?: { method?: string } }): Readable {
  const { statusCode, headers, req } = answer;
  const isBodiless = statusCode === 204 || statusCode === 304 || headers['content-length'] === '0';
  const decoder = isBodiless || req?.method === 'HEAD' ? undefined : decoderOf(headers);
  if (!decoder) return answer;
  if (statusCode === 206) throw brokenStream(UNASKED);
  // The callback keeps a broken answer from being thrown; whoever reads the decoder gets its `error`.
  return pipeline(answer, decoder, () => {});
}

/** Reports what `pass` throws. Nobody catches what a listener throws: it would end the process. */
export function orFail(answer: IncomingMessage, { fail }: Pick<Passing, 'fail'>, pass: () => void): void {
  try {
    pass();
  } catch (error) {
    leave(answer);
    fail(error);
  }
}

/**
 * Ends an answer of which nothing was passed on. http-proxy-middleware begins to listen to it after this turn, and would
 * close the client's connection with it.
 */
function leave(answer: IncomingMessage): void {
  queueMicrotask(() =>
    answer
      .removeAllListeners()
      .on('error', () => {})
      .destroy(),
  );
}

/** Fields that no message may have after its body (RFC 9110, 6.5.1), and those that show who somebody is. */
const NO_TRAILER =
  /^(?:authorization|proxy-.*|x-api-key|api-key|cookie|set-cookie|host|connection|upgrade|trailer|te|transfer-encoding|content-(?:length|type|encoding|range)|cache-control|expect|max-forwards|pragma|range|if-.*|forwarded|x-forwarded-.*|x-real-ip|location|www-authenticate|retry-after)$/i;

/** The trailers of a message that go on; only those that its head announced. */
export function trailersOf(
  { headers, trailers }: IncomingMessage,
  clean: (value: string) => string = (value) => value,
): [string, string][] {
  const announced = new Set((headers.trailer ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.entries(trailers)
    .filter(([name]) => announced.has(name) && !NO_TRAILER.test(name))
    .map(([name, value]) => [name, clean(value ?? '')]);
}
