import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

const LETTER_H = 0x48;
/** Where the status begins, behind `HTTP/1.1 `, and what it begins with in an interim answer. */
const STATUS = 9;
const INTERIM = 0x31;
/** Interim answers that tell a client to go on; parts of them are left to undici. */
const CONTINUE = /^(?:HTTP\/1\.[01] 100[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)+/;

/**
 * Connections on which a `100 Continue` that nobody asked for says nothing (RFC 9110, 15.2: a client must bear it).
 * undici takes it for the end of the connection (lib/dispatcher/client-h1.js, "bad response").
 */
export function withoutContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...made) => {
      if (made[1]) dropContinue(made[1]);
      callback(...made);
    });
}

/** What comes first after something was written is the head of an answer; nothing in a body is left out. */
function dropContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  /** What was written when the last answer began, in bytes. */
  let answered = -1;
  socket.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk) || chunk[0] !== LETTER_H) return chunk;
    const written = socket.bytesWritten;
    if (written === answered) return chunk;
    const interim = chunk[STATUS] === INTERIM ? (CONTINUE.exec(chunk.toString('latin1'))?.[0].length ?? 0) : 0;
    if (interim < chunk.length) answered = written;
    return interim === 0 ? chunk : interim < chunk.length ? chunk.subarray(interim) : socket.read(size);
  };
}
