import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../../base/node/node-http.ts';
import { brokenStream, timedOut } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import { MaskedFrames } from './masked-frames.ts';
import { checkStatus, collectError, failOnThrow, limitConnect, type ProxyContext } from './relay-answer.ts';

/** A WebSocket that has been silent for this long is closed, in milliseconds. */
const SILENT_MS = 30 * 60_000;
/** A WebSocket whose peer reads nothing of what is queued for this long is closed, in milliseconds. */
const STALLED_MS = 5 * 60_000;

/**
 * Headers of a handshake that are relayed besides those of every answer. `Connection` and `Upgrade` are the gateway's own.
 * No extension is offered to the provider, because credentials in compressed messages could not be masked.
 */
const HANDSHAKE_HEADERS = ['sec-websocket-accept', 'sec-websocket-protocol'];

type Handshake = Pick<ProxyContext, 'target' | 'fail' | 'onAnswered'>;

/**
 * Proxies a WebSocket: the handshake has the time limits of any answer, both connections end together, and an unused one
 * is closed.
 */
export function watchSocket(proxyReq: ClientRequest, socket: Socket, context: Handshake): void {
  const { target } = context;
  const { first_byte, connect } = target.config.timeouts;
  const headTimer = setTimeout(() => proxyReq.destroy(timedOut('no answer in time')), connect + first_byte);
  const clear = () => clearTimeout(headTimer);
  proxyReq.once('close', clear);
  socket.once('close', () => proxyReq.destroy());
  proxyReq.once('socket', () => {
    limitConnect(proxyReq, connect);
    // http-proxy-middleware would relay frames with the credentials in them.
    proxyReq.removeAllListeners('upgrade').once('upgrade', (answer, upstream: Socket, head) => {
      clear();
      context.onAnswered?.();
      writeHead(socket, 101, handshakeHeaders(answer, target));
      if (head.length > 0) upstream.unshift(head);
      pipeBothWays(socket, upstream, target);
    });
    proxyReq.removeAllListeners('response').once('response', (answer) => {
      clear();
      relayErrorAnswer(answer, socket, context);
    });
  });
}

/** Relays frames in both directions until either side ends. */
function pipeBothWays(socket: Socket, upstream: Socket, target: ProviderTarget): void {
  const frames = new MaskedFrames(target);
  upstream.setTimeout(0).setNoDelay(true).setKeepAlive(true);
  upstream.on('error', () => upstream.destroy());
  frames.on('error', () => upstream.destroy());
  socket.once('close', () => upstream.destroy());
  upstream.once('close', () => socket.destroySoon());
  if (socket.destroyed) upstream.destroy();
  upstream.pipe(frames).pipe(socket).pipe(upstream);
  // A client that ends its half is gone, perhaps already; not every provider ends its own half then.
  if (socket.readableEnded) upstream.destroySoon();
  else socket.once('end', () => upstream.destroySoon());
  // While the provider does not read, the end of the client's half goes unnoticed.
  for (const side of [socket, upstream]) closeWhenSilent(side);
}

/** The head of an upgraded connection, without the provider's own headers. */
function handshakeHeaders(answer: IncomingMessage, target: ProviderTarget): Record<string, string> {
  const headers: Record<string, string> = target.headersToClient(answer);
  for (const name of HANDSHAKE_HEADERS) {
    const value = answer.headers[name];
    if (value !== undefined) headers[name] = target.mask.maskText(String(value));
  }
  return { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
}

/** Relays the answer of a provider that refused the WebSocket. */
function relayErrorAnswer(answer: IncomingMessage, socket: Socket, handshake: Handshake) {
  const { target, onAnswered } = handshake;
  const status = answer.statusCode ?? 0;
  failOnThrow(answer, handshake, () => {
    checkStatus(status);
    if (status < 400) throw brokenStream(`HTTP status ${status} instead of a WebSocket`);
    collectError(answer, handshake, (body) => {
      onAnswered?.();
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

/** Closes a connection whose peer reads nothing, or that has been silent for long. Times in milliseconds. */
export function closeWhenSilent(socket: Socket, { stalledMs = STALLED_MS, silentMs = SILENT_MS } = {}): void {
  let silentFor = 0;
  let lastBytes = socket.bytesRead + socket.bytesWritten;
  socket.setTimeout(stalledMs).on('timeout', () => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    silentFor = bytes === lastBytes ? silentFor + stalledMs : 0;
    lastBytes = bytes;
    if (socket.writableLength > 0 || silentFor >= silentMs) socket.destroy();
    // The timer does not restart by itself.
    else socket.setTimeout(stalledMs);
  });
}
