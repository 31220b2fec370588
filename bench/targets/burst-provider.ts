import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A provider that is faster than anything in front of it: it answers every chat completion with the same prepared
 * bytes. `DELTAS` chunks of a few words; whole turn in one write.
 */
const deltas = Number(process.argv[2] ?? 2000);
const envelope = '"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench"';
const chunk = (delta: string, finish = 'null') =>
  `data: {${envelope},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;
let text = chunk('{"role":"assistant","content":""}');
for (let n = 0; n < deltas; n++) text += chunk(`{"content":"word${n} "}`);
text += chunk('{}', '"stop"');
text += `data: {${envelope},"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":${deltas},"total_tokens":${deltas + 10}}}\n\n`;
const body = Buffer.from(`${text}data: [DONE]\n\n`);

const server = createServer((req, res) => {
  req.on('data', () => {});
  req.on('end', () => {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': body.length });
    res.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});
process.on('SIGTERM', () => process.exit(0));
