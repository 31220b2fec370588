import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../../base/node-http.ts';
import { brokenStream, timedOut } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import { MaskedFrames } from './masked-frames.ts';
import { collectError, limitConnect, orFail, type Passing, throwRefusal } from './passed-answer.ts';

/** A WebSocket on which nothing is said for so long is closed, in milliseconds. */
const SILENT_MS = 30 * 60_000;
/** One that takes nothing of what waits for it for so long is closed, in milliseconds. */
const STALLED_MS = 5 * 60_000;

/**
 * Headers of a handshake's answer, besides those of every answer. The other two are the gateway's own. No extension is
 * asked for: credentials in compressed messages would not be seen.
 */
const HANDSHAKE = ['sec-websocket-accept', 'sec-websocket-protocol'];

type Handshake = Pick<Passing, 'target' | 'fail' | 'answered'>;

/**
 * Watches a WebSocket that is passed on: its handshake has the time of any answer, both of its connections end
 * together, and one that is not used is closed.
 */
export function watchSocket(proxyReq: ClientRequest, socket: Socket, passing: Handshake): void {
  const { target } = passing;
  const { first_byte, idle, connect } = target.config.timeouts;
  const headTimer = setTimeout(() => proxyReq.destroy(timedOut('no answer in time')), connect + first_byte);
  const clear = () => clearTimeout(headTimer);
  proxyReq.once('close', clear);
  socket.once('close', () => proxyReq.destroy());
  proxyReq.once('socket', () => {
    limitConnect(proxyReq, connect);
    // http-proxy-middleware passes on what comes as it is, with the credentials in it.
    proxyReq.removeAllListeners('upgrade').once('upgrade', (answer, other: Socket, head) => {
      clear();
      passing.answered();
      writeHead(socket, 101, handshakeHeaders(answer, target));
      if (head.length > 0) other.unshift(head);
      join(socket, other, target);
    });
    proxyReq.removeAllListeners('response').once('response', (answer) => {
      clear();
      proxyReq.setTimeout(idle, () => proxyReq.destroy());
      answerInstead(answer, socket, passing);
    });
  });
}

/** Passes the frames of both sides on, until one of them ends. */
function join(socket: Socket, other: Socket, target: ProviderTarget): void {
  const frames = new MaskedFrames(target);
  other.setTimeout(0).setNoDelay(true).setKeepAlive(true);
  other.on('error', () => other.destroy());
  frames.on('error', () => other.destroy());
  socket.once('close', () => other.destroy());
  other.once('close', () => socket.destroySoon());
  if (socket.destroyed) other.destroy();
  other.pipe(frames).pipe(socket).pipe(other);
  // Who ends its half has gone, perhaps by now: not every provider ends its own then.
  if (socket.readableEnded) other.destroySoon();
  else socket.once('end', () => other.destroySoon());
  // Behind what its provider does not take, the end of a client is not heard.
  for (const end of [socket, other]) endWhenSilent(end);
}

/** The head of an upgraded connection, without the provider's own headers. */
function handshakeHeaders(answer: IncomingMessage, target: ProviderTarget): Record<string, string> {
  const headers: Record<string, string> = target.headersToClient(answer);
  for (const name of HANDSHAKE) {
    const value = answer.headers[name];
    if (value !== undefined) headers[name] = target.mask.text(String(value));
  }
  return { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
}

/** Writes the answer of a provider that opens no WebSocket, as any answer of it is written. */
function answerInstead(answer: IncomingMessage, socket: Socket, handshake: Handshake) {
  const { target, answered } = handshake;
  const status = answer.statusCode ?? 0;
  orFail(answer, handshake, () => {
    throwRefusal(status);
    if (status < 400) throw brokenStream(`HTTP status ${status} instead of a WebSocket`);
    collectError(answer, handshake, (body) => {
      answered();
      const headers = target.headersToClient(answer);
      writeHead(socket, status, { ...headers, 'content-length': String(body.length), connection: 'close' });
      socket.end(body, () => socket.destroy());
    });
  });
}

function writeHead(socket: Socket, status: number, headers: Readonly<Record<string, string>>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${lines.join('')}\r\n`, 'latin1');
}

/** Closes a connection that takes nothing, or on which nothing was said for long. Times in milliseconds. */
export function endWhenSilent(socket: Socket, { stalledMs = STALLED_MS, silentMs = SILENT_MS } = {}): void {
  let silentFor = 0;
  let seen = socket.bytesRead + socket.bytesWritten;
  socket.setTimeout(stalledMs).on('timeout', () => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    silentFor = bytes === seen ? silentFor + stalledMs : 0;
    seen = bytes;
    if (socket.writableLength > 0 || silentFor >= silentMs) socket.destroy();
    // The timer does not run again by itself.
    else socket.setTimeout(stalledMs);
  });
}
