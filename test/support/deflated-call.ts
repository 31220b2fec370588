import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { deflateSync } from 'node:zlib';
import { collectedBody } from '../../src/upstream/transport/collected-body.ts';
import { ConnectionPool } from '../../src/upstream/transport/connection-pool.ts';
import { type AnswerHead, ProviderCall, type ReceiverControl } from '../../src/upstream/transport/provider-call.ts';

/** A worker that calls a server whose compressed answer comes in two packets, and posts the text that it got. */

const body = deflateSync('in two pieces '.repeat(20));
const server = createServer(async (_req, res) => {
  res.writeHead(200, { 'content-encoding': 'deflate', 'content-length': body.length });
  res.write(body.subarray(0, 9));
  await setTimeout(20);
  res.end(body.subarray(9));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
const pool = new ConnectionPool({ connections: 1, connectMs: 5000 });
const text = (bytes: Buffer) => bytes.toString();
const options = {
  receiver: (_head: AnswerHead, control: ReceiverControl<string>) =>
    collectedBody(control, { limit: 10_000, whole: text, tooLong: text, broken: ({ message }) => message }),
  unanswered: ({ message }: Error) => message,
  signal: new AbortController().signal,
};
const call = new ProviderCall<string>(options, { first_byte: 5000, idle: 5000 });
parentPort?.postMessage(await call.send(pool, { method: 'GET', origin, path: '/', headers: {}, body: null }));
await pool[Symbol.asyncDispose]();
server.close();
