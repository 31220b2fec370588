import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import OpenAI, { toFile } from 'openai';
import { KEYS } from '../support/http-gateway.ts';
import { textPdf } from '../support/pdf-file.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import type { SeenRequest } from '../support/seen-request.ts';
import { patience } from '../support/time-limit.ts';

const PAGES = 400;
const SECRET_PAGE = 37;
const DOCX = new URL('../fixtures/documents/tides.docx', import.meta.url);

/** Searches the documents for the question, then repeats what the first passage says. */
function searcher(request: SeenRequest) {
  const hasFound = request.messages.some(({ role }) => role === 'tool');
  const question = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (request.research && !hasFound && /deposit|tide/.test(JSON.stringify(request.messages))) {
    const query = question.includes('deposit') ? 'deposit of the harbour authority' : 'tide spring neap';
    return { toolCalls: [{ id: 'call_1', name: 'file_search', arguments: JSON.stringify({ queries: [query] }) }] };
  }
  // A plain model searches and answers in the same loop, without an answer phase.
  if (request.research && !question.startsWith('In short')) return { text: 'I am ready.' };
  const isDeposit = JSON.stringify(request.messages).includes('48 250');
  return { text: isDeposit ? 'The deposit is 48 250 crowns [1].' : 'Tides are told [1].' };
}

describe('file_search', () => {
  let gateway: ResearchGateway;
  let client: OpenAI;
  let bob: OpenAI;
  let store: string;
  before(async function () {
    this.timeout(patience(30));
    gateway = await openResearchGateway({
      model: (request) => searcher(request),
      research: { plan: 'off' },
      models: {
        compatible: {
          kind: 'research',
          profile: 'openai',
          routes: [{ provider: 'scripted', model: 'm' }],
          research: { plan: 'off' },
        },
        plain: {
          kind: 'proxy',
          apis: ['chat_completions', 'responses'],
          routes: [{ provider: 'scripted', model: 'p' }],
        },
      },
    });
    const open = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    client = open(KEYS.ann);
    bob = open(KEYS.bob);
    const pages = Array.from({ length: PAGES }, (_, n) =>
      n + 1 === SECRET_PAGE
        ? ['The deposit that the harbour authority asks for is 48 250 crowns.']
        : [`Page ${n + 1} tells of quays, cranes and the weather on day ${n * 7}.`],
    );
    const pdf = textPdf(pages.map((lines) => lines.map((text, at) => ({ text, x: 50, y: 700 - 20 * at }))));
    const made = await client.vectorStores.create({ name: 'harbour' });
    store = made.id;
    const files = [await toFile(pdf, 'harbour rules.pdf'), await toFile(await readFile(DOCX), 'tides.docx')];
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store, { files }, { pollIntervalMs: 20 });
    assert.equal(batch.file_counts.completed, 2);
  });
  after(() => gateway[Symbol.asyncDispose]());

  const tool = () => ({ type: 'file_search' as const, vector_store_ids: [store] });

  it('on a research model, cites the page of a document, with its words', async () => {
    const response = await client.responses.create({
      model: 'deep',
      input: 'What deposit does the harbour authority ask for?',
      tools: [tool()],
    });
    assert.equal(response.status, 'completed');
    const message = response.output.find((item) => item.type === 'message');
    const part = message?.type === 'message' ? message.content[0] : undefined;
    assert.ok(part?.type === 'output_text');
    const [citation] = part.annotations as unknown as Record<string, unknown>[];
    assert.ok(citation);
    assert.match(String(citation.url), /^file:\/\/\/file-[\w-]+\/harbour%20rules\.pdf$/);
    assert.deepEqual(
      [citation.title, citation.page, citation.support, citation.verified],
      ['harbour rules.pdf', SECRET_PAGE, 'quoted', true],
    );
    assert.match(String(citation.cited_text), /48 250 crowns/);
    // A follow-up keeps what was found.
    const next = await client.responses.create({
      model: 'deep',
      input: 'And the deposit again?',
      previous_response_id: response.id,
      tools: [tool()],
    });
    assert.equal(next.status, 'completed');
  });

  it('names the section of a document without pages', async () => {
    const { data } = await client.vectorStores.search(store, { query: 'spring tide moon' });
    const found = data.find(({ filename }) => filename === 'tides.docx') as { section?: string } | undefined;
    assert.ok(found?.section, JSON.stringify(data[0]));
  });

  it('is a hosted tool of plain models, with OpenAI’s items and events', async () => {
    const stream = await client.responses.create({
      model: 'plain',
      input: 'In short: what deposit does the harbour authority ask for?',
      tools: [tool()],
      include: ['file_search_call.results'],
      stream: true,
    });
    const types: string[] = [];
    let final: OpenAI.Responses.Response | undefined;
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.completed') final = event.response;
    }
    for (const stage of ['in_progress', 'searching', 'completed']) {
      assert.ok(types.includes(`response.file_search_call.${stage}`), types.join());
    }
    const call = final?.output.find((item) => item.type === 'file_search_call');
    assert.ok(call?.type === 'file_search_call');
    assert.deepEqual(call.queries, ['deposit of the harbour authority']);
    assert.match(call.results?.[0]?.text ?? '', /48 250/);
    assert.equal(call.results?.[0]?.filename, 'harbour rules.pdf');
    // The AI SDK takes no result without them.
    assert.deepEqual(call.results?.[0]?.attributes, {});
    assert.ok(types.includes('response.output_text.annotation.added'), types.join());
    assertCited(final);
  });

  it('returns the attributes of what it found', async () => {
    const attributes = { part: 'rules', pages: PAGES, public: true };
    const { data } = await client.vectorStores.files.list(store);
    for (const { id } of data) await client.vectorStores.files.update(id, { vector_store_id: store, attributes });
    const question = { model: 'plain', input: 'In short: what deposit does the harbour authority ask for?' };
    const { output } = await client.responses.create({
      ...question,
      tools: [tool()],
      include: ['file_search_call.results'],
    });
    const call = output.find((item) => item.type === 'file_search_call');
    assert.deepEqual(call?.results?.[0]?.attributes, attributes);
  });

  it('is cited with OpenAI’s file_citation in profile: openai', async () => {
    const input = 'What deposit does the harbour authority ask for?';
    const response = await client.responses.create({ model: 'compatible', input, tools: [tool()] });
    const citation = assertCited(response);
    assert.match(String(citation.cited_text), /48 250 crowns/);
    // The report names it too.
    const answer = await fetch(`${gateway.url}/v1/responses/${response.id}/report?format=md`, {
      headers: { authorization: `Bearer ${KEYS.ann}` },
    });
    assert.match(await answer.text(), /harbour rules\.pdf/);
  });

  /** Asserts that the first citation names the page of the document. */
  function assertCited(response: OpenAI.Responses.Response | undefined): Record<string, unknown> {
    const message = response?.output.find((item) => item.type === 'message');
    const part = message?.type === 'message' ? message.content[0] : undefined;
    assert.ok(part?.type === 'output_text', JSON.stringify(response?.output));
    const [citation] = part.annotations;
    assert.ok(citation?.type === 'file_citation', JSON.stringify(part));
    assert.match(citation.file_id, /^file-/);
    const { filename, index, page } = citation as typeof citation & { page?: number };
    assert.deepEqual([filename, index, page], ['harbour rules.pdf', 1, SECRET_PAGE]);
    return citation as unknown as Record<string, unknown>;
  }

  it('refuses stores of other users, unknown stores and invalid parameters', async () => {
    const refused = async (who: OpenAI, model: string, given: object, status: number, param?: string) => {
      const pending = who.responses.create({ model, input: 'deposit?', tools: [given as never] });
      await assert.rejects(pending, (thrown) => {
        assert.ok(thrown instanceof OpenAI.APIError);
        assert.equal(thrown.status, status, thrown.message);
        if (param !== undefined) assert.equal(thrown.param, param);
        return true;
      });
    };
    for (const model of ['deep', 'plain']) {
      await refused(bob, model, tool(), 404, 'tools[0].vector_store_ids[0]');
      const some = { ...tool(), vector_store_ids: [store, 'vs_none'] };
      await refused(client, model, some, 404, 'tools[0].vector_store_ids[1]');
      await refused(client, model, { type: 'file_search' }, 400);
      await refused(client, model, { type: 'file_search', vector_store_ids: [] }, 400);
      await refused(client, model, { ...tool(), filters: { type: 'like', key: 'a', value: 1 } }, 400);
      await refused(client, model, { ...tool(), max_num_results: 51 }, 400);
    }
    const seen = JSON.stringify(gateway.seen);
    assert.ok(seen.includes('48 250'));
  });
});
