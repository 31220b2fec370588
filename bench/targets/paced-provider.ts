import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** A provider that sends each delta in a write of its own, so that each becomes an event of its own. */
const deltas = Number(process.argv[2] ?? 10_000);
/** `hold`: the last chunk never comes. */
const holds = process.argv[3] === 'hold';
const envelope = '"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench"';
const chunk = (delta: string, finish = 'null') =>
  `data: {${envelope},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;

const server = createServer((req, res) => {
  req.resume();
  req.on('end', () => void answer(res));
});

async function answer(res: ServerResponse): Promise<void> {
  res.socket?.setNoDelay(true);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let n = 0; n < deltas; n++) {
    res.write(chunk(`{"content":"word${n} "}`));
    // Two turns of the loop: the write reaches the socket before the next one is made.
    await setImmediate();
    if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  if (holds) return;
  res.write(chunk('{}', '"stop"'));
  res.end('data: [DONE]\n\n');
}

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
process.on('SIGTERM', () => process.exit(0));
