import type { Socket } from 'node:net';

/** How long an answer is looked for once a write failed, in milliseconds. */
const LOOK_MS = 1000;

type Done = (error?: Error | null) => void;

/**
 * A provider may refuse an upload before it has read all of it, and close: then a write fails while the answer is still
 * to be read, and Node destroys a socket with its first failed write. Here a write fails once nothing more can be read.
 */
export function failWritesLate(socket: Socket): void {
  // Connections are used again.
  if (Object.hasOwn(socket, '_write')) return;
  const { _write: write, _writev: writeMany } = socket;
  const late = (done: Done): Done => {
    return (error) => {
      if (error && !socket.readableEnded && !socket.destroyed) whenRead(socket, () => done(error));
      else done(error);
    };
  };
  socket._write = (chunk, encoding, done) => write.call(socket, chunk, encoding, late(done));
  if (writeMany) socket._writev = (chunks, done) => writeMany.call(socket, chunks, late(done));
}

function whenRead(socket: Socket, action: () => void): void {
  const over = () => {
    clearTimeout(timer);
    socket.off('end', over).off('close', over);
    action();
  };
  const timer = setTimeout(over, LOOK_MS);
  socket.on('end', over).on('close', over);
}
