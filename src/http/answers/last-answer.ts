import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long what the client still sends is read away, in milliseconds. */
const LINGER_MS = 1000;

/**
 * Makes an answer the last one of its connection. What the client is still sending is read away for a moment before
 * the connection is closed: closing it at once would reset it, and the client would lose the answer.
 */
export function closeAfter(req: IncomingMessage, res: ServerResponse): void {
  res.setHeader('connection', 'close');
  const { socket } = req;
  // Node calls it when the answer is out; without this it would destroy the connection.
  if (!req.complete) socket.destroySoon = () => linger(socket);
}

function linger(socket: Socket): void {
  // No parser any more: what comes is no request.
  socket.removeAllListeners('data').on('data', () => {});
  socket.resume();
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
