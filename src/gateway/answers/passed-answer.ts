import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import { ClientWriter, endAnswer } from '../client-writer.ts';
import { failWritesLate } from '../late-write-failure.ts';
import { decodedBody, decodedHeaders } from './decoded-body.ts';

/** The longest error of a provider that is passed on, in bytes. */
const MAX_ERROR = 1024 * 1024;

const CODED = 'a content coding that was not asked for';

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
      headTimer = setTimeout(() => proxyReq.destroy(late('no answer in time')), Math.max(first_byte, idle));
  };
  const onAnswer = () => {
    answered = true;
    clearTimeout(headTimer);
  };
  if (proxyReq.writableFinished) onSent();
  else proxyReq.once('finish', onSent);
  proxyReq.once('response', onAnswer);
  // Nothing was said for too long: http-proxy-middleware destroys the request, and its error would tell of a reset.
  proxyReq.once('timeout', () => fail(late('nothing came in time')));
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
  const timer = setTimeout(() => proxyReq.destroy(late('no connection in time')), ms);
  const clear = () => clearTimeout(timer);
  socket.once('connect', clear);
  proxyReq.once('close', clear);
}

/** The failure of a provider that took too long. */
export function late(message: string): AttemptFailure {
  return new AttemptFailure(message, { kind: 'timeout', advice: 'again', unhealthy: true });
}

/** Writes the provider's answer: as it comes, or, where it tells of an error, without the credentials it may quote. */
export function passAnswer(answer: IncomingMessage, res: ServerResponse, { target, fail }: Passing): void {
  const status = answer.statusCode ?? 0;
  const refusal = refusalOf(status);
  if (refusal) {
    fail(refusal);
    leave(answer);
    return;
  }
  const headers = decodedHeaders(target.headersToClient({ status, headers: answer.headers }));
  if (status >= 400) {
    const write = (body: Buffer) => {
      const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
      res.writeHead(status, { ...headers, ...length });
      endAnswer(res, body);
    };
    collectError(answer, { target, fail, write });
    return;
  }
  const body = decodedBody(answer);
  if (!body) {
    fail(brokenStream(CODED));
    leave(answer);
    return;
  }
  if (answer.headers.trailer !== undefined) headers.trailer = target.mask.text(answer.headers.trailer);
  res.writeHead(status, headers);
  res.flushHeaders();
  passBody(answer, body, { res, target });
}

/** The body at the pace of its reader, without the credentials that the provider may quote in it. */
function passBody(
  answer: IncomingMessage,
  decoded: Readable,
  { res, target: { mask } }: { res: ServerResponse; target: ProviderTarget },
): void {
  const writer = new ClientWriter(res, decoded);
  /** What may be the start of a credential that goes on in what follows. */
  let held: Buffer = Buffer.alloc(0);
  // Broken compression is no end of the body; what is broken otherwise, http-proxy-middleware sees.
  decoded.on('error', () => writer.cut());
  decoded.on('data', (chunk: Buffer) => {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    mask.apply(bytes);
    const safe = bytes.length - mask.unfinished(bytes);
    held = bytes.subarray(safe);
    writer.write(bytes.subarray(0, safe));
  });
  decoded.once('end', () => {
    writer.write(held);
    res.addTrailers(trailersOf(answer, (value) => mask.text(value)));
    writer.end();
  });
}

/** Why an answer with this status is not passed on; undefined where it is. */
export function refusalOf(status: number): AttemptFailure | undefined {
  // It tells of the operator's credential, not of the client's.
  if (status === 401 || status === 403) {
    return new AttemptFailure(`HTTP status ${status}`, { kind: 'refused', advice: 'never', status });
  }
  return status >= 200 && status <= 599 ? undefined : brokenStream(`HTTP status ${status}, which is not valid`);
}

/** Reads an answer that tells of an error to its end, and blanks credentials in it. */
export function collectError(
  answer: IncomingMessage,
  { target, fail, write }: Pick<Passing, 'target' | 'fail'> & { write(body: Buffer): void },
): void {
  const pieces: Buffer[] = [];
  let size = 0;
  const failed = (message: string) => {
    body?.removeAllListeners().on('error', () => {});
    leave(answer);
    fail(brokenStream(message));
  };
  const body = decodedBody(answer);
  if (!body) {
    failed(CODED);
    return;
  }
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
