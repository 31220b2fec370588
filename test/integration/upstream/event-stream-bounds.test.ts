import assert from 'node:assert/strict';
import { EventStream } from '../../../src/upstream/decoding/event-stream.ts';
import { TurnDecoder } from '../../../src/upstream/decoding/turn-decoder.ts';
import { brokenStream } from '../../../src/upstream/routing/attempt-failure.ts';
import { MessagesReader } from '../../../src/upstream/wires/messages/messages-reader.ts';
import { ResponsesReader } from '../../../src/upstream/wires/responses/responses-reader.ts';
import { tool } from '../../support/decode-turn.ts';
import { growsTooFast, isSlow, ownMs } from '../../support/fair-time.ts';

const MB = 1024 * 1024;
const bytes = (text: string) => Buffer.from(text);

describe('EventStream with hostile input', () => {
  it('does not collect blanks before the first frame', () => {
    const stream = new EventStream();
    const before = process.memoryUsage().rss;
    const chunk = bytes(' \r\n'.repeat(100_000));
    const ms = ownMs(() => {
      for (let n = 0; n < 100; n++) assert.deepEqual([...stream.feed(chunk)], []);
    });
    assert.ok(!isSlow(ms, 3000), `${ms} ms`);
    assert.ok(process.memoryUsage().rss - before < 100 * MB);
    assert.deepEqual([...stream.feed(bytes('data: {"a":1}\n\n'))], [{ a: 1 }]);
  });

  it('gives up a frame of many long lines quickly', () => {
    const stream = new EventStream();
    const line = `data: {"a":"${'x'.repeat(40_000)}"\n`;
    const ms = ownMs(() => {
      assert.throws(() => [...stream.feed(bytes(`${line.repeat(90)}\n`))], /a frame is not JSON/);
    });
    assert.ok(!isSlow(ms, 500), `${ms} ms`);
  });

  it('gives up a frame of very many lines at the first wrong or the last allowed one', () => {
    for (const line of ['data:\n', 'data: x\n', 'data: {\n']) {
      const stream = new EventStream();
      const ms = ownMs(() =>
        assert.throws(
          () => [...stream.feed(bytes(`data: {"a":1}\n\n${line.repeat(200_000)}\n`))],
          /a frame (?:is not JSON|is too long|holds too many values)/,
        ),
      );
      assert.ok(!isSlow(ms, 600), `${line} ${ms} ms`);
    }
  });

  it('refuses a frame of many small values', () => {
    for (const item of ['{},', '[],', '1,', '{"a":1},']) {
      const stream = new EventStream();
      const frame = `data: {"choices":[${item.repeat((3 * MB) / item.length)}1]}\n\n`;
      const ms = ownMs(() => assert.throws(() => [...stream.feed(bytes(frame))], /too many values/));
      assert.ok(!isSlow(ms, 500), `${item} ${ms} ms`);
    }
  });

  it('gives up after too many lines that are no events', () => {
    for (const line of ['x\n', '}\n\n', '\ufffd\r']) {
      const stream = new EventStream();
      assert.throws(() => [...stream.feed(bytes(`data: {"a":1}\n\n${line.repeat(3000)}`))], /no event stream/);
    }
    const stream = new EventStream();
    assert.deepEqual([...stream.feed(bytes(`${'x\n'.repeat(1500)}data: {"a":1}\n\n`))], [{ a: 1 }]);
  });

  it('reads a frame with a long text', () => {
    const stream = new EventStream();
    const text = '{"x":[1,2,3]}, \\" '.repeat(100_000);
    const payload = { choices: [{ delta: { content: text } }] };
    assert.deepEqual([...stream.feed(bytes(`data: ${JSON.stringify(payload)}\n\n`))], [payload]);
  });

  it('reads a frame, or a whole answer, that holds a picture, and gives up one that does not end', () => {
    const feed = (stream: EventStream, megabytes: number) =>
      Array.from({ length: megabytes }, () => [...stream.feed(bytes('x'.repeat(MB)))]).flat();
    for (const start of ['data: {"a":"', '{"a":"']) {
      const stream = new EventStream();
      stream.feed(bytes(start));
      assert.deepEqual(feed(stream, 31), []);
      const payloads = [...stream.feed(bytes('"}\n\n')), ...stream.end()];
      assert.deepEqual(payloads, [{ a: 'x'.repeat(31 * MB) }]);
      const endless = new EventStream();
      endless.feed(bytes(start));
      assert.throws(() => feed(endless, 33), /too long/);
    }
  });

  it('reads a line that arrives in small pieces in linear time', () => {
    const chunk = bytes('x'.repeat(16));
    const grows = growsTooFast((share) => () => {
      const stream = new EventStream();
      stream.feed(bytes('data: {"a":"'));
      for (let n = 0; n < (share * MB) / 16; n++) stream.feed(chunk);
    });
    assert.ok(!grows);
  });
});

describe('a turn of hostile size', () => {
  const options = { failureOf: () => brokenStream('an error') };
  const callOf = (name: string, args: string) => ({
    choices: [{ index: 0, delta: { tool_calls: [{ function: { name, arguments: args } }] } }],
  });

  it('fails if the arguments of its calls exceed the limit of an answer', () => {
    const decoder = new TurnDecoder(options);
    const piece = callOf('', 'x'.repeat(MB / 2));
    decoder.accept(callOf('search', '{"a":"'));
    assert.throws(() => {
      for (let n = 0; n < 33; n++) decoder.accept(piece);
    }, /does not end/);
    assert.ok(decoder.deltas.characters > MB, 'the characters received are counted');
  });

  it('fails if it repeats its text again and again', () => {
    const decoder = new TurnDecoder(options);
    const growing = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
    decoder.accept(growing('The log'));
    const piece = growing(`The log${' is kept'.repeat(MB / 8)}`);
    assert.throws(() => {
      for (let n = 0; n < 100; n++) decoder.accept(piece);
    }, /does not end/);
  });

  it('does not parse long arguments again for each chunk that repeats the name', () => {
    for (const end of ['', '"}', '"}x"']) {
      const decoder = new TurnDecoder(options);
      decoder.accept(callOf('search', `{"a":"${'x'.repeat(MB)}${end}`));
      const ms = ownMs(() => {
        for (let n = 0; n < 2000; n++) decoder.accept(callOf('search', ''));
      });
      assert.ok(!isSlow(ms, 400), `${end} ${ms} ms`);
    }
  });

  it('parses the input of a call once, and reads usage with many fields quickly', () => {
    const reader = new MessagesReader(options);
    const block = { type: 'tool_use', id: 'a', name: 'a', input: {} };
    const partial_json = `{"a":"${'x'.repeat(MB)}"}`;
    const usage = (letter: string) =>
      Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`${letter}${n}`, 1]));
    reader.accept({ type: 'message_start', message: { content: [], usage: { input_tokens: 3 } } });
    reader.accept({ type: 'content_block_start', index: 0, content_block: block });
    reader.accept({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } });
    const junk = usage('a');
    const ms = ownMs(() => {
      for (let n = 0; n < 500; n++) {
        reader.accept({ type: 'content_block_stop', index: 0 });
        assert.ok(reader.hasOutput);
      }
      reader.accept({ type: 'message_delta', usage: junk });
      for (let n = 0; n < 100; n++) assert.equal(reader.usage?.inputTokens, 3);
    });
    assert.ok(!isSlow(ms, 300), `${ms} ms`);
    reader.accept({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } });
    reader.accept({ type: 'message_stop' });
    const { turn } = reader.finish();
    assert.deepEqual([turn.calls[0]?.arguments.length, turn.usage?.outputTokens], [partial_json.length, 5]);
  });

  it('is searched for calls quickly if it is nothing but thoughts', () => {
    const decoder = new TurnDecoder({ ...options, tools: [tool('search')] });
    const reasoning = '```\n'.repeat(MB / 4);
    for (let n = 0; n < 15; n++) decoder.accept({ choices: [{ index: 0, delta: { reasoning } }] });
    decoder.accept({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    const ms = ownMs(() => decoder.finish());
    assert.ok(!isSlow(ms, 300), `${ms} ms`);
  });

  it('has each of its calls, however long, or fails', () => {
    const calls = (count: number, args: string) => {
      const chat = new TurnDecoder(options);
      for (let index = 0; index < count; index++) {
        const call = { index, id: `c${index}`, function: { name: 'a', arguments: args } };
        chat.accept({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
      }
      chat.accept({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
      return chat.finish().turn.calls;
    };
    assert.equal(calls(1000, '{}').length, 1000);
    const long = `{"a":"${'x'.repeat(3 * MB)}"}`;
    assert.equal(calls(1, long)[0]?.arguments, long);
    assert.throws(() => calls(5000, '{}'), /does not end/);
  });

  it('has no more written calls than a model means to make', () => {
    const written = (count: number) => {
      const decoder = new TurnDecoder({ ...options, tools: [tool('search')] });
      const content = `<tool_calls>${'<invoke name="search"></invoke>'.repeat(count)}</tool_calls>`;
      decoder.accept({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] });
      return decoder.finish().turn.calls.length;
    };
    assert.deepEqual([written(64), written(65), written(5000)], [64, 0, 0]);
  });

  it('fails if it has more images than an answer can have, whether or not they are kept', () => {
    const url = (n: number) => ({ image_url: { url: `data:image/png;base64,${n}` } });
    for (const takesImages of [true, false]) {
      const decoder = new TurnDecoder({ ...options, takesImages });
      const add = (n: number) => decoder.accept({ choices: [{ index: 0, delta: { images: [url(n), url(n)] } }] });
      for (let n = 0; n < 100; n++) add(n);
      assert.throws(() => add(100), /does not end/);
    }
  });

  it('fails if it has very many items or blocks, however small', () => {
    const responses = new ResponsesReader(options);
    assert.throws(() => {
      for (let n = 0; n < 10_000; n++)
        responses.accept({ type: 'response.output_item.done', output_index: n, item: { type: 'web_search_call' } });
    }, /does not end/);
    const messages = new MessagesReader(options);
    messages.accept({ type: 'message_start', message: {} });
    assert.throws(() => {
      for (let n = 0; n < 10_000; n++)
        messages.accept({ type: 'content_block_start', index: n, content_block: { type: 'text', text: '' } });
    }, /does not end/);
  });

  it('fails if its items, blocks or calls exceed the limit of an answer', () => {
    const item = { type: 'web_search_call', action: { query: 'x'.repeat(2 * MB) } };
    const responses = new ResponsesReader(options);
    const chat = new TurnDecoder(options);
    const messages = new MessagesReader(options);
    messages.accept({ type: 'message_start', message: {} });
    assert.throws(() => {
      for (let n = 0; n < 64; n++) responses.accept({ type: 'response.output_item.done', output_index: n, item });
    }, /does not end/);
    assert.throws(() => {
      for (let n = 0; n < 64; n++) messages.accept({ type: 'content_block_start', index: n, content_block: item });
    }, /does not end/);
    assert.throws(() => {
      const call = (n: number) => ({
        index: n,
        id: `c${n}`,
        function: { name: 'a', arguments: '{}' },
        extra_content: item,
      });
      for (let n = 0; n < 64; n++) chat.accept({ choices: [{ index: 0, delta: { tool_calls: [call(n)] } }] });
    }, /does not end/);
  });

  it('compares no endless list in a last event with what came before', () => {
    const message = (n: number) => ({ type: 'message', content: [{ type: 'output_text', text: `${n}` }] });
    const reader = new ResponsesReader(options);
    for (let n = 0; n < 1000; n++)
      reader.accept({ type: 'response.output_item.done', output_index: n, item: message(n) });
    const end = (output: unknown[]) =>
      reader.accept({ type: 'response.completed', response: { object: 'response', status: 'completed', output } });
    assert.throws(() => end(Array.from({ length: 20_000 }, () => message(999))), /does not end/);
    end(Array.from({ length: 1003 }, (_, n) => message(n % 1002)));
    const { turn } = reader.finish();
    assert.ok(turn.text.endsWith('99910001001'), turn.text.slice(-20));
  });

  it('takes absurd positions of items for none', () => {
    for (const output_index of [2 ** 53, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, -1, 0.5, Number.NaN]) {
      const reader = new ResponsesReader(options);
      const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'search', arguments: '{}' });
      for (const id of ['a', 'b', 'c'])
        reader.accept({ type: 'response.output_item.done', output_index, item: call(id) });
      reader.accept({ type: 'response.completed', response: { object: 'response', status: 'completed' } });
      assert.deepEqual(
        reader.finish().turn.calls.map(({ id }) => id),
        ['a', 'b', 'c'],
      );
    }
  });
});
