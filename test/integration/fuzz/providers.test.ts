import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { SEARCH_PROVIDER_NAMES } from '../../../src/config/search-providers.ts';
import { lastReportedUsage } from '../../../src/gateway/answers/reported-usage.ts';
import { endsWithDoneText, findFlaw, lastPayloads } from '../../../src/gateway/streams/frames.ts';
import { usageAtEnd } from '../../../src/gateway/streams/stream-end.ts';
import { createSearchProvider } from '../../../src/tools/web-search/create-provider.ts';
import { SearchFailure } from '../../../src/tools/web-search/search-provider.ts';
import { EventStream } from '../../../src/upstream/decoding/event-stream.ts';
import { repairJson } from '../../../src/upstream/dialects/json-repair.ts';
import { AttemptFailure } from '../../../src/upstream/routing/attempt-failure.ts';
import { failureOfAnswer, failureOfStreamError } from '../../../src/upstream/routing/failure-of-answer.ts';
import { WIRES } from '../../../src/upstream/wires/wires.ts';
import { tool } from '../../support/decode-turn.ts';
import { type Boundary, fuzz, RUNS } from '../../support/fuzz.ts';
import { chunk } from '../../support/scripted-provider.ts';
import { shapes } from '../../support/scripted-search.ts';

const FOLDER = new URL('../../fixtures/providers/', import.meta.url);
const chatStreams = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => readFileSync(new URL(name, FOLDER)));

const frames = (payloads: readonly object[]) =>
  payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('');
const typed = (payloads: readonly ({ type: string } & Record<string, unknown>)[]) =>
  payloads.map((payload) => `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`).join('');

const responses = typed([
  { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'a', summary: [] } },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm.' },
  { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', id: 'a', encrypted_content: 'x' } },
  {
    type: 'response.output_item.added',
    output_index: 1,
    item: { type: 'function_call', name: 'a_tool', call_id: 'c' },
  },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"n":' },
  { type: 'response.output_text.delta', output_index: 2, content_index: 0, delta: 'Yes.' },
  { type: 'response.completed', response: { status: 'completed', usage: { input_tokens: 1, output_tokens: 2 } } },
]);
const messages = typed([
  { type: 'message_start', message: { role: 'assistant', content: [], usage: { input_tokens: 3 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'c', name: 'a_tool', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"n":' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]);

const SSE = [
  ...['data: ', 'data:', 'event: ', 'id: ', ': x\n', '\n\n', '\r\n\r\n', '\r', '[DONE]', 'data: [DONE]\n\n', '{', '}'],
  ...[
    '[',
    ']',
    '"',
    ',',
    ':',
    'null',
    '1e999',
    '-1',
    '"error":{"message":"no"}',
    '"choices":[',
    '"delta":{',
    '"usage":',
  ],
];
const CHAT = [
  ...SSE,
  ...['"content":"a"', '"tool_calls":[{"index":0,"function":{"name":"a_tool","arguments":"{"}}]', '"index":9e9'],
  frames([chunk({ content: 'a' })]),
  frames([chunk({ reasoning_content: 'a' })]),
  frames([chunk({ tool_calls: [{ index: 7, id: '', function: { name: 'a_tool', arguments: '{"a"' } }] })]),
  frames([chunk({}, 'tool_calls')]),
];
const MASK = new SecretMask([]);

/** Reads a stream in three chunks, as a turn does. */
function readTurn(wire: keyof typeof WIRES, bytes: Buffer): void {
  const stream = new EventStream();
  const reader = WIRES[wire].reader({
    failureOf: (payload) => failureOfStreamError(payload, MASK),
    tools: [tool('a_tool', { n: 'integer' }), tool('web_search', { query: 'string' })],
  });
  let emitted = 0;
  const collect = () => {
    for (const { delta } of reader.deltas.take()) emitted += delta.length;
  };
  const third = Math.floor(bytes.length / 3);
  for (const piece of [bytes.subarray(0, third), bytes.subarray(third, 2 * third), bytes.subarray(2 * third)]) {
    for (const payload of stream.feed(piece)) reader.accept(payload);
    collect();
  }
  for (const payload of stream.end()) reader.accept(payload);
  collect();
  const { parts } = reader.finish();
  for (const { delta } of parts) emitted += delta.length;
  assert.ok(emitted <= 4 * bytes.length + 1000, 'a turn emits no more than was sent');
}

const isFailure = (error: unknown) => error instanceof AttemptFailure;
const never = () => false;

const TOOL_CALLS = [
  ...[
    '<tool_call>',
    '</tool_call>',
    '<tools>',
    '{"name": "a_tool", "arguments": {"n": 1}}',
    '{"name":',
    '"arguments":',
  ],
  ...[
    '<function=a_tool>',
    '<parameter=n>',
    '</parameter>',
    '</function>',
    '<invoke name="a_tool">',
    '</invoke>',
    '<a_tool>',
  ],
  ...[
    '<n>1</n>',
    '</a_tool>',
    '<arg_key>',
    '</arg_key>',
    '<arg_value>',
    '</arg_value>',
    '```json\n',
    '```',
    '[TOOL_CALLS]',
  ],
  ...[
    '[ARGS]',
    '<|python_tag|>',
    '<|tool_calls_section_begin|>',
    '<|tool_call_begin|>',
    '<|tool_call_argument_begin|>',
  ],
  ...[
    '<|tool_call_end|>',
    '<|tool_calls_section_end|>',
    '<｜tool▁calls▁begin｜>',
    '<｜tool▁call▁begin｜>',
    '<｜tool▁sep｜>',
  ],
  ...[
    '<｜tool▁call▁end｜>',
    '<|channel|>',
    '<|message|>',
    '<|call|>',
    'to=functions.a_tool',
    '<think>',
    '</think>',
    '<|im_end|>',
  ],
  ...['a_tool', 'functions.a_tool:0', '{', '}', '[', ']', '"', "'", '\\', ' ', '\n', '<', '>', 'words '],
];

const FOUND = [{ url: 'https://a.example/b', title: 'A &amp; <b>B</b>', snippet: 'x &#39; y', date: '2024-03-05' }];
const SEARCH = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    'null',
    '1',
    '"results":',
    '"url":"https://a.example"',
    '"title":',
    '"content":',
  ],
  ...[
    '"items":',
    '"organic":',
    '"web":{',
    '"data":',
    '"error":',
    '"message":',
    '&#x110000;',
    '&lt;',
    '<b>',
    '<',
    'javascript:a',
  ],
  ...['"2 days ago"', '"2024-13-45"', '"-271821-04-21"', '"99999999 hours ago"', '" "', '\\u0000'],
];
const searches = SEARCH_PROVIDER_NAMES.filter((name) => name !== 'local');

/** Reads the bytes as an answer of each search service. */
async function readAnswers(bytes: Buffer): Promise<void> {
  const headers = { 'retry-after': bytes.toString('latin1', 0, 12).replace(/[^\x20-\x7e]/g, '') };
  for (const provider of searches) {
    for (const status of [200, 429]) {
      const fetch = async () => new Response(new Uint8Array(bytes), { status, headers });
      await using search = createSearchProvider(
        { provider, url: 'https://s.example', api_key: 'k', engine_id: 'e' },
        { fetch, now: () => 0 },
      );
      const query = { text: 'a', limit: 5, filters: { allowedDomains: [], blockedDomains: [] } };
      try {
        const { hits } = await search.search(query, { signal: new AbortController().signal });
        for (const { url, snippet, title } of hits) {
          assert.match(url, /^https?:/);
          assert.ok(`${title}${snippet}`.length <= 2 * bytes.length);
        }
      } catch (error) {
        if (!(error instanceof SearchFailure)) throw error;
        assert.ok(error.retryAfterMs === undefined || (error.retryAfterMs >= 0 && Number.isFinite(error.retryAfterMs)));
        assert.ok(error.message.length < 1000);
      }
    }
  }
}

const boundaries: Boundary[] = [
  {
    name: 'a chat completions stream',
    samples: chatStreams,
    pieces: CHAT,
    read: (bytes) => readTurn('chat', bytes),
    allows: isFailure,
  },
  {
    name: 'a Responses stream',
    samples: [responses],
    pieces: [...SSE, ...responses.split('\n')],
    read: (bytes) => readTurn('responses', bytes),
    allows: isFailure,
  },
  {
    name: 'a Messages stream',
    samples: [messages],
    pieces: [...SSE, ...messages.split('\n')],
    read: (bytes) => readTurn('messages', bytes),
    allows: isFailure,
  },
  {
    name: 'text with tool calls in it',
    samples: [
      '<tool_call>\n{"name": "a_tool", "arguments": {"n": 1}}\n</tool_call>',
      '<think>a</think><a_tool><n>1</n></a_tool>',
    ],
    pieces: TOOL_CALLS,
    read(bytes) {
      const text = bytes.toString();
      const pieces = [text.slice(0, 20), text.slice(20, 31), text.slice(31)];
      readTurn('chat', Buffer.from(frames([...pieces.map((content) => chunk({ content })), chunk({}, 'stop')])));
    },
    allows: isFailure,
  },
  {
    name: 'JSON to repair',
    samples: ['{"a": [1, 2, {"b": "c\\u0041"}], "d": null, // why\n e: \'x\'}', '{"a": "she said "no" twice"}'],
    pieces: [
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '“',
      '”',
      '`',
      ':',
      ',',
      '\\',
      '\\u',
      '/',
      '/*',
      '*/',
      '//',
      '-',
      '1',
      'e',
      '.',
      'true',
      'None',
      'a',
      ' ',
      '\n',
    ],
    read(bytes) {
      const text = bytes.toString();
      const repaired = repairJson(text);
      assert.ok(
        repaired === undefined || (repaired.end <= text.length && JSON.stringify(repaired.value) !== undefined),
      );
    },
    allows: never,
  },
  {
    name: 'a proxied stream',
    samples: chatStreams,
    pieces: CHAT,
    read(bytes) {
      const flaw = findFlaw(bytes, (payload) => 'error' in payload);
      if (flaw && 'end' in flaw) assert.ok(flaw.end <= bytes.length);
      const text = bytes.toString();
      endsWithDoneText(text);
      lastReportedUsage(text, 'chat_completions');
      usageAtEnd(text, { api: 'chat_completions', first: undefined });
      assert.ok(lastPayloads(text, 3).length <= 3);
    },
    allows: never,
  },
  {
    name: 'an answer of a search service',
    samples: Object.values(shapes).map((shape) => JSON.stringify(shape(FOUND))),
    pieces: SEARCH,
    read: readAnswers,
    allows: never,
    share: 0.5,
    // All services, twice each.
    maxMs: 400,
  },
  {
    name: "a provider's error",
    samples: [
      '{"error": {"message": "too many", "type": "x", "code": 429}}',
      '<html><title>502</title></html>',
      'try again in 7s',
    ],
    pieces: [
      '{"error":',
      '{"detail":',
      '"message":',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      'context length',
      ' tokens',
      'please wait 99999999s',
      'in 20ms',
      '<title>',
      '</title>',
      '<',
      '\n',
    ],
    read(bytes) {
      const headers = {
        'retry-after': bytes.toString('latin1', 0, 20),
        'retry-after-ms': bytes.toString('latin1', 20, 40),
      };
      for (const status of [400, 429, 500]) {
        const failure = failureOfAnswer({ status, headers, text: bytes.toString() }, MASK, 0);
        assert.ok(failure.message.length < 5000, `a message of ${failure.message.length} characters`);
        assert.ok(failure.retryAfterMs === undefined || failure.retryAfterMs >= 0, `waits ${failure.retryAfterMs}`);
      }
    },
    allows: never,
  },
];

describe('fuzzed answers of providers', () => {
  for (const boundary of boundaries) {
    it(`${boundary.name} is read within its time and memory limits`, () => fuzz(boundary)).timeout(
      220_000 + 1000 * RUNS,
    );
  }
});
