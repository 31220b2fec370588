import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider whose model calls a function, until a conversation has so many results; then it writes. Argument: how many. */
const calls = Number(process.argv[2] ?? 20);
const envelope = '"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench"';
const chunk = (delta: string, finish = 'null') =>
  `data: {${envelope},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
const DONE = 'data: [DONE]\n\n';

function answerTo(results: number): string {
  if (results >= calls) return chunk('{"content":"Done."}') + chunk('{}', '"stop"') + DONE;
  const call = `{"index":0,"id":"call_${results}","type":"function","function":{"name":"look_up","arguments":""}}`;
  const pieces = ['{\\"n\\":', `${results}`, '}'].map((piece) =>
    chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"${piece}"}}]}`),
  );
  return chunk(`{"tool_calls":[${call}]}`) + pieces.join('') + chunk('{}', '"tool_calls"') + DONE;
}

const server = createServer(async (req, res) => {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part);
  const results = Buffer.concat(parts).toString().split('"role":"tool"').length - 1;
  res.writeHead(200, { 'content-type': 'text/event-stream' }).end(answerTo(results));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
process.on('SIGTERM', () => process.exit(0));
