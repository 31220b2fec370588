import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { errorBody } from '../../src/protocol/errors.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';

const RUNS = 10_000;
/** Bodies under way at once. */
const PARALLEL = 64;
const SEED = 20_260_101;

const TARGETS = [
  '/v1/responses',
  '/v1/async',
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/audio/speech',
  '/v1/responses/resp_00000000-0000-4000-8000-000000000000/cancel',
  '/v1/async/task_00000000-0000-4000-8000-000000000000/cancel',
];
/** The 4xx statuses of contract section 2. */
const DOCUMENTED = new Set([400, 401, 403, 404, 405, 413, 415, 422, 429]);

const FIELDS = [
  'model',
  'input',
  'messages',
  'stream',
  'background',
  'instructions',
  'previous_response_id',
  'max_output_tokens',
  'max_completion_tokens',
  'max_tool_calls',
  'temperature',
  'top_p',
  'metadata',
  'reasoning',
  'reasoning_effort',
  'tools',
  'tool_choice',
  'mcp_servers',
  'text',
  'response_format',
  'prompt',
  'n',
  'functions',
  '__proto__',
  'constructor',
] as const;

const word = fc.constantFrom(
  'user',
  'assistant',
  'message',
  'item_reference',
  'text',
  'input_text',
  'input_image',
  'mcp',
  'web_search',
  'function',
  'json_schema',
  'low',
  'auto',
  'toString',
  '__proto__',
  '\ud800',
  '',
);
const model = fc.constantFrom(
  'deep',
  'deep-eyes',
  'gpt',
  'gpt-chat',
  'org/model-1',
  'nope',
  'constructor',
  '__proto__',
  '',
);
const key = fc.oneof(
  fc.constantFrom(
    'type',
    'role',
    'content',
    'text',
    'id',
    'name',
    'url',
    'format',
    'effort',
    'schema',
    'image_url',
    '__proto__',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** JSON that resembles what the API takes, and much that does not. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    word,
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const body = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .tuple(
        model,
        fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), value), { maxLength: 6, selector: ([name]) => name }),
      )
      .map(([name, fields]) => JSON.stringify({ ...Object.fromEntries(fields), model: name })),
  },
  { weight: 2, arbitrary: value.map((any) => JSON.stringify(any)) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 8 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);
const raw = fc.oneof(
  { weight: 6, arbitrary: body.map((text) => Buffer.from(text)) },
  // A body cut or changed in one place.
  {
    weight: 2,
    arbitrary: fc.tuple(body, fc.nat()).map(([text, at]) => Buffer.from(text).subarray(0, at % (text.length + 1))),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
);

describe('random bodies', () => {
  let gateway: TestGateway;
  const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });
  before(async () => {
    gateway = await openGateway({ runs: { max_queued: RUNS } });
  });
  after(async () => {
    agent.destroy();
    await gateway[Symbol.asyncDispose]();
  });

  for (const target of TARGETS) {
    it(`${RUNS} to POST ${target} get only documented answers`, async () => {
      const bodies = fc.sample(raw, { numRuns: RUNS, seed: SEED });
      const statuses = new Map<number, number>();
      let next = 0;
      const worker = async () => {
        while (next < bodies.length) {
          const sent = bodies[next++] ?? Buffer.alloc(0);
          const status = await post(gateway, { target, body: sent, agent });
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: PARALLEL }, worker));
      assert.equal(
        [...statuses.values()].reduce((sum, count) => sum + count, 0),
        RUNS,
      );
      if (target === '/v1/responses') assert.ok((statuses.get(200) ?? 0) > 50, 'some get through');
      assert.ok((statuses.get(400) ?? 0) + (statuses.get(404) ?? 0) > RUNS / 10, JSON.stringify([...statuses]));
    });
  }
});

/** Posts a body and gives the status, after checking that it and its error object are ones of the contract. */
function post(
  { url }: TestGateway,
  { target, body: sent, agent }: { target: string; body: Buffer; agent: Agent },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${KEYS.bob}`,
      'content-type': 'application/json',
      'content-length': sent.length,
    };
    const req = request(url + target, { method: 'POST', agent, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const status = res.statusCode ?? 0;
        try {
          check({ status, text });
          resolve(status);
        } catch (thrown) {
          reject(new Error(`${JSON.stringify(sent.toString())} -> ${status} ${text.slice(0, 300)}`, { cause: thrown }));
        }
      });
    });
    req.on('error', reject);
    req.end(sent);
  });
}

function check({ status, text }: { status: number; text: string }): void {
  // Some bodies are good by chance; the proxy of the test gateway echoes.
  if (status === 200 || status === 201) return;
  errorBody.strict().parse(JSON.parse(text));
  assert.ok(DOCUMENTED.has(status), `status ${status}`);
}
