import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { isObject } from '../../src/base/json.ts';
import type { RunEvent } from '../../src/protocol/events.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import type { OutputItem } from '../../src/protocol/items.ts';
import { responseObject } from '../../src/protocol/response.ts';
import { clientGateway, KEY, MODEL, QUESTION } from '../support/client-gateway.ts';
import { addDelta } from '../support/python-deltas.ts';
import { patience } from '../support/time-limit.ts';

/** What the official Python SDK sends with every call, even without a body. */
const HEADERS = {
  accept: 'application/json',
  authorization: `Bearer ${KEY.main}`,
  'content-type': 'application/json',
  'user-agent': 'OpenAI/Python 3.0.0',
  'x-stainless-lang': 'python',
  'x-stainless-async': 'false',
  'x-stainless-retry-count': '0',
  'x-stainless-read-timeout': '600',
};

const RESEARCH = { model: MODEL.research, input: QUESTION };
const CHAT = { model: MODEL.research, messages: [{ role: 'user', content: QUESTION }] };

describe('requests as the official Python SDK sends them', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  const gateway = clientGateway();

  async function call(method: string, path: string, body?: object) {
    const answer = await fetch(gateway.baseURL + path, {
      method,
      headers: HEADERS,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  }

  async function respond(body: object) {
    const { status, text } = await call('POST', '/responses', body);
    assert.equal(status, 200, text);
    return responseObject.parse(JSON.parse(text));
  }

  it('get JSON without stream and SSE with stream: true, with the same Accept header', async () => {
    assert.equal((await respond(RESEARCH)).status, 'completed');
    const streamed = await call('POST', '/responses', { ...RESEARCH, stream: true });
    assert.match(streamed.type ?? '', /^text\/event-stream/);
  });

  it('get events that each refer to an item and a part that exist', async () => {
    const { text } = await call('POST', '/responses', { ...RESEARCH, stream: true });
    const events = decodeFrames(Buffer.from(text));
    const [created, ...later] = events;
    assert.ok(created?.type === 'response.created');
    const output: OutputItem[] = [...created.response.output];
    for (const event of later) accumulate(output, event);
    const last = later.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.deepEqual(
      output.map(({ id }) => id),
      last.response.output.map(({ id }) => id),
    );
    assert.deepEqual(output.at(-1), last.response.output.at(-1));
  });

  it('cancel by a POST with a content type and no body, and get output: []', async () => {
    const { id } = await respond({ ...RESEARCH, model: MODEL.slow, background: true });
    const { status, text } = await call('POST', `/responses/${id}/cancel`);
    assert.equal(status, 200);
    const cancelled = responseObject.strict().parse(JSON.parse(text));
    assert.deepEqual([cancelled.status, cancelled.output], ['cancelled', []]);
    assert.equal((await call('DELETE', `/responses/${id}`)).status, 200);
  });

  it('resume a stream with stream=true&starting_after', async () => {
    const { id } = await respond(RESEARCH);
    const { text } = await call('GET', `/responses/${id}?stream=true&starting_after=4`);
    assert.equal(decodeFrames(Buffer.from(text))[0]?.sequence_number, 5);
  });

  it('get no event with a top-level error, which would make the SDK throw and lose what follows', async () => {
    for (const model of [MODEL.broken, MODEL.cut]) {
      const { text } = await call('POST', '/responses', { model, input: QUESTION, stream: true });
      const events = decodeFrames(Buffer.from(text));
      assert.deepEqual(
        events.filter((event) => 'error' in event),
        [],
      );
      assert.equal(events.at(-1)?.type, 'response.failed');
    }
  });

  it('get chat chunks whose deltas add up to the message that is not streamed', async () => {
    const { text } = await call('POST', '/chat/completions', { ...CHAT, stream: true });
    const sum: Record<string, unknown> = {};
    for (const frame of text.split('\n\n')) {
      if (!frame.startsWith('data: {')) continue;
      const [choice] = JSON.parse(frame.slice(6)).choices;
      if (choice) addDelta(sum, choice.delta);
    }
    const whole = JSON.parse((await call('POST', '/chat/completions', CHAT)).text).choices[0].message;
    assert.equal(sum.content, whole.content);
    assert.ok(Array.isArray(sum.reasoning_steps));
    const kinds = (steps: unknown[]) => steps.map((step) => isObject(step) && [step.index, step.type]);
    assert.deepEqual(kinds(sum.reasoning_steps), kinds(whole.reasoning_steps));
  });

  it('get whole SSE frames in every chunk, for clients that parse each chunk alone', async () => {
    for (const [path, body] of [
      ['/responses', { ...RESEARCH, stream: true }],
      ['/chat/completions', { ...CHAT, stream: true }],
    ] as const) {
      const chunks = await rawChunks(new URL(gateway.baseURL + path), body);
      assert.ok(chunks.length > 2);
      for (const chunk of chunks) {
        assert.match(chunk, /^(event|data|): /);
        assert.ok(chunk.endsWith('\n\n'), chunk);
      }
    }
  });
});

/** What the SDK's helper does with an event; it throws if an item or a part is missing. */
function accumulate(output: OutputItem[], event: RunEvent): void {
  if (event.type === 'response.output_item.added') {
    assert.equal(event.output_index, output.length);
    output.push(structuredClone(event.item));
    return;
  }
  if (!('output_index' in event)) return;
  const item = output[event.output_index];
  assert.ok(item, `${event.type} has an item`);
  if (event.type === 'response.output_item.done') output[event.output_index] = event.item;
  if (!('item_id' in event)) return;
  assert.equal(event.item_id, item.id);
  assert.ok(item.type === 'message' || item.type === 'reasoning');
  if (!('content_index' in event)) return;
  if (event.type === 'response.content_part.added') {
    assert.equal(event.content_index, item.content.length);
    item.content = item.type === 'message' ? [outputPart(event.part)] : item.content.concat(reasoningPart(event.part));
    return;
  }
  const part = item.content[event.content_index];
  assert.ok(part && 'text' in part, `${event.type} has a part with text`);
  if ('delta' in event) part.text += event.delta;
  if (event.type === 'response.output_text.done') {
    assert.equal(event.text, part.text);
    assert.deepEqual(event.logprobs, []);
  }
}

type Part = Extract<RunEvent, { type: 'response.content_part.added' }>['part'];

function outputPart(part: Part) {
  assert.ok(part.type === 'output_text');
  return structuredClone(part);
}

function reasoningPart(part: Part) {
  assert.ok(part.type === 'reasoning_text');
  return structuredClone(part);
}

/** The HTTP chunks of a response, as they were framed on the wire. */
async function rawChunks(url: URL, body: object): Promise<string[]> {
  const socket = connect(Number(url.port), url.hostname);
  const content = JSON.stringify(body);
  const head = Object.entries({ ...HEADERS, host: url.host, connection: 'close', 'content-length': content.length });
  socket.write(`POST ${url.pathname} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  socket.write(content);
  const received = Buffer.concat(await Array.fromAsync(socket));
  let at = received.indexOf('\r\n\r\n') + 4;
  const chunks: string[] = [];
  for (;;) {
    const end = received.indexOf('\r\n', at);
    const size = Number.parseInt(received.toString('latin1', at, end), 16);
    if (!(size > 0)) return chunks;
    chunks.push(received.toString('utf8', end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
