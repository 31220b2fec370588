import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import { codesIn, handbook, telling } from '../support/handbook.ts';
import { open, send } from '../support/http-client.ts';
import { startNarrowProvider } from '../support/narrow-provider.ts';
import { fetchDocument, openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import type { TurnScript } from '../support/scripted-provider.ts';
import type { SeenRequest } from '../support/seen-request.ts';
import { patience } from '../support/time-limit.ts';

const DOCUMENTS = {
  'harbour.md': '# Harbour\n\nThe harbour of Elmsworth was opened in 1871.\n',
  'mill.md': '# Mill\n\nThe mill of Elmsworth burned down in 1902.\n',
};
const SCHEMA: JsonObject = {
  type: 'object',
  properties: { year: { type: 'integer' } },
  required: ['year'],
  additionalProperties: false,
};
const ENDLESS: JsonObject = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const JSON_SCHEMA = { type: 'json_schema', json_schema: { name: 'year', schema: SCHEMA } };
/** The pause between requests that show that the gateway answers; without it they would take up a processor. */
const BETWEEN_LOOKS_MS = 20;
const CITING =
  '🎉 深度 The harbour opened in 1871 [1]. See [the mill](corpus:///mill.md), `x[1]`, and https://made.up/page.';

/** Searches, reads and answers as its question says. */
function model(request: SeenRequest): TurnScript {
  const question = request.messages.find(({ role }) => role === 'user')?.content ?? '';
  const tools = request.messages.filter(({ role }) => role === 'tool').length;
  if (request.research) {
    if (tools === 0) return { toolCalls: [{ name: 'web_search', arguments: { queries: ['harbour Elmsworth'] } }] };
    if (tools === 1) return { toolCalls: [fetchDocument('harbour.md')] };
    return { text: 'I am ready.' };
  }
  const repairs = request.messages.filter(({ content }) => content.startsWith('Your last message does not fit')).length;
  if (question === 'cite') return { text: CITING };
  if (question === 'endless') return { text: JSON.stringify({ a: `${'a'.repeat(60)}!` }) };
  if (question === 'never valid' || (question === 'repaired' && repairs === 0))
    return { text: '```json\n{"year": "1871"}\n```' };
  return { text: '```json\n{"year": 1871}\n```' };
}

const chat = (content: string, more: object = {}) => ({
  model: 'deep',
  messages: [{ role: 'user', content }],
  ...more,
});

async function chunksOf(gateway: ResearchGateway, body: object): Promise<Record<string, unknown>[]> {
  const answer = await open(gateway, 'POST /v1/chat/completions', { body: { ...body, stream: true } });
  return (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
}

function contentOf(chunks: readonly Record<string, unknown>[]): string[] {
  return chunks.flatMap(({ choices }) => {
    const [choice]: unknown[] = Array.isArray(choices) ? choices : [];
    const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {};
    return typeof delta.content === 'string' && delta.content !== '' ? [delta.content] : [];
  });
}

function choiceOf(json: Record<string, unknown>): Record<string, unknown> {
  const [choice]: unknown[] = Array.isArray(json.choices) ? json.choices : [];
  assert.ok(isObject(choice));
  return choice;
}

function messageOf(json: Record<string, unknown>): Record<string, unknown> {
  const { message } = choiceOf(json);
  assert.ok(isObject(message));
  return message;
}

describe('structured answers over HTTP', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let gateway: ResearchGateway;
  before(async () => {
    gateway = await openResearchGateway({ model, documents: DOCUMENTS });
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('follow response_format of chat completions, whole and streamed', async () => {
    for (const question of ['plain', 'repaired']) {
      const whole = await send(gateway, 'POST /v1/chat/completions', {
        body: chat(question, { response_format: JSON_SCHEMA }),
      });
      assert.equal(whole.status, 200, whole.text);
      assert.equal(messageOf(whole.json).content, '{"year": 1871}');
      const chunks = await chunksOf(gateway, chat(question, { response_format: JSON_SCHEMA }));
      assert.deepEqual(contentOf(chunks), ['{"year": 1871}'], 'nothing that is not valid is ever streamed');
    }
  });

  it('fail if they stay invalid: a chat stream ends with an error and has no content', async () => {
    const chunks = await chunksOf(gateway, chat('never valid', { response_format: JSON_SCHEMA }));
    assert.deepEqual(contentOf(chunks), []);
    const last = chunks.at(-1);
    assert.ok(last && isObject(last.error));
    assert.equal(last.error.code, 'invalid_output');
    const response = await gateway.respond({
      input: 'never valid',
      text: { format: { type: 'json_schema', name: 'y', schema: SCHEMA } },
    });
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'invalid_output');
    assert.equal(response.output_text, '');
  });

  it('are rejected if the schema is invalid, naming the field', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'nonsense' } } };
    const { status, json } = await send(gateway, 'POST /v1/chat/completions', {
      body: chat('plain', { response_format: format }),
    });
    assert.equal(status, 400);
    assert.ok(isObject(json.error));
    assert.equal(json.error.param, 'response_format.json_schema.schema');
  });

  it('do not block the gateway if the schema has an endless pattern', async () => {
    let over = false;
    const running = gateway
      .respond({ input: 'endless', text: { format: { type: 'json_schema', name: 'x', schema: ENDLESS } } })
      .finally(() => {
        over = true;
      });
    let served = 0;
    while (!over) {
      assert.equal((await send(gateway, 'GET /v1/models')).status, 200);
      served++;
      await delay(BETWEEN_LOOKS_MS);
    }
    const response = await running;
    assert.equal(response.error?.code, 'invalid_output');
    assert.match(response.error?.message ?? '', /took too long/);
    assert.ok(served > 50, `${served} requests were served meanwhile`);
  });
});

describe('citations over HTTP', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  it('are in the chat completion with ranges of its content, beside the search results', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS });
    const { json } = await send(gateway, 'POST /v1/chat/completions', { body: chat('cite') });
    const { content, annotations } = messageOf(json);
    assert.equal(content, CITING);
    assert.ok(Array.isArray(annotations));
    const covered = annotations.map(({ type, url_citation: of }) => {
      assert.equal(type, 'url_citation');
      return [CITING.slice(of.start_index, of.end_index), of.url, of.source_id, of.verified];
    });
    assert.deepEqual(covered, [
      ['[1]', 'corpus:///harbour.md', 1, true],
      ['corpus:///mill.md', 'corpus:///mill.md', 2, true],
      ['https://made.up/page', 'https://made.up/page', null, false],
    ]);
    assert.ok(Array.isArray(json.search_results));
    const found: unknown[] = json.search_results.map((result: unknown) => isObject(result) && result.url);
    assert.deepEqual(found.toSorted(), ['corpus:///harbour.md', 'corpus:///mill.md']);
    assert.deepEqual(Object.keys(json.search_results[0]).toSorted(), ['snippet', 'source_id', 'title', 'url']);

    const chunks = await chunksOf(gateway, chat('cite'));
    assert.equal(contentOf(chunks).join(''), CITING);
    const last = chunks.at(-1) ?? {};
    assert.deepEqual(last.search_results, json.search_results);
    const { delta } = choiceOf(last);
    assert.ok(isObject(delta));
    assert.deepEqual(delta.annotations, annotations);
  });

  it('are counted in chat completions, their streams and task results as in the response object', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS });
    const { claims, id } = await gateway.respond({ input: 'cite' });
    assert.ok(claims && claims.checked > 0);
    const { json } = await send(gateway, 'POST /v1/chat/completions', { body: chat('cite') });
    const task = await send(gateway, `GET /v1/async/${id.replace('resp_', 'task_')}`);
    assert.ok(isObject(task.json.result));
    const streamed = (await chunksOf(gateway, chat('cite'))).at(-1);
    assert.deepEqual([json.claims, task.json.result.claims, streamed?.claims], [claims, claims, claims]);
  });
});

describe('a long run of a gateway', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  it('reads a hundred documents in a narrow context and reports what each of them says', async () => {
    const book = handbook({ chapters: 100, length: 4000 });
    const name = (n: number) => `chapter-${n}.md`;
    const documents = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [name(i + 1), `# Chapter ${i + 1}\n\n${book.chapter(i + 1)}`]),
    );
    await using narrow = await startNarrowProvider({
      contextTokens: 12_000,
      model: (request) => {
        if (!request.research) return { text: telling(codesIn(request.text)) };
        const n = narrow.seen.filter((seen) => seen.research).length + 1;
        return n > 100 ? { text: 'I am ready.' } : { toolCalls: [{ id: `call_${n}`, ...fetchDocument(name(n)) }] };
      },
    });
    await using gateway = await openResearchGateway({
      provider: narrow.provider,
      documents,
      deep: { context_length: 12_000, max_completion_tokens: 3500 },
      research: { budgets: { high: { turns: 200, tool_calls: 200, tokens: 10_000_000, minutes: 10 } } },
    });
    const response = await gateway.respond({
      input: 'Which access code does each chapter of the handbook have?',
      reasoning: { effort: 'high' },
    });
    assert.equal(response.status, 'completed');
    assert.equal(response.incomplete_details, null);
    const told = codesIn(response.output_text);
    for (const n of [1, 2, 49, 50, 51, 99, 100]) assert.equal(told.get(n), book.code(n), `chapter ${n}`);
    assert.equal(response.usage.input_tokens, narrow.counted.input);
    assert.equal(response.usage.num_tool_calls, 100);
  });
});

describe('research.reader', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  it('reads huge documents through a route of its own', async () => {
    const book = handbook({ chapters: 1, length: 90_000 });
    await using gateway = await openResearchGateway({
      documents: { 'chapter-1.md': `# Chapter 1\n\n${book.chapter(1)}` },
      deep: { context_length: 12_000, max_completion_tokens: 2000 },
      research: { reader: [{ provider: 'scripted', model: 'cheap' }] },
      model: (request) => {
        if (request.reading)
          return { text: codesIn(request.text).size > 0 ? telling(codesIn(request.text)) : 'NOTHING' };
        if (!request.research) return { text: telling(codesIn(request.text)) };
        const read = request.messages.some(({ role }) => role === 'tool');
        return read ? { text: 'I am ready.' } : { toolCalls: [fetchDocument('chapter-1.md')] };
      },
    });
    const response = await gateway.respond({ input: 'Which access code does chapter 1 have?' });
    assert.equal(codesIn(response.output_text).get(1), book.code(1));
    const models = gateway.provider.requests.map(({ body }, n) => [body.model, gateway.seen[n]?.reading]);
    assert.ok(models.filter(([model]) => model === 'cheap').length > 5);
    for (const [model, reading] of models) assert.equal(model === 'cheap', reading);
  });
});
