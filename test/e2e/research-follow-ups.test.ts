import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { answerPart } from '../../src/protocol/items.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { send } from '../support/http-client.ts';
import { until } from '../support/http-gateway.ts';
import { fetchDocument, openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { hang, type TurnScript } from '../support/scripted-provider.ts';
import type { SeenRequest } from '../support/seen-request.ts';
import { patience } from '../support/time-limit.ts';

/** Text so long that the facts after it are in no snippet. */
const BEFORE = 'Many things are told of this place, and most of them by those who never saw it at all. '.repeat(12);

const DOCUMENTS = {
  'harbour.md': `# Harbour\n\n${BEFORE}The harbour of Elmsworth was opened in 1871. It has three cranes.\n`,
  'bridge.md': `# Bridge\n\n${BEFORE}The bridge of Elmsworth carries 12 500 vehicles a day.\n`,
  'mill.md': '# Mill\n\nThe mill of Elmsworth burned down in 1902.\n',
};

const PLAIN = { plain: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'scripted', model: 'scripted' }] } };

/** Reads the documents that the question names, and answers with the facts that are in its context. */
function model(request: SeenRequest, n: number): TurnScript | ReturnType<typeof hang> {
  const question = lastQuestion(request);
  if (question === 'wait') return hang();
  if (!request.research) return { text: whatIsKnown(request.text) };
  const wanted = [...question.matchAll(/read (\w+\.md)/g)].map(([, name = '']) => name);
  const read = request.messages.some(({ role }) => role === 'tool');
  if (read || wanted.length === 0) return { text: 'I am ready.' };
  return { toolCalls: wanted.map((name, i) => ({ id: `call_${n}_${i}`, ...fetchDocument(name) })) };
}

function lastQuestion({ messages }: SeenRequest): string {
  const question = messages.findLast(
    ({ role, content }) => role === 'user' && !content.includes('Now write the final answer'),
  );
  return question?.content ?? '';
}

/** The facts that the text contains, each with the number of its source. */
function whatIsKnown(text: string): string {
  const facts = [
    ['harbour', 'opened in 1871'],
    ['bridge', '12 500 vehicles'],
    ['mill', 'burned down in 1902'],
  ] as const;
  return facts
    .filter(([, fact]) => text.includes(fact))
    .map(([name, fact]) => `The ${name}: ${fact} [${numberOf(name, text)}].`)
    .join('\n');
}

function numberOf(name: string, text: string): string {
  const listed = new RegExp(`\\[(\\d+)\\] [^\\n]*\\(corpus:///${name}.md\\)`).exec(text)?.[1];
  const read = new RegExp(`corpus:///${name}.md[^}]*"source_id":(\\d+)`).exec(text)?.[1];
  return listed ?? read ?? '?';
}

const citationsOf = (response: ResponseObject) =>
  response.output
    .filter((item) => item.type === 'message')
    .flatMap((item) => answerPart(item)?.annotations ?? [])
    .map(({ url, source_id, verified }) => [url, source_id, verified]);

const callsOf = (response: ResponseObject) => response.output.filter((item) => item.type === 'tool_call').length;

describe('a conversation of a research and a plain model', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  it('keeps the sources of the last research, also behind what the plain model said and deleted responses', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS, models: PLAIN });
    const { json } = await send(gateway, 'POST /v1/conversations', { body: {} });
    const ask = (input: string, fields = {}) => gateway.respond({ input, conversation: json.id, ...fields });
    await ask('Tell me of the harbour: read harbour.md');
    for (const input of ['Thank you.', 'It is nice there.']) {
      const { id } = await ask(input, { model: 'plain' });
      if (input === 'Thank you.') await send(gateway, `DELETE /v1/responses/${id}`);
    }
    const last = await ask('And again?');
    assert.match(last.output_text, /harbour: opened in 1871 \[1\]/);
    assert.deepEqual(citationsOf(last), [['corpus:///harbour.md', 1, true]]);
  });

  it('keeps them in a chain of `previous_response_id`, too', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS, models: PLAIN });
    let previous = (await gateway.respond({ input: 'Tell me of the harbour: read harbour.md' })).id;
    for (const input of ['Thank you.', 'It is nice there.']) {
      const { id } = await gateway.respond({ input, model: 'plain', previous_response_id: previous });
      if (input !== 'Thank you.') await send(gateway, `DELETE /v1/responses/${previous}`);
      previous = id;
    }
    const last = await gateway.respond({ input: 'And again?', previous_response_id: previous });
    assert.match(last.output_text, /harbour: opened in 1871 \[1\]/);
    assert.deepEqual(citationsOf(last), [['corpus:///harbour.md', 1, true]]);
  });
});

describe('a chain of follow-ups', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let gateway: ResearchGateway;
  let first: ResponseObject;
  let second: ResponseObject;

  before(async () => {
    gateway = await openResearchGateway({ model, documents: DOCUMENTS });
    first = await gateway.respond({ input: 'Tell me of the harbour: read harbour.md' });
    second = await gateway.respond({ input: 'And the bridge? read bridge.md', previous_response_id: first.id });
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('uses and cites earlier sources without fetching them again, numbered anew', () => {
    assert.equal(callsOf(second), 1);
    assert.match(second.output_text, /harbour: opened in 1871 \[1\]/);
    assert.match(second.output_text, /bridge: 12 500 vehicles \[2\]/);
    assert.deepEqual(citationsOf(second), [
      ['corpus:///harbour.md', 1, true],
      ['corpus:///bridge.md', 2, true],
    ]);
    assert.equal(second.previous_response_id, first.id);
  });

  it('shows the model the whole conversation, and earlier sources as fenced data', async () => {
    const third = await gateway.respond({ input: 'And both together?', previous_response_id: second.id });
    const lastRequest = gateway.seen.at(-1);
    assert.deepEqual(
      lastRequest?.messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'],
    );
    const system = lastRequest?.messages[0]?.content ?? '';
    const fenced = /<tool_result-\w+>\n([\s\S]*)\n<\/tool_result-\w+>/.exec(system)?.[1] ?? '';
    assert.match(fenced, /\[1\] Harbour \(corpus:\/\/\/harbour.md\): .*opened in 1871/);
    assert.match(fenced, /\[2\] Bridge \(corpus:\/\/\/bridge.md\): .*12 500 vehicles/);
    assert.equal(callsOf(third), 0);
    assert.equal(third.incomplete_details, null);
    assert.deepEqual(
      citationsOf(third).map(([, id]) => id),
      [1, 2],
    );
  });

  it('continues after earlier runs were deleted, before it starts and while it runs', async () => {
    const start = await gateway.respond({ input: 'read harbour.md' });
    const next = await gateway.respond({ input: 'read bridge.md', previous_response_id: start.id });
    assert.equal((await send(gateway, `DELETE /v1/responses/${start.id}`)).status, 200);
    const posted = await send(gateway, 'POST /v1/responses', {
      body: { model: 'deep', input: 'read mill.md', previous_response_id: next.id, background: true },
    });
    assert.equal((await send(gateway, `DELETE /v1/responses/${next.id}`)).status, 200);
    const last = await until(async () => {
      const { json } = await send(gateway, `GET /v1/responses/${posted.json.id}`);
      return json.status === 'completed' ? json : undefined;
    });
    assert.match(String(last.output_text), /harbour: opened.*\[1\]\.\nThe bridge: .*\[2\]\.\nThe mill: .*\[3\]/);
  });

  it('may branch: two follow-ups of one response do not see each other', async () => {
    const [mill, harbour] = await Promise.all([
      gateway.respond({ input: 'read mill.md', previous_response_id: first.id }),
      gateway.respond({ input: 'What else?', previous_response_id: first.id }),
    ]);
    assert.match(mill.output_text, /mill/);
    assert.doesNotMatch(harbour.output_text, /mill/);
  });

  it('is rejected if the earlier response is unknown, another user’s, deleted or not completed', async () => {
    const deleted = await gateway.respond({ input: 'read mill.md' });
    await send(gateway, `DELETE /v1/responses/${deleted.id}`);
    const waiting = await send(gateway, 'POST /v1/responses', {
      body: { model: 'deep', input: 'wait', background: true },
    });
    const running = String(waiting.json.id);
    const tries = [
      ['resp_00000000-0000-4000-8000-000000000000', 'ann', 404, 'not_found'],
      ['nonsense', 'ann', 404, 'not_found'],
      [deleted.id, 'ann', 404, 'not_found'],
      [first.id, 'bob', 404, 'not_found'],
      [running, 'ann', 400, 'invalid_parameter'],
    ] as const;
    const refuse = async (id: string, key: 'ann' | 'bob', status: number, code: string) => {
      const answer = await send(gateway, 'POST /v1/responses', {
        key,
        body: { model: 'deep', input: 'And?', previous_response_id: id, stream: false },
      });
      assert.equal(answer.status, status, `${id} as ${key}: ${answer.text}`);
      assert.ok(isObject(answer.json.error));
      assert.equal(answer.json.error.code, code);
      assert.equal(answer.json.error.param, 'previous_response_id');
    };
    for (const [id, key, status, code] of tries) await refuse(id, key, status, code);
    await send(gateway, `POST /v1/responses/${running}/cancel`);
    await refuse(running, 'ann', 400, 'invalid_parameter');
  });
});

describe('a conversation in the input', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  it('is sent unchanged, in order, with the question last', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS });
    const response = await gateway.respond({
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Use metres.' },
        { role: 'user', content: 'What is in Elmsworth?' },
        { role: 'assistant', content: [{ type: 'output_text', text: 'A harbour.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'read harbour.md' }] },
      ],
    });
    assert.match(response.output_text, /opened in 1871/);
    const [system, ...rest] = gateway.seen[0]?.messages ?? [];
    assert.match(system?.content ?? '', /Be brief\.\n\nUse metres\./);
    assert.deepEqual(
      rest.map(({ role, content }) => [role, content]),
      [
        ['user', 'What is in Elmsworth?'],
        ['assistant', 'A harbour.'],
        ['user', 'read harbour.md'],
      ],
    );
  });

  it('may contain the output items of an earlier response, or references to them', async () => {
    await using gateway = await openResearchGateway({ model, documents: DOCUMENTS });
    const earlier = await gateway.respond({ input: 'read harbour.md' });
    const copied = await gateway.respond({
      input: [{ role: 'user', content: 'First.' }, ...earlier.output, { role: 'user', content: 'And now?' }],
    });
    assert.match(copied.output_text, /opened in 1871/);
    const asReferences = earlier.output.map(({ id }) => ({ type: 'item_reference', id }));
    const referred = await gateway.respond({ input: [...asReferences, { role: 'user', content: 'And now?' }] });
    assert.match(referred.output_text, /opened in 1871/);
    const lastMessages = gateway.seen.at(-1)?.messages ?? [];
    assert.deepEqual(
      lastMessages.map(({ role }) => role),
      ['system', 'assistant', 'assistant', 'user', 'assistant', 'user'],
      'reasoning is dropped',
    );
    assert.match(
      lastMessages[1]?.content ?? '',
      /Result: <tool_result-\w+>\n[\s\S]*opened in 1871[\s\S]*\n<\/tool_result-\w+>/,
    );
    const foreign = await send(gateway, 'POST /v1/responses', {
      key: 'bob',
      body: { model: 'deep', input: [...asReferences, { role: 'user', content: 'And now?' }], stream: false },
    });
    assert.equal(foreign.status, 404);
    assert.ok(isObject(foreign.json.error));
    assert.equal(foreign.json.error.code, 'not_found');
  });
});

describe('a model that repeats its earlier answer', function () {
  this.timeout(patience(30));
  const said = 'The bridge: 12 500 vehicles';
  let gateway: ResearchGateway;
  let earlier: ResponseObject;

  before(async () => {
    gateway = await openResearchGateway({
      documents: DOCUMENTS,
      model(request) {
        const before = request.messages.find(({ role, content }) => role === 'assistant' && content.startsWith(said));
        if (!request.research) return { text: before?.content ?? `${said} [2].` };
        const wanted = before ? ['mill.md'] : ['harbour.md', 'bridge.md'];
        const next = wanted[request.messages.filter(({ role }) => role === 'tool').length];
        return next ? { toolCalls: [fetchDocument(next)] } : { text: 'I am ready.' };
      },
    });
    earlier = await gateway.respond({ input: 'And the bridge?' });
    assert.deepEqual(citationsOf(earlier), [['corpus:///bridge.md', 2, true]]);
    assert.match(earlier.output_text, /\[1\]/);
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('cites the same source in a follow-up, which numbers its sources anew', async () => {
    let last = earlier;
    for (const input of ['Say it again.', 'And again.']) {
      last = await gateway.respond({ input, previous_response_id: last.id });
      assert.match(last.output_text, /12 500 vehicles \[1\]/);
      assert.deepEqual(citationsOf(last), [['corpus:///bridge.md', 2, true]]);
    }
  });

  it('cites no other source in a thread whose sources are not known', async () => {
    const question = { role: 'user', content: 'Say it again.' };
    const answer = { role: 'assistant', content: earlier.output_text };
    for (const items of [earlier.output, [answer]]) {
      const copied = await gateway.respond({ input: [question, ...items, question] });
      assert.equal(copied.output_text, `${said}.`);
      assert.deepEqual(citationsOf(copied), []);
    }
    const copies = gateway.seen.flatMap(({ messages }) => messages).filter(({ role }) => role === 'assistant');
    assert.ok(copies.some(({ content }) => content.includes('Earlier tool call')));
    assert.ok(!copies.some(({ content }) => content.includes('source_id')));
  });
});
