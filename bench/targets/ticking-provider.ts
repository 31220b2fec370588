import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A provider that sends every stream a delta at a steady rate, as models do. Each delta says when it was sent, in Unix
 * milliseconds with decimals: `@1700000000000.123 `. Arguments: deltas a second of one stream, deltas of one stream.
 */
const rate = Number(process.argv[2] ?? 20);
const deltas = Number(process.argv[3] ?? 200);
/** Streams are served in this many groups, so that they do not all speak at once. */
const GROUPS = 25;
const envelope = '"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench"';
const chunk = (delta: string, finish = 'null') =>
  `data: {${envelope},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;

const groups = Array.from({ length: GROUPS }, () => new Map<ServerResponse, number>());
let joined = 0;
let tick = 0;
setInterval(
  () => {
    for (const [stream, sent] of groups[tick++ % GROUPS] ?? []) speak(stream, sent);
  },
  1000 / rate / GROUPS,
);

function speak(stream: ServerResponse, sent: number): void {
  const group = groups.find((candidate) => candidate.has(stream));
  if (sent === deltas) {
    group?.delete(stream);
    stream.end(`${chunk('{}', '"stop"')}data: [DONE]\n\n`);
    return;
  }
  group?.set(stream, sent + 1);
  stream.write(chunk(`{"content":"@${(performance.timeOrigin + performance.now()).toFixed(3)} "}`));
}

const server = createServer((req, res) => {
  req.resume();
  req.on('end', () => {
    res.socket?.setNoDelay(true);
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const group = groups[joined++ % GROUPS];
    group?.set(res, 0);
    res.on('close', () => group?.delete(res));
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
process.on('SIGTERM', () => process.exit(0));
