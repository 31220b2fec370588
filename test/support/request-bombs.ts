import { schemaBombs } from './schema-bombs.ts';

/** A request that is crafted to be expensive for the gateway, as sent over the wire. */
export interface RequestBomb {
  name: string;
  method?: string;
  path: string;
  body?: string;
  headers?: Record<string, string>;
  /** Pieces instead of a body, sent chunked. */
  chunks?: () => Iterable<string>;
}

const MB = 1_000_000;
const fill = (item: string, bytes: number) => item.repeat(Math.floor(bytes / item.length));
const post = (name: string, path: string, body: string): RequestBomb => ({ name, path, body });
const part = '{"type":"nonsense"},';

/** Complete answers of the largest size that is read as a whole. */
export function answerBombs(): { name: string; status?: number; expected?: number; body: string }[] {
  const answer = (values: string) =>
    `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"x":${values}}`;
  const deep = `${'['.repeat(490_000)}${']'.repeat(490_000)}`;
  return [
    { name: 'lists in lists', body: answer(deep) },
    { name: 'objects', body: answer(`[${fill('{},', 0.99 * MB)}1]`) },
    { name: 'members', body: answer(`{${Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join()}}`) },
    { name: 'an error of lists in lists', expected: 502, body: `{"error":{"message":${deep}}}` },
    { name: 'a refusal of lists in lists', status: 400, expected: 400, body: `{"error":{"message":${deep}}}` },
  ];
}

/** Bombs against every endpoint, all within the limit of a body. */
export function requestBombs(): RequestBomb[] {
  const bad = (field: string, value: string) => `{"model":"deep","background":true,"${field}":${value}}`;
  const question = JSON.stringify('Where is the harbour? '.repeat(420_000));
  return [
    post('metadata of half a million numbers', '/v1/vector_stores', `{"metadata":{"a":[${'0.1,'.repeat(499_000)}1]}}`),
    { name: 'a path of slashes', path: `/v1/${'/'.repeat(8000)}x` },
    { name: 'a path of dots', path: `/v1/embeddings/${'./'.repeat(4000)}` },
    { name: 'a path of escapes', path: `/v1/embeddings/${'%25'.repeat(2700)}` },
    { name: 'a path of models', path: `/v1/models/${'a/'.repeat(4000)}` },
    { name: 'a query of names', path: `/v1/responses?${'a=1&'.repeat(2000)}` },
    post('900 000 bad parts', '/v1/responses', bad('input', `[{"role":"user","content":[${fill(part, 9 * MB)}1]}]`)),
    post(
      'bad parts within the bounds',
      '/v1/responses',
      bad('input', `[{"role":"user","content":[${part.repeat(999)}1]}]`),
    ),
    post('ten thousand bad items', '/v1/responses', bad('input', `[${'{"role":7,"content":[7]},'.repeat(9999)}1]`)),
    post('three million objects', '/v1/responses', bad('input', `[${fill('{},', 9 * MB)}1]`)),
    post('millions of numbers', '/v1/embeddings', `{"model":"fast","input":[${fill('1,', 9 * MB)}1]}`),
    post('numbers within the bounds', '/v1/embeddings', `{"model":"fast","input":[${'1.5,'.repeat(999_000)}1]}`),
    post('lists in lists', '/v1/responses', bad('input', fill(`${'['.repeat(200)}${']'.repeat(200)},`, 9 * MB))),
    post(
      'members',
      '/v1/responses',
      bad('metadata', `{${Array.from({ length: 190_000 }, (_, n) => `"k${n}":1`).join()}}`),
    ),
    post('a long number', '/v1/responses', `{"model":"deep","input":"a","metadata":{"n":1${'0'.repeat(9 * MB)}1}}`),
    post('a question of nine megabytes', '/v1/responses', bad('input', question)),
    post(
      'the same question as a chat',
      '/v1/chat/completions',
      `{"model":"fast","messages":[{"role":"user","content":${question}}]}`,
    ),
    post('tools', '/v1/responses', bad('input', `"a","tools":[${fill('{"type":"x"},', 4 * MB)}1]`)),
    post(
      'headers of an MCP server',
      '/v1/responses',
      bad(
        'input',
        `"a","mcp_servers":[{"name":"a","url":"https://a.example","headers":{${Array.from({ length: 90_000 }, (_, n) => `"h${n}":"x"`).join()}}}]`,
      ),
    ),
    post('escapes', '/v1/responses', bad('input', `"${'\\u0041'.repeat(1_500_000)}"`)),
    {
      name: 'a form of parts',
      path: '/v1/audio/transcriptions',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: fill('--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n', 9 * MB),
    },
    {
      name: 'chunks of one byte',
      path: '/v1/responses',
      chunks: function* () {
        for (let n = 0; n < 100; n++) yield '1\r\nx\r\n'.repeat(20_000);
      },
    },
    ...schemaBombs().map(({ name, schema }) =>
      post(
        `schema: ${name}`,
        '/v1/responses',
        JSON.stringify({
          model: 'deep',
          background: true,
          input: 'a',
          text: { format: { type: 'json_schema', name: 'a', schema } },
        }),
      ),
    ),
  ];
}

/** Streams of a provider that are crafted to block their reader, as bytes. */
export function streamBombs(): { name: string; body: string }[] {
  const delta = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  return [
    { name: 'comment lines', body: `${': x\r\n'.repeat(200_000)}event: x\r\n\r\n${end}` },
    { name: 'blanks', body: `${' \r\n'.repeat(1_000_000)}${end}` },
    { name: 'a frame of objects', body: `data: {"choices":[${fill('{},', 3 * MB)}1]}\n\n${end}` },
    { name: 'many frames of objects', body: `${`data: {"choices":[${'{},'.repeat(5000)}1]}\n\n`.repeat(200)}${end}` },
    { name: 'a frame over many lines', body: `${`data: {"a":"${'x'.repeat(30_000)}"\n`.repeat(99)}\n${end}` },
    {
      name: 'a tool call of spaces',
      body: `${delta(`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>${' '.repeat(200_000)}`)}${end}`,
    },
    { name: 'a Mistral call of spaces', body: `${delta(`[TOOL_CALLS] a${' '.repeat(200_000)}`)}${end}` },
    {
      name: 'a Kimi call of spaces',
      body: `${delta(`<|tool_calls_section_begin|><|tool_call_begin|> ${' '.repeat(200_000)}`)}${end}`,
    },
    { name: 'tags', body: `${delta(`<tool_call>${'<a><b>'.repeat(40_000)}`)}${end}` },
    { name: 'think tags', body: `${delta('<think>'.repeat(40_000))}${end}` },
    { name: 'open brackets', body: `${delta('['.repeat(200_000))}${delta('https://'.repeat(40_000))}${end}` },
    { name: 'code fences', body: `${delta('```json\n{"a":'.repeat(20_000))}${end}` },
    {
      name: 'JSON to repair',
      body: `${delta(`<tool_call>{"name":"web_search","arguments":${'{"a":['.repeat(20_000)}`)}${end}`,
    },
    { name: 'one byte a frame', body: `${delta('a').repeat(20_000)}${end}` },
    { name: 'empty lines', body: `${delta('a')}${'\n'.repeat(4_000_000)}${end}` },
    { name: 'fields without events', body: `${'id: 1\n'.repeat(300_000)}${end}` },
    { name: 'a frame over a million lines', body: `${delta('a')}${'data: {\n'.repeat(400_000)}${end}` },
    ...Object.entries({
      'a suspicious frame': (values: string) => `data: {"status":"x","a":${values}}\n\n`,
      'a list': (values: string) => `data: [{"a":${values}}]\n\n`,
      'a bare line': (values: string) => `{"status":"x","a":${values}}\n\n`,
      'a first frame': (values: string) => `data: {"a":${values}}\n\n`,
    }).flatMap(([name, frame]) =>
      Object.entries({
        objects: `[${fill('{},', 7 * MB)}1]`,
        lists: `${'['.repeat(400_000)}${']'.repeat(400_000)}`,
        members: `{${Array.from({ length: 500_000 }, (_, n) => `"k${n}":1`).join()}}`,
      }).map(([values, json]) => ({
        name: `${name} of ${values}`,
        body: `${name === 'a first frame' ? '' : delta('a')}${frame(json).repeat(2)}${end}`,
      })),
    ),
    { name: 'no stream at all', body: `${'{"a":'.repeat(100_000)}` },
  ];
}
