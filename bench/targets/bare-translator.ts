import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';

/**
 * The reference for research deltas: a chat stream translated to Responses events by eventsource-parser, a template
 * and one write per network chunk. No auth, no log, no store, nothing kept: about the limit of what Node can do.
 */
const upstream = process.argv[2] ?? '';
const dispatcher = new Agent({ connections: 256 });

const server = createServer((req, res) => {
  req.resume();
  req.on('end', () => void translate(res));
});

async function translate(res: import('node:http').ServerResponse): Promise<void> {
  const answer = await request(`${upstream}/chat/completions`, { method: 'POST', body: '{}', dispatcher });
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  let number = 0;
  let pending = '';
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') return;
      const delta = JSON.parse(data).choices[0]?.delta?.content;
      if (!delta) return;
      pending += `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${++number},"item_id":"msg_1","output_index":0,"content_index":0,"delta":${JSON.stringify(delta)}}\n\n`;
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of answer.body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    res.write(pending);
    pending = '';
  }
  res.end('event: response.completed\ndata: {"type":"response.completed"}\n\n');
}

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.on('SIGTERM', () => process.exit(0));
