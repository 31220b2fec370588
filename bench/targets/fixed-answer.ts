import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import express from 'express';

/** Bare Express that answers every request with the bytes of a file. */
const bytes = readFileSync(String(process.argv[2]));

const app = express();
app.disable('x-powered-by');
app.use((_req, res) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes);
});
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}`);
});
process.on('SIGTERM', () => process.exit(0));
