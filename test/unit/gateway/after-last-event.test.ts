import assert from 'node:assert/strict';
import { EventStream } from '../../../src/upstream/decoding/event-stream.ts';
import { framed, relay, TURN } from '../../support/relayed-stream.ts';

const MESSAGE = [
  { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];
const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }];
const RESPONSE = [
  { type: 'response.created', response: { id: 'r', object: 'response', status: 'in_progress', output: [] } },
  { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hello' },
  { type: 'response.completed', response: { id: 'r', object: 'response', status: 'completed', output } },
];

/** Whole streams, by the API. */
const WHOLE: readonly [api: string, text: string][] = [
  ['chat_completions', framed([...TURN, '[DONE]'])],
  ['chat_completions', `${framed(TURN)}data:[DONE]\n\n`],
  ['chat_completions', `${framed(TURN)}data:   [DONE]  \n\n`],
  ['chat_completions', `${framed(TURN)}data: [DONE]\r\n\r\n`],
  ['chat_completions', framed([...TURN, '[DONE]'], '\n')],
  ['messages', framed(MESSAGE)],
  ['responses', framed(RESPONSE)],
];
const MORE = [
  framed([{ error: { message: 'down' } }]),
  'event: error\ndata: down\n\n',
  framed([{ id: 'x', choices: [{ index: 0, delta: { content: 'more' } }] }]),
  framed(['{"broken', '{"broken']),
  framed(['plain words']),
  framed([`{"a":[${'1,'.repeat(600_000)}1]}`]),
  framed(Array.from({ length: 9 }, () => ({ type: 'ping' }))),
  '{"error":"down"}\n\n',
  'data: {"unfinished',
];

describe('what follows the last event of a stream', () => {
  for (const [api, text] of WHOLE) {
    const end = JSON.stringify(text.slice(-24));
    /** The last event and what follows in one packet, or parted behind, or inside, the last event. */
    const packets = (more: string) =>
      [text.length + more.length, text.length, text.length - 1, text.length - 5].map((at) =>
        [(text + more).slice(0, at), (text + more).slice(at)].map((piece) => Buffer.from(piece)),
      );

    it(`is not relayed to a client and fails nothing: ${api} ending with ${end}`, () => {
      for (const more of MORE) {
        for (const pieces of packets(more)) {
          for (const how of ['in order', 'cut'] as const) {
            const { written, result } = relay(pieces, how, false, { api });
            assert.equal(written, text, more.slice(0, 40));
            assert.ok(result.is === 'delivered' && !result.failure, more.slice(0, 40));
          }
        }
      }
    });

    if (api !== 'chat_completions') continue;
    it(`is not read in a turn: ${api} ending with ${end}`, () => {
      const read = (pieces: readonly Buffer[]) => {
        const stream = new EventStream();
        const payloads = pieces.flatMap((piece) => [...stream.feed(piece)]);
        return { payloads: [...payloads, ...stream.end()], done: stream.done };
      };
      const alone = read([Buffer.from(text)]);
      assert.ok(alone.done);
      // Without an empty line behind a line that is cut, names of events and bare lines belong to what is before them.
      const isUnparted = !/\n\r?\n$/.test(text);
      for (const more of MORE) {
        const whole = isUnparted && !more.startsWith('data:') ? packets(more).slice(0, 2) : packets(more);
        for (const pieces of whole) assert.deepEqual(read(pieces), alone, more.slice(0, 40));
      }
    });
  }

  it('is a part of the event only for a while', () => {
    const pieces = [`${framed(TURN)}data: [DONE]\n`, ...Array.from({ length: 1000 }, () => 'id: 1\n')];
    const { written, result } = relay(pieces.map((piece) => Buffer.from(piece)));
    assert.ok(result.is === 'delivered' && !result.failure);
    assert.ok(written.length < framed(TURN).length + 1000, `${written.length} characters`);
  });
});
