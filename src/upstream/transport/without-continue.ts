import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

const LETTER_H = 0x48;
/** The index of the status, after `HTTP/1.1 `, and the first digit of an interim status. */
const STATUS = 9;
const INTERIM = 0x31;
/** Complete `100 Continue` answers; incomplete ones are left to undici. */
const CONTINUE = /^(?:HTTP\/1\.[01] 100[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)+/;

/**
 * A connector that drops unexpected `100 Continue` answers, which a client must tolerate (RFC 9110, 15.2). undici closes
 * the connection on them (lib/dispatcher/client-h1.js, "bad response").
 */
export function withoutContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[1]) dropContinue(result[1]);
      callback(...result);
    });
}

/** Drops them only where the head of an answer must begin, after something was written: never inside a body. */
function dropContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  /** How many bytes were written when the last answer began. */
  let writtenAtAnswer = -1;
  socket.read = (size?: number) => {
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk) || chunk[0] !== LETTER_H) return chunk;
    const written = socket.bytesWritten;
    if (written === writtenAtAnswer) return chunk;
    const interim = chunk[STATUS] === INTERIM ? (CONTINUE.exec(chunk.toString('latin1'))?.[0].length ?? 0) : 0;
    if (interim < chunk.length) writtenAtAnswer = written;
    return interim === 0 ? chunk : interim < chunk.length ? chunk.subarray(interim) : socket.read(size);
  };
}
