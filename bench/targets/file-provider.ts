import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

/** A provider with files: takes uploads, gives `/size/<megabytes>`, and echoes what comes on a WebSocket. */
const MEGABYTE = Buffer.alloc(1024 * 1024, 'abcdefghijklmnopqrstuvwxyz012345');

function* megabytes(count: number): Generator<Buffer> {
  for (let n = 0; n < count; n += 1) yield MEGABYTE;
}

const server = createServer((req, res) => {
  if (req.method === 'POST') {
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ size })));
    return;
  }
  const count = Number(/\/size\/(\d+)/.exec(req.url ?? '')?.[1] ?? 1);
  res.writeHead(200, { 'content-length': count * MEGABYTE.length });
  Readable.from(megabytes(count)).pipe(res);
});
server.on('upgrade', (_, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
  socket.pipe(socket);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
process.on('SIGTERM', () => process.exit(0));
