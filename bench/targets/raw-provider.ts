import { type AddressInfo, createServer } from 'node:net';

/**
 * A provider far faster than any proxy: it reads no more of HTTP than where a request ends, and answers with prepared
 * bytes: a completion, or, where the body asks for a stream, a burst of `EVENTS` chunks.
 */
const events = Number(process.argv[2] ?? 200);

const completion = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(80).trim() },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 80, total_tokens: 100 },
});
const whole = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${completion.length}\r\n\r\n${completion}`,
);

const envelope = '"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench"';
const frame = (delta: string, finish: string) =>
  `data: {${envelope},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;
const frames = [frame('{"role":"assistant","content":""}', 'null')];
for (let n = 0; n < events - 4; n++) frames.push(frame(`{"content":"word${n} "}`, 'null'));
frames.push(frame('{}', '"stop"'));
frames.push(
  `data: {${envelope},"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":200,"total_tokens":220}}\n\n`,
);
frames.push('data: [DONE]\n\n');
const chunked = frames.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('');
const burst = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunked}0\r\n\r\n`,
);

/** Where the request ends whose head ends at `head`. */
function endOf(pending: string, head: number): number {
  const length = /content-length: (\d+)/i.exec(pending.slice(0, head))?.[1];
  if (length !== undefined) return head + 4 + Number(length);
  if (!/transfer-encoding: chunked/i.test(pending.slice(0, head))) return head + 4;
  const last = pending.indexOf('\r\n0\r\n\r\n', head);
  return last === -1 ? Number.POSITIVE_INFINITY : last + 7;
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending = '';
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    pending += bytes.toString('latin1');
    for (;;) {
      const head = pending.indexOf('\r\n\r\n');
      if (head === -1) return;
      const end = endOf(pending, head);
      if (pending.length < end) return;
      const isStream = pending.slice(head, end).includes('"stream":true');
      pending = pending.slice(end);
      socket.write(isStream ? burst : whole);
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}/v1`);
});
process.on('SIGTERM', () => process.exit(0));
