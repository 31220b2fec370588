import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { GatewayError } from '../base/errors.ts';
import { afterTurnEnd } from '../base/load/turn-end.ts';
import { STATUS_CODES } from '../base/node/node-http.ts';
import { errorAnswer } from './errors.ts';

/** Like `refuseOnSocket`, but after the answers to earlier requests of this turn have been written. */
export function refuseAfterAnswers(socket: Duplex, error: GatewayError, options: { allow?: string } = {}): void {
  afterTurnEnd(() => {
    if (socket.writable) refuseOnSocket(socket, error, options);
    else socket.destroy();
  });
}

/** Writes an error to a socket without a response object, and closes it. */
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
