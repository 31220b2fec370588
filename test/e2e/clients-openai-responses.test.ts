import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { MODEL, QUESTION } from '../support/client-gateway.ts';
import { until } from '../support/http-gateway.ts';
import { forEachMajor, type Major } from '../support/openai-majors.ts';

type Response = OpenAI.Responses.Response;
type Event = OpenAI.Responses.ResponseStreamEvent;

const RESEARCH = { model: MODEL.research, input: QUESTION };

/** The delete call is `del` in version 4. */
function deleteResponse(client: OpenAI, id: string): Promise<unknown> {
  const { responses } = client;
  return 'del' in responses && typeof responses.del === 'function' ? responses.del(id) : responses.delete(id);
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  return await Array.fromAsync(stream);
}

function citationsOf(response: Response) {
  const message = response.output.at(-1);
  assert.ok(message?.type === 'message');
  const [part] = message.content;
  assert.ok(part?.type === 'output_text');
  return part.annotations.filter((annotation) => annotation.type === 'url_citation');
}

function joinedText(events: readonly Event[]): string {
  return events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
}

function responseOf(event: Event | undefined): Response {
  assert.ok(event && 'response' in event, JSON.stringify(event));
  return event.response;
}

/** A background run that thinks until it is cancelled. */
async function slowRun(major: Major): Promise<Response> {
  return await major.client().responses.create({ model: MODEL.slow, input: QUESTION, background: true });
}

forEachMajor('the official SDK: the Responses API', (major) => {
  it('create without stream returns the finished response, with text, citations and usage', async () => {
    const response = await major.client().responses.create(RESEARCH);
    assert.equal(response.status, 'completed');
    assert.match(response.output_text, /tidal turbine/);
    assert.ok(response.usage && response.usage.total_tokens > 0);
    const citations = citationsOf(response);
    assert.ok(citations.length > 0);
    for (const { url, start_index, end_index } of citations) {
      assert.match(url, /^corpus:\/\/\/\w+\.md$/);
      assert.match(response.output_text.slice(start_index, end_index), /^\[\d\]$/);
    }
  });

  it('create with stream: true yields every event, numbered without a gap, up to response.completed', async () => {
    const events = await all(await major.client().responses.create({ ...RESEARCH, stream: true }));
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index + 1),
    );
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed']);
    const final = responseOf(events.at(-1));
    const stored = await major.client().responses.retrieve(final.id);
    assert.equal(joinedText(events), stored.output_text);
    assert.deepEqual(final.output, stored.output);
  });

  it('stream() yields deltas with snapshots, and finalResponse() returns the stored response', async () => {
    const stream = major.client().responses.stream(RESEARCH);
    let snapshot = '';
    stream.on('response.output_text.delta', (event) => {
      snapshot = event.snapshot;
    });
    const final = await stream.finalResponse();
    const stored = await major.client().responses.retrieve(final.id);
    assert.deepEqual([final.status, snapshot], ['completed', stored.output_text]);
    assert.deepEqual(
      final.output.map(({ id, type }) => [id, type]),
      stored.output.map(({ id, type }) => [id, type]),
    );
    assert.deepEqual(citationsOf(final), citationsOf(stored));
  });

  it('create with background: true returns at once, and polling sees the run complete', async () => {
    const submitted = await major.client().responses.create({ ...RESEARCH, background: true, metadata: { a: 'b' } });
    assert.deepEqual([submitted.status, submitted.output], ['in_progress', []]);
    const done = await until(async () => {
      const polled = await major.client().responses.retrieve(submitted.id);
      return polled.status === 'in_progress' ? undefined : polled;
    });
    assert.deepEqual([done.status, done.background, done.metadata], ['completed', true, { a: 'b' }]);
    assert.match(done.output_text, /tidal turbine/);
  });

  it('retrieve with starting_after resumes a dropped stream exactly where it broke off', async () => {
    const seen: Event[] = [];
    for await (const event of await major.client().responses.create({ ...RESEARCH, stream: true })) {
      seen.push(event);
      if (seen.length === 7) break;
    }
    const { id } = responseOf(seen[0]);
    const starting_after = seen.at(-1)?.sequence_number ?? 0;
    const rest = await all(await major.client().responses.retrieve(id, { stream: true, starting_after }));
    const whole = await all(await major.client().responses.retrieve(id, { stream: true }));
    assert.deepEqual([...seen, ...rest], whole);
    assert.equal(rest.at(-1)?.type, 'response.completed');
  });

  it('stream({ response_id, starting_after }) yields the later events and builds the whole response', async () => {
    const { id } = await major.client().responses.create(RESEARCH);
    const stream = major.client().responses.stream({ response_id: id, starting_after: 10 });
    const numbers: number[] = [];
    stream.on('event', (event) => numbers.push(event.sequence_number));
    const final = await stream.finalResponse();
    assert.equal(numbers[0], 11);
    assert.match(final.output_text, /tidal turbine/);
  });

  it('cancel ends a run as cancelled, ends its stream, and can be repeated', async () => {
    const { id } = await slowRun(major);
    const stream = await major.client().responses.retrieve(id, { stream: true });
    const cancelled = await major.client().responses.cancel(id);
    assert.deepEqual([cancelled.id, cancelled.status, cancelled.error?.code], [id, 'cancelled', 'cancelled']);
    const last = (await all(stream)).at(-1);
    assert.deepEqual([last?.type, responseOf(last).status], ['response.failed', 'cancelled']);
    assert.equal((await major.client().responses.cancel(id)).status, 'cancelled');
  });

  it('delete removes a response', async () => {
    const { id } = await major.client().responses.create(RESEARCH);
    await deleteResponse(major.client(), id);
    await assert.rejects(major.client().responses.retrieve(id), major.sdk.NotFoundError);
    await assert.rejects(deleteResponse(major.client(), id), major.sdk.NotFoundError);
  });

  it('inputItems.list pages through the input, in order', async () => {
    const input = [
      { role: 'user' as const, content: 'Hello.' },
      { role: 'assistant' as const, content: 'Hello! What shall I look up?' },
      { role: 'user' as const, content: QUESTION },
    ];
    const { id } = await major.client().responses.create({ model: MODEL.research, input });
    const pages = major.client().responses.inputItems.list(id, { limit: 2, order: 'asc' });
    const items = await all(await pages);
    assert.deepEqual(
      items.map((item) => 'role' in item && item.role),
      ['user', 'assistant', 'user'],
    );
  });

  it('GET /responses lists responses, newest first, page by page', async () => {
    const first = await major.client().responses.create({ ...RESEARCH, metadata: { list: major.name } });
    const second = await major.client().responses.create({ ...RESEARCH, metadata: { list: major.name } });
    const list = (query: object) =>
      major.client().get<{ data: Response[]; has_more: boolean }>('/responses', { query });
    const newest = await list({ limit: 1 });
    assert.deepEqual([newest.data.map(({ id }) => id), newest.has_more], [[second.id], true]);
    const next = await list({ limit: 1, after: second.id });
    assert.deepEqual(
      next.data.map(({ id, metadata }) => [id, metadata]),
      [[first.id, { list: major.name }]],
    );
  });

  it('continues from an earlier response by its id, and by its output items sent back', async () => {
    const first = await major.client().responses.create(RESEARCH);
    const byId = { model: MODEL.research, input: QUESTION, previous_response_id: first.id };
    const second = await major.client().responses.create(byId);
    assert.deepEqual([second.status, second.previous_response_id], ['completed', first.id]);
    const input = [
      { role: 'user' as const, content: QUESTION },
      // The union of input items does not know the gateway's tool calls, which the service takes back all the same.
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user' as const, content: 'And the lamp of the lighthouse?' },
    ];
    const third = await major.client().responses.create({ model: MODEL.research, input });
    assert.equal(third.status, 'completed');
    assert.match(third.output_text, /lamp/i);
  });

  it('parse returns an object that follows the schema, and so does stream()', async () => {
    const schema = {
      type: 'object',
      properties: { answer: { type: 'string' } },
      required: ['answer'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema' as const, name: 'report', schema, strict: true };
    const body = { ...RESEARCH, text: { format } };
    const parsed = await major.client().responses.parse(body);
    assert.deepEqual(parsed.output_parsed, JSON.parse(parsed.output_text));
    assert.deepEqual(Object.keys(parsed.output_parsed ?? {}), ['answer']);
    const streamed = await major.client().responses.stream(body).finalResponse();
    assert.deepEqual(Object.keys(JSON.parse(streamed.output_text)), ['answer']);
  });

  it('reports a failed run as a status, not as an exception', async () => {
    const failed = await major.client().responses.create({ model: MODEL.broken, input: QUESTION });
    assert.deepEqual([failed.status, failed.error?.code], ['failed', 'upstream_error']);
    assert.match(failed.error?.message ?? '', /out of order/);
    const events = await all(
      await major.client().responses.create({ model: MODEL.broken, input: QUESTION, stream: true }),
    );
    assert.deepEqual(
      events.map((event) => event.type),
      ['response.created', 'response.in_progress', 'response.failed'],
    );
    assert.equal(responseOf(events.at(-1)).error?.code, 'upstream_error');
  });

  it('stream() reports a run that fails in the middle of its answer, with the text so far', async () => {
    const stream = major.client().responses.stream({ model: MODEL.cut, input: QUESTION });
    let failed: Response | undefined;
    stream.on('response.failed', (event) => {
      failed = event.response;
    });
    const final = await stream.finalResponse();
    assert.deepEqual([failed?.status, failed?.output_text], ['failed', 'The first half of the answer']);
    // Up to version 5 the helper takes nothing from `response.failed`: see docs/compatibility.md.
    assert.equal(final.status, major.number < 6 ? 'in_progress' : 'failed');
  });

  it('exposes x-request-id as _request_id', async () => {
    const { data, response } = await major.client().responses.create(RESEARCH).withResponse();
    assert.ok(response.headers.get('x-request-id'));
    assert.equal((data as { _request_id?: string })._request_id, response.headers.get('x-request-id'));
  });
});
