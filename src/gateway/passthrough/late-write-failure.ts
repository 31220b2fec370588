import type { Socket } from 'node:net';

/** How long to wait for the answer after a write has failed, in milliseconds. */
const READ_WINDOW_MS = 1000;

type Done = (error?: Error | null) => void;

/**
 * A provider may refuse an upload before it has read all of it, and close the connection. The next write fails while the
 * answer is still unread, and Node destroys a socket on its first failed write. This delays the failure until the answer
 * has been read.
 */
export function failWritesLate(socket: Socket): void {
  // Connections are reused.
  if (Object.hasOwn(socket, '_write')) return;
  const { _write: write, _writev: writeMany } = socket;
  const delayed = (done: Done): Done => {
    return (error) => {
      if (error && !socket.readableEnded && !socket.destroyed) onceRead(socket, () => done(error));
      else done(error);
    };
  };
  socket._write = (chunk, encoding, done) => write.call(socket, chunk, encoding, delayed(done));
  if (writeMany) socket._writev = (chunks, done) => writeMany.call(socket, chunks, delayed(done));
}

function onceRead(socket: Socket, action: () => void): void {
  const finish = () => {
    clearTimeout(timer);
    socket.off('end', finish).off('close', finish);
    action();
  };
  const timer = setTimeout(finish, READ_WINDOW_MS);
  socket.on('end', finish).on('close', finish);
}
