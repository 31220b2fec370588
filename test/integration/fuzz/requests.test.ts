import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { GatewayError } from '../../../src/base/errors.ts';
import { tools as toolsSchema } from '../../../src/config/schema/tools.ts';
import { readYaml } from '../../../src/config/yaml/yaml-source.ts';
import { parseObject } from '../../../src/http/middleware/body.ts';
import { readQuery } from '../../../src/http/query.ts';
import { parseSubmission } from '../../../src/http/submission/parse-submission.ts';
import { requireExactMetadata } from '../../../src/protocol/requests/exact-numbers.ts';
import { topLevelSpans } from '../../../src/protocol/requests/json-spans.ts';
import { boundaryOf, formFields } from '../../../src/protocol/requests/multipart.ts';
import { getResponseQuery, listInputItemsQuery } from '../../../src/protocol/requests/queries.ts';
import { isPlainPath, normaliseTarget } from '../../../src/protocol/requests/request-target.ts';
import { createChatCompletionBody, createResponseBody } from '../../../src/protocol/requests/requests.ts';
import { type Boundary, fuzz, RUNS } from '../../support/fuzz.ts';

const JSON_PIECES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\',
    '\\u0041',
    '\\ud800',
    'null',
    'true',
    '1',
    '-',
    'e9',
    '1.5',
    ' ',
    '\n',
    '\t',
  ],
  ...[
    '"model":"deep"',
    '"input":',
    '"messages":',
    '"role":"user"',
    '"content":',
    '"type":',
    '"input_text"',
    '"metadata":',
  ],
  ...[
    '"tools":[',
    '"text":{"format":',
    '"__proto__":',
    '"constructor":',
    '"tool_calls":[',
    '"function_call"',
    '12345678901234567890',
  ],
];
const response =
  '{"model":"deep","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"metadata":{"n":1.5},"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}},"mcp_servers":[{"name":"a","url":"https://a.example"}]}';
const chat =
  '{"model":"deep","messages":[{"role":"system","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"user","content":"a"}],"stream_options":{"include_usage":true}}';

const isOurs = (error: unknown) => {
  if (!(error instanceof GatewayError)) return false;
  assert.ok(error.message.length < 2000, `a message of ${error.message.length} characters`);
  return [
    'invalid_json',
    'invalid_parameter',
    'missing_parameter',
    'unsupported_parameter',
    'invalid_request_target',
    'not_found',
    'conflicting_parameters',
  ].includes(error.code);
};
const never = () => false;
const TOOLS = toolsSchema.parse({});

const boundaries: Boundary[] = [
  {
    name: 'a body of POST /v1/responses',
    samples: [response],
    pieces: JSON_PIECES,
    read(raw) {
      const parsed = parseSubmission(createResponseBody, { raw, json: parseObject(raw) }, TOOLS);
      requireExactMetadata(raw);
      return parsed;
    },
    allows: isOurs,
  },
  {
    name: 'a body of POST /v1/chat/completions',
    samples: [chat],
    pieces: JSON_PIECES,
    read: (raw) => parseSubmission(createChatCompletionBody, { raw, json: parseObject(raw) }, TOOLS),
    allows: isOurs,
  },
  {
    name: 'the model field of a proxied body',
    samples: [response, chat, '{"model":"a","model":"b"}'],
    pieces: JSON_PIECES,
    read(raw) {
      const json = parseObject(raw);
      const spans = topLevelSpans(raw, 'model');
      assert.equal(spans.length > 0, Object.hasOwn(json, 'model'));
      const last = spans.at(-1);
      if (last) assert.deepEqual(JSON.parse(raw.toString('utf8', last.start, last.end)), json.model);
    },
    allows: isOurs,
  },
  {
    name: 'a multipart form',
    samples: [
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\0\r\n--b--\r\n',
    ],
    pieces: [
      '--b',
      '--',
      '\r\n',
      '\r\n\r\n',
      'Content-Disposition: form-data; ',
      'name="model"',
      'name=model',
      "filename*=utf-8''a",
      'filename="',
      '"',
      ';',
      ':',
      'gpt',
      '\\"',
    ],
    read(bytes) {
      const fields = formFields(bytes, 'b', 'model');
      let end = 0;
      for (const field of fields) {
        assert.ok(field.start >= end && field.end >= field.start && field.end <= bytes.length);
        assert.equal(bytes.toString('utf8', field.start, field.end), field.value);
        end = field.end;
      }
      boundaryOf(bytes.toString('latin1'));
    },
    allows: never,
  },
  {
    name: 'a query string',
    samples: ['/v1/responses?limit=20&after=resp_00000000-0000-4000-8000-000000000000&order=asc'],
    pieces: [
      '/v1/responses',
      '?',
      '&',
      '=',
      'limit',
      'after',
      'before',
      'order',
      'stream',
      'true',
      'asc',
      '%00',
      '%',
      '%ff',
      '+',
      '1',
      '-1',
      '1e3',
      '99999999999999999999',
      '[]',
    ],
    read(bytes) {
      const req = new IncomingMessage(new Socket());
      req.url = bytes.toString('latin1');
      const { limit } = readQuery(req, listInputItemsQuery);
      assert.ok(Number.isSafeInteger(limit) && limit >= 1 && limit <= 100);
      const { after } = readQuery(req, getResponseQuery);
      assert.ok(after === undefined || Number.isSafeInteger(after));
    },
    allows: isOurs,
  },
  {
    name: 'a request target',
    samples: ['/v1/embeddings?x=1', 'http://a.example/v1/models', '*'],
    pieces: [
      '/',
      '//',
      '.',
      '..',
      '/../',
      '%2e',
      '%2f',
      '%252e',
      '%5c',
      '\\',
      ';',
      ':',
      '@',
      '#',
      '?',
      'http://a',
      '/v1/',
      'embeddings',
      '%00',
      '\t',
      '[',
      ']',
      '|',
    ],
    read(bytes) {
      const target = normaliseTarget(bytes.toString('latin1'));
      if (target === '*') return;
      const path = target.split('?', 1)[0] ?? '';
      if (!isPlainPath(`/embeddings${path}`)) return;
      const { pathname, host } = new URL(`https://a.example/v1/embeddings${path}`);
      assert.equal(host, 'a.example');
      assert.ok(decodeURIComponent(pathname).startsWith('/v1/embeddings/'), pathname);
    },
    allows: isOurs,
  },
  {
    name: 'a configuration',
    samples: [
      'server: { port: 0 }\nproviders:\n  a: &x { base_url: "\x24{URL:-http://a}" }\n  b: *x\nkeys:\n  - id: a\n    secret: |\n      x\n',
    ],
    pieces: [
      'a:',
      '- ',
      '  ',
      '\n',
      '&x ',
      '*x',
      '{',
      '}',
      '[',
      ']',
      ',',
      '"',
      "'",
      '|\n',
      '>-\n',
      '<<: *x',
      '!!js/function',
      '!!binary ',
      '? ',
      '#',
      '---\n',
      '\x24{A}',
      '\x24{A:-',
      '$\x24{',
      '}',
      '%YAML 9',
    ],
    // The operator's own file may take longer.
    read: (bytes) => readYaml(bytes.toString('utf8', 0, 400), { A: 'a' }),
    maxMs: 1000,
    allows: never,
  },
];

describe('fuzzed requests and configurations', () => {
  for (const boundary of boundaries) {
    it(`${boundary.name} is read within its time and memory limits`, () => fuzz(boundary)).timeout(
      220_000 + 1000 * RUNS,
    );
  }
});
