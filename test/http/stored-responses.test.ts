import assert from 'node:assert/strict';
import { isTerminal } from '../../src/protocol/events.ts';
import { responseListEntry } from '../../src/protocol/response.ts';
import {
  assertRefused,
  ended,
  eventsIn,
  open,
  rawExchange,
  responseIn,
  type SendOptions,
  send,
  submit,
} from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';

describe('GET /v1/responses/:id', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const stream = (id: string, query: string, options: SendOptions = {}) =>
    send(gateway, `GET /v1/responses/${id}?stream=true${query}`, options);

  it('returns the current response, with openai-poll-after-ms while it is in progress', async () => {
    const id = await submit(gateway, 'wait');
    const answer = await send(gateway, `GET /v1/responses/${id}`);
    assert.equal(responseIn(answer).status, 'in_progress');
    assert.equal(answer.headers.get('openai-poll-after-ms'), '1000');
    await gateway.release();
    const { status } = await ended(gateway, id);
    assert.equal(status, 'completed');
    const done = await send(gateway, `GET /v1/responses/${id}`);
    assert.equal(done.headers.get('openai-poll-after-ms'), null);
  });

  it('finds a task by its resp_ id, but not a chat completion', async () => {
    const body = { model: 'deep', messages: [{ role: 'user', content: 'hello' }] };
    const task = await send(gateway, 'POST /v1/async', { body });
    const id = String(task.json.id).replace('task_', 'resp_');
    assert.equal((await ended(gateway, id)).output_text, 'You said: hello');
    const completion = await send(gateway, 'POST /v1/chat/completions', { body });
    const hidden = String(completion.json.id).replace('chatcmpl-', 'resp_');
    assertRefused(await send(gateway, `GET /v1/responses/${hidden}`), { status: 404, code: 'not_found' });
  });

  it('replays the same bytes that the live reader got, and continues after any event', async () => {
    const live = await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'long 50' } });
    const [first] = eventsIn(live);
    const id = first && 'response' in first ? first.response.id : '';
    assert.equal((await stream(id, '')).text, live.text);
    const events = eventsIn(live);
    for (const { sequence_number } of events) {
      const rest = eventsIn(await stream(id, `&after=${sequence_number}`));
      assert.deepEqual(rest, events.slice(sequence_number));
    }
  });

  it('streams until the terminal event when the run ends', async () => {
    const id = await submit(gateway, 'wait');
    const following = stream(id, '');
    await gateway.release();
    const events = eventsIn(await following);
    assert.equal(events.filter(isTerminal).length, 1);
    assert.ok(isTerminal(events.at(-1) ?? { type: '' }));
  });

  describe('cursors', () => {
    let id = '';
    let last = 0;
    before(async () => {
      id = await submit(gateway, 'hello');
      await ended(gateway, id);
      last = eventsIn(await stream(id, '')).length;
    });

    const firstNumber = async (query: string, headers: Record<string, string> = {}) =>
      eventsIn(await stream(id, query, { headers }))[0]?.sequence_number;

    it('prefer after to starting_after, and starting_after to Last-Event-ID', async () => {
      assert.equal(await firstNumber('&after=2&starting_after=4', { 'last-event-id': '1' }), 3);
      assert.equal(await firstNumber('&starting_after=4', { 'last-event-id': '1' }), 5);
      assert.equal(await firstNumber('', { 'last-event-id': '1' }), 2);
    });

    it('ignore an invalid Last-Event-ID', async () => {
      for (const value of ['abc', '-1', '1.5', '']) {
        assert.equal(await firstNumber('', { 'last-event-id': value }), 1, value);
      }
    });

    for (const value of ['abc', '-1', '1.5', '', '1e3', '99999999999999999999', '%20']) {
      it(`refuse after=${value}`, async () => {
        const answer = await stream(id, `&after=${value}`);
        assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'after' });
        const alias = await stream(id, `&starting_after=${value}`);
        assertRefused(alias, { status: 400, code: 'invalid_parameter', param: 'starting_after' });
        assert.equal(
          (await send(gateway, `GET /v1/responses/${id}?after=${value}`)).status,
          200,
          'ignored without stream',
        );
      });
    }

    it('refuse after given twice', async () => {
      const answer = await stream(id, '&after=1&after=2');
      assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'after' });
    });

    for (const value of ['yes', '1', '', 'TRUE']) {
      it(`refuse stream=${value}`, async () => {
        const answer = await send(gateway, `GET /v1/responses/${id}?stream=${value}`);
        assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'stream' });
      });
    }

    it('at or past the end of an ended run give an empty stream', async () => {
      for (const after of [last, last + 1, 1_000_000]) {
        const answer = await stream(id, `&after=${after}`);
        assert.deepEqual([answer.status, answer.text], [200, '']);
        assert.match(answer.headers.get('content-type') ?? '', /event-stream/);
      }
    });

    it('past the end of a run in progress are refused, naming its last event', async () => {
      const running = await submit(gateway, 'wait');
      const answer = await stream(running, '&after=100');
      assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'after' });
      assert.match(answer.text, /is [2-9]\./);
      await gateway.release();
    });

    it('at the end of a run in progress continue with the next event', async () => {
      const running = await submit(gateway, 'wait');
      // Events so far: created, in_progress, the reasoning item, its part, its first delta.
      const reached = await until(async () => {
        const { output } = responseIn(await send(gateway, `GET /v1/responses/${running}`));
        return output[0]?.type === 'reasoning' && output[0].content[0]?.text !== '' ? 5 : undefined;
      });
      const answer = await open(gateway, `GET /v1/responses/${running}?stream=true&after=${reached}`);
      await gateway.release();
      assert.match(await answer.text(), /^event: [^\n]+\ndata: \{"type":"[^"]+","sequence_number":6,/);
    });

    it('are asked for as Python writes true and false, too', async () => {
      const types = [];
      for (const stream of ['true', 'True', 'False']) {
        const { headers } = await send(gateway, `GET /v1/responses/${id}?stream=${stream}`);
        types.push(headers.get('content-type')?.split(';')[0]);
      }
      assert.deepEqual(types, ['text/event-stream', 'text/event-stream', 'application/json']);
    });

    it('with HEAD return the headers of the stream and end', async () => {
      const running = await submit(gateway, 'wait');
      const answer = await send(gateway, `HEAD /v1/responses/${running}?stream=true`);
      assert.deepEqual([answer.status, answer.text], [200, '']);
      const line = await until(() => gateway.lines.find(({ method }) => method === 'HEAD'));
      assert.equal(line.left, undefined, 'not a disconnect');
      await gateway.release();
    });
  });
});

describe('GET /v1/responses', () => {
  let gateway: TestGateway;
  const ids: string[] = [];
  before(async () => {
    gateway = await openGateway();
    for (let n = 0; n < 25; n++) ids.unshift(await submit(gateway, n === 3 ? 'fail' : `question ${n}`));
    await submit(gateway, 'of somebody else', { key: 'bob' });
    for (const id of ids) await ended(gateway, id);
  });
  after(() => gateway[Symbol.asyncDispose]());

  const list = async (query: string) => {
    const answer = await send(gateway, `GET /v1/responses${query}`);
    assert.equal(answer.status, 200, answer.text);
    const data = responseListEntry.strict().array().parse(answer.json.data);
    return { ...answer.json, data, ids: data.map((entry) => entry.id) };
  };

  it("lists the newest 20 of the user's responses", async () => {
    const page = await list('');
    assert.deepEqual(page.ids, ids.slice(0, 20));
    assert.deepEqual(
      { object: Reflect.get(page, 'object'), has_more: Reflect.get(page, 'has_more') },
      { object: 'list', has_more: true },
    );
    assert.equal(Reflect.get(page, 'first_id'), ids[0]);
    assert.equal(Reflect.get(page, 'last_id'), ids[19]);
  });

  it('continues after an id', async () => {
    const page = await list(`?after=${ids[19]}`);
    assert.deepEqual(page.ids, ids.slice(20));
    assert.equal(Reflect.get(page, 'has_more'), false);
  });

  it('filters by status and model', async () => {
    assert.deepEqual((await list('?status=failed')).ids, [ids[21]]);
    assert.deepEqual((await list('?status=in_progress')).ids, []);
    assert.equal((await list('?model=deep&limit=100')).ids.length, 25);
    assert.equal((await list('?model=other')).ids.length, 0);
  });

  it('returns an empty page with null as first_id and last_id', async () => {
    const page = await list('?model=other');
    assert.deepEqual([Reflect.get(page, 'first_id'), Reflect.get(page, 'last_id')], [null, null]);
  });

  it('takes limits from 1 to 100', async () => {
    assert.equal((await list('?limit=1')).ids.length, 1);
    assert.equal((await list('?limit=100')).ids.length, 25);
  });

  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=abc', 'limit'],
    ['limit=', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=5&limit=6', 'limit'],
    ['status=done', 'status'],
    ['status=COMPLETED', 'status'],
    ['after=nonsense', 'after'],
    ['after=resp_00000000-0000-4000-8000-000000000000', 'after'],
  ] as const) {
    it(`refuses ${query}`, async () => {
      const answer = await send(gateway, `GET /v1/responses?${query}`);
      assertRefused(answer, { status: 400, code: 'invalid_parameter', param });
    });
  }
});

describe('POST /v1/responses/:id/cancel', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('cancels a run in progress; its stream ends with response.failed', async () => {
    const id = await submit(gateway, 'wait');
    const following = send(gateway, `GET /v1/responses/${id}?stream=true`);
    const response = responseIn(await send(gateway, `POST /v1/responses/${id}/cancel`));
    assert.equal(response.status, 'cancelled');
    assert.equal(response.error?.code, 'cancelled');
    const last = eventsIn(await following).at(-1);
    assert.ok(last?.type === 'response.failed' && last.response.status === 'cancelled');
  });

  it('returns an ended run unchanged', async () => {
    const id = await submit(gateway, 'hello');
    const before = await ended(gateway, id);
    assert.deepEqual(responseIn(await send(gateway, `POST /v1/responses/${id}/cancel`)), before);
  });

  it('returns the same answer when repeated', async () => {
    const id = await submit(gateway, 'wait');
    const first = await send(gateway, `POST /v1/responses/${id}/cancel`);
    assert.equal((await send(gateway, `POST /v1/responses/${id}/cancel`)).text, first.text);
  });

  it('accepts an empty JSON body and refuses another content type', async () => {
    const id = await submit(gateway, 'hello');
    responseIn(await send(gateway, `POST /v1/responses/${id}/cancel`, { body: {} }));
    const answer = await send(gateway, `POST /v1/responses/${id}/cancel`, {
      raw: 'a=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assertRefused(answer, { status: 415, code: 'unsupported_media_type' });
  });

  it('accepts chunks that hold nothing, and refuses others without a type', async () => {
    const id = await submit(gateway, 'hello');
    for (const [chunks, status] of [
      ['0\r\n\r\n', 200],
      ['1\r\na\r\n0\r\n\r\n', 415],
    ] as const) {
      const head = `POST /v1/responses/${id}/cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.ann}\r\n`;
      const bytes = `${head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}`;
      assert.match(await rawExchange(gateway, bytes), new RegExp(`^HTTP/1.1 ${status} `));
    }
  });
});

describe('DELETE /v1/responses/:id', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('removes a response', async () => {
    const id = await submit(gateway, 'hello');
    await ended(gateway, id);
    const answer = await send(gateway, `DELETE /v1/responses/${id}`);
    assert.deepEqual(answer.json, { id, object: 'response', deleted: true });
    assertRefused(await send(gateway, `GET /v1/responses/${id}`), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, `DELETE /v1/responses/${id}`), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, `POST /v1/responses/${id}/cancel`), { status: 404, code: 'not_found' });
  });

  it('cancels a run in progress first, and its readers see the end', async () => {
    const id = await submit(gateway, 'wait');
    const reader = await open(gateway, `GET /v1/responses/${id}?stream=true`);
    assert.equal((await send(gateway, `DELETE /v1/responses/${id}`)).status, 200);
    assert.match(await reader.text(), /event: response\.failed\n.*"status":"cancelled"/);
  });
});

describe('GET /v1/responses/:id/input_items', () => {
  let gateway: TestGateway;
  const input = Array.from({ length: 25 }, (_, n) => ({ role: 'user', content: `line ${n}` }));
  const asMessageContent = ({ content }: { content: string }) => [{ type: 'input_text', text: content }];
  let id = '';
  before(async () => {
    gateway = await openGateway();
    const body = { model: 'deep', input, background: true };
    id = responseIn(await send(gateway, 'POST /v1/responses', { body })).id;
  });
  after(() => gateway[Symbol.asyncDispose]());

  const page = async (query: string) => {
    const { json, status } = await send(gateway, `GET /v1/responses/${id}/input_items${query}`);
    assert.equal(status, 200);
    const data = Array.isArray(json.data) ? json.data : [];
    return { json, contents: data.map((item) => item.content), ids: data.map((item) => String(item.id)) };
  };

  it('lists items in the order submitted, in pages', async () => {
    const first = await page('');
    assert.deepEqual(first.contents, input.slice(0, 20).map(asMessageContent));
    assert.deepEqual(
      [first.json.object, first.json.has_more, first.json.first_id, first.json.last_id],
      ['list', true, first.ids[0], first.ids[19]],
    );
    const second = await page(`?after=${first.ids[19]}&limit=5`);
    assert.deepEqual(second.contents, input.slice(20).map(asMessageContent));
    assert.equal(second.json.has_more, false);
  });

  it('shows a string input as a user message', async () => {
    const other = await submit(gateway, 'only text');
    const { json } = await send(gateway, `GET /v1/responses/${other}/input_items`);
    const [item] = Array.isArray(json.data) ? json.data : [];
    assert.deepEqual(
      { ...item, id: '' },
      {
        id: '',
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'only text' }],
        status: 'completed',
      },
    );
    assert.match(item.id, /^msg_/);
  });

  it('fills in fields that a request may omit, and resolves references', async () => {
    const [said] = (await ended(gateway, id)).output.slice(-1);
    const input = [
      { id: said?.id },
      { role: 'assistant', content: [{ type: 'input_text', text: 'Yes.' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'seen' },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: null, role: 'assistant', content: 'Cut', status: 'incomplete' },
      { role: 'user', content: 'So?' },
      { type: 'shell_call', call_id: 'c2', action: { commands: ['ls'], timeout_ms: 5 } },
      { type: 'shell_call_output', call_id: 'c2', output: [] },
      { type: 'tool_search_output', tools: [] },
    ];
    const body = { model: 'deep', input, background: true };
    const other = responseIn(await send(gateway, 'POST /v1/responses', { body }));
    const { json } = await send(gateway, `GET /v1/responses/${other.id}/input_items`);
    const [reference, ...items] = (json.data as object[]).map((item) => ({ ...item, id: '' }));
    assert.deepEqual(reference, { ...said, id: '' });
    const status = 'completed';
    assert.deepEqual(items, [
      {
        id: '',
        type: 'message',
        role: 'assistant',
        status,
        content: [{ type: 'output_text', text: 'Yes.', annotations: [], logprobs: [] }],
      },
      { id: '', ...input[2], status },
      { id: '', ...input[3], status },
      { id: '', ...input[4] },
      {
        ...{ id: '', type: 'message', role: 'assistant', status: 'incomplete' },
        content: [{ type: 'output_text', text: 'Cut', annotations: [], logprobs: [] }],
      },
      { id: '', type: 'message', role: 'user', status, content: [{ type: 'input_text', text: 'So?' }] },
      {
        ...{ id: '', type: 'shell_call', call_id: 'c2', environment: null, status },
        action: { commands: ['ls'], timeout_ms: 5, max_output_length: null },
      },
      { id: '', ...input[8], max_output_length: null, status },
      { id: '', ...input[9], call_id: null, execution: 'server', status },
    ]);
  });

  for (const query of ['limit=0', 'limit=101', 'after=msg_unknown']) {
    it(`refuses ${query}`, async () => {
      const answer = await send(gateway, `GET /v1/responses/${id}/input_items?${query}`);
      assertRefused(answer, { status: 400, code: 'invalid_parameter' });
    });
  }
});
