import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { GatewayError } from '../base/errors.ts';
import { STATUS_CODES } from '../base/node-http.ts';
import { errorAnswer } from './errors.ts';

/**
 * Calls `work` once what is answered in this turn of the event loop has gone out (turn-end.ts): what is written to a
 * socket itself would overtake the answer to an earlier request.
 */
export function afterAnswers(work: () => void): void {
  setImmediate(() => setImmediate(work));
}

/** As `refuseOnSocket`, behind the answers to earlier requests. */
export function refuseAfterAnswers(socket: Duplex, error: GatewayError, options: { allow?: string } = {}): void {
  // It may break meanwhile, and nobody else listens any more.
  socket.on('error', () => socket.destroy());
  afterAnswers(() => {
    if (socket.writable) refuseOnSocket(socket, error, options);
    else socket.destroy();
  });
}

/** Answers on a socket that has no response object, and closes it. */
export function refuseOnSocket(socket: Duplex, error: GatewayError, options: { allow?: string } = {}): void {
  const { status, headers, body } = errorAnswer(error, options);
  const lines = Object.entries({
    ...headers,
    'x-request-id': randomUUID(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`);
  socket.once('finish', () => socket.destroy());
}
