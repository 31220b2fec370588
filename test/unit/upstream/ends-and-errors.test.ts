import assert from 'node:assert/strict';
import { SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { isStreamError, readFinishReason, readUsage } from '../../../src/upstream/provider-answer.ts';
import { AttemptFailure } from '../../../src/upstream/routing/attempt-failure.ts';
import { failureOfStreamError } from '../../../src/upstream/routing/failure-of-answer.ts';
import { WIRES } from '../../../src/upstream/wires/wires.ts';

describe('readFinishReason', () => {
  const words: Record<string, readonly string[]> = {
    stop: ['stop', 'STOP', 'eos', 'end_turn', 'stop_sequence', 'a word of tomorrow'],
    length: ['length', 'MAX_TOKENS', 'max-tokens', 'model_length', 'token limit', 'model_context_window_exceeded'],
    tool_calls: ['tool_calls', 'function_call', 'tool_use', 'TOOL_CALLS'],
    content_filter: ['content_filter', 'content-filter', 'SAFETY', 'BLOCKLIST', 'SPII', 'guardrail_intervened'],
    broken: ['error', 'abort', 'cancelled', 'canceled', 'MALFORMED_FUNCTION_CALL', 'internal_error', 'timeout'],
  };
  for (const [meaning, said] of Object.entries(words)) {
    it(`reads ${meaning} from the words of many providers`, () => {
      for (const word of said) assert.equal(readFinishReason(word), meaning, word);
    });
  }

  it('ignores empty values and non-strings', () => {
    for (const none of [null, undefined, '', 'null', 0, {}]) assert.equal(readFinishReason(none), undefined);
  });
});

describe('a call in which the provider stopped', () => {
  const text = '{"url": "https://b.exa';
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f' } };
  const chat = (end: string) => [
    { choices: [{ index: 0, delta: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: text } }] } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: end }] },
  ];
  const messages = (end: string) => [
    { type: 'message_start', message: {} },
    block,
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
    { type: 'message_delta', delta: { stop_reason: end } },
    { type: 'message_stop' },
  ];
  const responses = (reason: string) => {
    const output = [{ type: 'function_call', call_id: 'a', name: 'f', arguments: text }];
    return [{ object: 'response', status: 'incomplete', incomplete_details: { reason }, output }];
  };
  for (const [wire, payloads, meaning] of [
    ['chat', chat('length'), 'length'],
    ['chat', chat('content_filter'), 'content_filter'],
    ['messages', messages('max_tokens'), 'length'],
    ['messages', messages('refusal'), 'content_filter'],
    ['responses', responses('max_output_tokens'), 'length'],
    ['responses', responses('content_filter'), 'content_filter'],
  ] as const) {
    it(`is no call: ${meaning} over ${wire}`, () => {
      const reader = WIRES[wire].reader({ failureOf: () => assert.fail() });
      for (const payload of payloads) reader.accept({ ...payload });
      const { calls, reason } = reader.finish().turn;
      assert.deepEqual([calls, reason], [[], meaning]);
    });
  }
});

describe('an error inside a stream', () => {
  it('is recognised in many shapes', () => {
    for (const payload of [
      { error: { message: 'no' } },
      { error: 'no' },
      { object: 'error', message: 'no' },
      { type: 'error' },
      { message: 'no', code: 500 },
      { detail: [{ msg: 'no' }] },
      { base_resp: { status_code: 1002, status_msg: 'no' } },
      { success: false, errors: [{ code: 7009, message: 'no' }] },
      { errors: [{ message: 'no' }] },
      { error_code: 336, error_msg: 'no' },
      { errorMessage: 'no' },
    ]) {
      assert.ok(isStreamError(payload), JSON.stringify(payload));
    }
  });

  it('is no fault of the provider if it blames the request', () => {
    const codes = ['invalid_prompt', 'invalid_image_format', 'image_too_large', 'unsupported_image_media_type'];
    for (const error of [{ type: 'invalid_request_error' }, ...codes.map((code) => ({ code }))]) {
      const failure = failureOfStreamError({ error: { ...error, message: 'no' } }, new SecretMask([]));
      assert.deepEqual(
        [failure.kind, failure.advice, failure.unhealthy],
        ['refused', 'elsewhere', false],
        JSON.stringify(error),
      );
    }
    const broken = failureOfStreamError({ error: { code: 'server_error', message: 'down' } }, new SecretMask([]));
    assert.deepEqual([broken.kind, broken.advice, broken.unhealthy], ['failed', 'again', true]);
  });

  it('fails every wire, even beside an answer', () => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hello' }] };
    const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }];
    const answers = {
      chat: { choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }] },
      messages: { ...message, stop_reason: 'end_turn' },
      responses: { object: 'response', status: 'completed', output },
    };
    const read = (wire: keyof typeof WIRES, payload: object) => {
      const failureOf = (error: Record<string, unknown>) => failureOfStreamError(error, new SecretMask([]));
      const reader = WIRES[wire].reader({ failureOf });
      reader.accept({ ...payload });
      return reader.finish().turn.text;
    };
    for (const wire of ['chat', 'messages', 'responses'] as const) {
      assert.equal(read(wire, answers[wire]), 'hello', wire);
      assert.equal(read(wire, { ...answers[wire], error: null }), 'hello', wire);
      for (const error of [{ error: { message: 'down' } }, { base_resp: { status_code: 1002, status_msg: 'down' } }]) {
        for (const payload of [error, { ...answers[wire], ...error }]) {
          assert.throws(() => read(wire, payload), AttemptFailure, JSON.stringify(payload));
        }
      }
    }
  });

  it('is not seen in chunks with empty or unrelated fields of that name', () => {
    for (const payload of [
      { choices: [], error: null },
      { choices: [{ delta: {} }], error: {} },
      { choices: [{ delta: {} }], error: { message: '', code: 0 } },
      { choices: [{ delta: {} }], message: 'hello' },
      { usage: {}, detail: 'x' },
      { choices: [], base_resp: { status_code: 0 } },
      { id: 'x', errors: [], success: true },
    ]) {
      assert.ok(!isStreamError(payload), JSON.stringify(payload));
    }
  });
});

describe('readUsage', () => {
  it('reads counts as numbers or digits, and cache counts under every name', () => {
    const read = (usage: object) => {
      const found = readUsage(usage);
      return [found?.inputTokens, found?.cachedTokens, found?.cacheWriteTokens, found?.outputTokens];
    };
    assert.deepEqual(read({ prompt_tokens: '12', completion_tokens: '3' }), [12, 0, undefined, 3]);
    assert.deepEqual(
      read({
        prompt_tokens: 12,
        completion_tokens: 3,
        prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 },
      }),
      [12, 4, 5, 3],
    );
    const anthropic = { input_tokens: 2, cache_read_input_tokens: 4, cache_creation_input_tokens: 5, output_tokens: 3 };
    assert.deepEqual(read(anthropic), [11, 4, 5, 3]);
    assert.deepEqual(read({ prompt_tokens: 11, completion_tokens: 3, cache_read_input_tokens: 4 }), [
      11,
      4,
      undefined,
      3,
    ]);
    assert.equal(readUsage({ prompt_tokens: 'many', completion_tokens: null }), undefined);
  });
});

describe('objects that are no text', () => {
  it('are read as answers of any wire, and as errors', () => {
    const odd = { toString: 1, valueOf: 1 };
    const mask = new SecretMask([]);
    const payloads: Record<string, unknown>[] = [
      { error: { message: odd, code: odd, type: odd, status: odd } },
      { code: odd, message: odd, status: odd, status_code: odd },
      { error_code: odd, message: 'no' },
      { base_resp: { status_code: odd, status_msg: odd } },
      {
        choices: [{ index: odd, delta: { content: odd, role: odd }, finish_reason: odd }],
        usage: { total_tokens: odd },
      },
      {
        type: 'response.output_item.done',
        output_index: odd,
        item: { type: 'function_call', call_id: odd, name: odd },
      },
      {
        type: 'response.completed',
        response: { status: 'completed', output: [{ type: 'function_call', call_id: odd }] },
      },
      { type: 'content_block_start', index: odd, content_block: { type: 'tool_use', id: odd, name: odd, input: odd } },
      { type: 'error', error: { type: odd, message: odd } },
    ];
    for (const payload of payloads) {
      isStreamError(payload);
      for (const wire of Object.values(WIRES)) {
        try {
          const reader = wire.reader({ failureOf: (error) => failureOfStreamError(error, mask) });
          reader.accept(payload);
          reader.finish();
        } catch (failure) {
          assert.ok(failure instanceof AttemptFailure, String(failure));
        }
      }
    }
  });
});
