import assert from 'node:assert/strict';
import { SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { headerSecrets } from '../../../src/config/credential-places.ts';
import { backoffMs } from '../../../src/upstream/routing/backoff.ts';
import { saysContextLength } from '../../../src/upstream/routing/context-length.ts';
import { errorText, failureOfAnswer } from '../../../src/upstream/routing/failure-of-answer.ts';
import { blameOf } from '../../../src/upstream/routing/refusals.ts';
import { retryAfterMs } from '../../../src/upstream/routing/retry-after.ts';

const NONE = new SecretMask([]);

describe('context-length errors', () => {
  const wordings = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    '{"error":{"code":"context_length_exceeded"}}',
    'prompt is too long: 203456 tokens > 200000 maximum',
    'Input is too long for requested model.',
    'the request exceeds the available context size. try increasing the context size',
    '{"type":"exceed_context_size_error"}',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Range of input length should be [1, 30720]',
    'Please reduce the length of the messages or completion.',
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    'max_tokens must be at least 1, got -312.',
    "Requested token count exceeds the model's maximum context length of 32768 tokens.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
    'Total tokens of image and text exceed max message tokens',
    'context window exceeds limit (2013)',
    'Your request exceeded model token limit: 131072',
    'the model is loaded with context length of only 4096 tokens, which is not enough.',
    'length of prompt_tokens (40000) must be less than max_seq_len (32768).',
    'Prompt 超长',
    '输入内容超过模型最大上下文长度',
  ];
  for (const wording of wordings)
    it(`are recognised: ${wording.slice(0, 60)}`, () => assert.ok(saysContextLength(wording)));

  for (const other of [
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
    'Rate limit reached: too many tokens per minute',
    'Incorrect API key provided',
    "Unsupported parameter: 'temperature'",
    'The server had an error while processing your request',
  ]) {
    it(`are not seen in: ${other.slice(0, 60)}`, () => assert.ok(!saysContextLength(other)));
  }
});

describe('an error response', () => {
  it('is blamed on the route if it is an HTML page, not if it only mentions <html>', () => {
    assert.equal(blameOf(400, '<!DOCTYPE html><html><title>400 Bad Request</title></html>'), 'route');
    assert.equal(blameOf(400, 'a <html> in a text'), 'request');
  });

  const cases: [number, string, string, string][] = [
    [400, '{"error":{"message":"bad"}}', 'refused', 'elsewhere'],
    [400, '{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}', 'failed', 'again'],
    [400, '{"error":{"message":"unexpected tokens remaining in message header: []"}}', 'failed', 'again'],
    [400, '{"error":{"message":"prompt is too long"}}', 'context_length', 'elsewhere'],
    [401, '{}', 'refused', 'elsewhere'],
    [402, '{}', 'refused', 'elsewhere'],
    [404, 'no', 'refused', 'elsewhere'],
    [408, '', 'timeout', 'again'],
    [413, '', 'context_length', 'elsewhere'],
    [429, '', 'rate_limit', 'again'],
    [429, '{"error":{"code":"insufficient_quota"}}', 'rate_limit', 'elsewhere'],
    [429, '{"error":{"message":"Request too large for gpt-4o"}}', 'context_length', 'elsewhere'],
    [500, '', 'failed', 'again'],
    [500, 'the request exceeds the available context size', 'context_length', 'elsewhere'],
    [502, '<html>', 'failed', 'again'],
    [504, '', 'timeout', 'again'],
    [529, '', 'failed', 'again'],
    [307, '', 'refused', 'elsewhere'],
  ];
  for (const [status, text, kind, advice] of cases) {
    it(`${status} ${text}: ${kind}, try ${advice}`, () => {
      const failure = failureOfAnswer({ status, headers: {}, text }, NONE, 0);
      assert.deepEqual([failure.kind, failure.advice], [kind, advice]);
    });
  }

  it('is quoted by the message meant for people, whatever its shape', () => {
    const shapes = [
      '{"error":{"message":"no"}}',
      '{"error":"no"}',
      '{"object":"error","message":"no"}',
      '{"detail":[{"msg":"no"}]}',
      '[{"error":{"message":"no"}}]',
      '{"base_resp":{"status_msg":"no"}}',
      '<html><head><title>no</title></head></html>',
      'no',
    ];
    for (const shape of shapes) assert.equal(errorText(shape), 'no', shape);
  });

  it('keeps the codes of the provider, whatever its shape', () => {
    const shapes: [string, string[]][] = [
      ['{"error":{"code":"a","type":"b","message":"no"}}', ['a', 'b']],
      ['[{"error":{"code":400,"status":"INVALID_ARGUMENT"}}]', ['400', 'INVALID_ARGUMENT']],
      ['{"type":"error","error":{"type":"overloaded_error"}}', ['error', 'overloaded_error']],
      ['{"base_resp":{"status_code":1008,"status_msg":"no"}}', ['1008']],
      ['{"error":"no"}', []],
      ['no', []],
    ];
    for (const [text, codes] of shapes) {
      assert.deepEqual(failureOfAnswer({ status: 400, headers: {}, text }, NONE, 0).codes, codes, text);
    }
  });

  it('is stripped of credentials and of what looks like one, and truncated', () => {
    const mask = new SecretMask(['secret-of-mine', ...headerSecrets({ authorization: 'Basic dXNlcjpwYXNz' })]);
    const text = mask.cleanMessage(
      `secret-of-mine dXNlcjpwYXNz Bearer abcdefgh sk-proj-1234567890 sk-abc***********wxyz ${'x'.repeat(500)}`,
    );
    assert.ok(!/secret-of-mine|dXNlc|abcdefgh|1234567890|wxyz/.test(text), text);
    assert.ok(text.length <= 303);
  });
});

describe('retryAfterMs', () => {
  const cases: [string, Record<string, string>, number | undefined][] = [
    ['seconds', { 'retry-after': '3' }, 3000],
    ['a date', { 'retry-after': 'Thu, 01 Jan 1970 00:00:05 GMT' }, 4000],
    [
      "a date by the provider's clock",
      { date: 'Thu, 01 Jan 1970 02:00:00 GMT', 'retry-after': 'Thu, 01 Jan 1970 02:00:07 GMT' },
      7000,
    ],
    ['milliseconds before seconds', { 'retry-after': '3', 'retry-after-ms': '40' }, 40],
    ['nothing from nonsense', { 'retry-after': 'soon' }, undefined],
    ['nothing from a negative number', { 'retry-after': '-1' }, undefined],
    [
      'the reset of an exhausted limit',
      { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m2.5s' },
      62_500,
    ],
    [
      'nothing from the reset of a limit that is not exhausted',
      { 'x-ratelimit-remaining-tokens': '9', 'x-ratelimit-reset-tokens': '1m' },
      undefined,
    ],
  ];
  for (const [name, headers, expected] of cases) {
    it(`reads ${name}`, () => assert.equal(retryAfterMs(headers, 1000, true), expected));
  }
});

describe('backoffMs', () => {
  it('doubles up to its limit, with jitter between half and all of it', () => {
    const policy = { baseMs: 100, maxMs: 1000, patienceMs: 0 };
    assert.deepEqual(
      [1, 2, 3, 4, 5, 9].map((round) => backoffMs(policy, round, () => 1)),
      [100, 200, 400, 800, 1000, 1000],
    );
    assert.equal(
      backoffMs(policy, 1, () => 0),
      50,
    );
  });
});
