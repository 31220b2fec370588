import assert from 'node:assert/strict';
import { GatewayError } from '../../src/base/errors.ts';
import type { Runs } from '../../src/runs/runs.ts';
import { assertRefused, ended, eventsIn, open, responseIn, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway, until } from '../support/http-gateway.ts';

const ask = { model: 'deep', input: 'hello' };

describe('POST /v1/responses', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('streams all events of the run, numbered from 1', async () => {
    const answer = await send(gateway, 'POST /v1/responses', { body: ask });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(answer.headers.get('cache-control'), 'no-cache, no-transform');
    assert.equal(answer.headers.get('x-accel-buffering'), 'no');
    const events = eventsIn(answer);
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index + 1),
    );
    assert.equal(events[0]?.type, 'response.created');
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed' && last.response.output_text === 'You said: hello');
    assert.doesNotMatch(answer.text, /\[DONE\]/);
  });

  it('returns the whole response with stream: false', async () => {
    const response = responseIn(await send(gateway, 'POST /v1/responses', { body: { ...ask, stream: false } }));
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'You said: hello');
  });

  it('answers 200 with stream: false even if the run failed', async () => {
    const body = { ...ask, input: 'fail', stream: false };
    const response = responseIn(await send(gateway, 'POST /v1/responses', { body }));
    assert.equal(response.status, 'failed');
    assert.equal(response.error?.code, 'upstream_error');
  });

  it('answers background: true at once, in progress and without output', async () => {
    const body = { ...ask, background: true };
    const response = responseIn(await send(gateway, 'POST /v1/responses', { body }));
    assert.deepEqual([response.status, response.output, response.background], ['in_progress', [], true]);
    assert.equal((await ended(gateway, response.id)).output_text, 'You said: hello');
  });

  const ACCEPT: [string, 'stream' | 'json'][] = [
    ['application/json', 'json'],
    ['Application/JSON; q=0.9, text/plain', 'json'],
    ['application/json, text/event-stream', 'stream'],
    ['application/json, */*', 'stream'],
    ['application/json, */*;q=0.1', 'stream'],
    ['*/*', 'stream'],
    ['text/event-stream', 'stream'],
    ['text/html', 'stream'],
  ];
  for (const [accept, expected] of ACCEPT) {
    it(`answers Accept "${accept}" with ${expected} if the body has no stream`, async () => {
      const answer = await send(gateway, 'POST /v1/responses', { body: ask, headers: { accept } });
      const type = answer.headers.get('content-type') ?? '';
      assert.match(type, expected === 'json' ? /^application\/json/ : /^text\/event-stream/);
    });
  }

  it('prefers stream in the body to Accept; null counts as absent', async () => {
    const headers = { accept: 'application/json' };
    const streamed = await send(gateway, 'POST /v1/responses', { body: { ...ask, stream: true }, headers });
    assert.match(streamed.headers.get('content-type') ?? '', /event-stream/);
    const waited = await send(gateway, 'POST /v1/responses', {
      body: { ...ask, stream: false },
      headers: { accept: 'text/event-stream' },
    });
    responseIn(waited);
    responseIn(await send(gateway, 'POST /v1/responses', { body: { ...ask, stream: null }, headers }));
  });

  it('accepts background with stream: false or null', async () => {
    for (const stream of [false, null]) {
      responseIn(await send(gateway, 'POST /v1/responses', { body: { ...ask, background: true, stream } }));
    }
  });

  it('copies request parameters into the response', async () => {
    const given = {
      instructions: 'Be short.',
      max_output_tokens: 1000,
      max_tool_calls: 3,
      temperature: 2,
      top_p: 0,
      metadata: { team: 'a', nested: { n: 1 } },
      tool_choice: 'none',
    };
    const body = { ...ask, ...given, background: true, reasoning: { effort: 'xhigh' } };
    const response = responseIn(await send(gateway, 'POST /v1/responses', { body }));
    for (const [name, value] of Object.entries(given)) assert.deepEqual(Reflect.get(response, name), value, name);
    assert.equal(response.reasoning.effort, 'high');
  });

  it('breaks the connection of a stream that cannot continue', async () => {
    const wrapRuns = (runs: Runs): Runs => {
      const failing: Runs = Object.create(runs);
      failing.submit = (submission) => runs.submit(submission);
      failing.follow = async function* (run, options) {
        for await (const batch of runs.follow(run, options)) {
          yield batch;
          throw new GatewayError('store_unavailable', 'The store is gone.');
        }
      };
      return failing;
    };
    await using own = await openGateway({ wrapRuns });
    const stream = await open(own, 'POST /v1/responses', { body: ask });
    assert.equal(stream.status, 200);
    await assert.rejects(stream.text());
  });

  it('keeps the run going when the client disconnects', async () => {
    const leave = new AbortController();
    const stream = await open(gateway, 'POST /v1/responses', { body: { ...ask, input: 'wait' }, signal: leave.signal });
    const reader = stream.body?.getReader();
    const first = await reader?.read();
    const id = /"id":"(resp_[^"]+)"/.exec(Buffer.from(first?.value ?? []).toString())?.[1] ?? '';
    leave.abort();
    await until(() => (gateway.lines.some((line) => line.left === true) ? true : undefined));
    assert.equal(responseIn(await send(gateway, `GET /v1/responses/${id}`)).status, 'in_progress');
    await gateway.release();
    assert.equal((await ended(gateway, id)).output_text, 'You said: wait');
  });

  describe('input (docs/api.md, "POST /v1/responses")', () => {
    const echo = async (input: unknown, fields: object = {}) =>
      responseIn(
        await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input, stream: false, ...fields } }),
      );

    it('takes messages with and without type, and text parts', async () => {
      const response = await echo([
        { role: 'system', content: 'Be kind.' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'parts' }] },
      ]);
      assert.equal(response.output_text, 'You said: parts');
    });

    it('takes items copied from an earlier output', async () => {
      const earlier = await echo('first');
      const call = {
        type: 'tool_call',
        id: 'tc_1',
        name: 'web_search',
        arguments: '{}',
        result: '{}',
        status: 'completed',
      };
      const response = await echo([...earlier.output, call, { role: 'user', content: 'second' }]);
      assert.equal(response.output_text, 'You said: second');
    });

    it("resolves item references to the user's own responses", async () => {
      const [, message] = (await echo('first')).output;
      const reference = { type: 'item_reference', id: message?.id };
      assert.equal((await echo([reference, { role: 'user', content: 'second' }])).output_text, 'You said: second');
    });

    it('refuses more references than can be looked up', async () => {
      const [, message] = (await echo('first')).output;
      const references = Array.from({ length: 501 }, () => ({ type: 'item_reference', id: message?.id }));
      const answer = await send(gateway, 'POST /v1/responses', {
        body: { model: 'deep', input: [...references, { role: 'user', content: 'a' }] },
      });
      assertRefused(answer, { status: 400, code: 'invalid_parameter', param: 'input' });
    });

    it('refuses references that are unknown or foreign with 404', async () => {
      const [, message] = (await echo('mine')).output;
      for (const [key, id] of [
        ['bob', message?.id],
        ['ann', 'msg_nothing'],
      ] as const) {
        const body = {
          model: 'deep',
          input: [
            { role: 'user', content: 'a' },
            { type: 'item_reference', id },
          ],
        };
        const answer = await send(gateway, 'POST /v1/responses', { key, body });
        assertRefused(answer, { status: 404, code: 'not_found', param: 'input[1].id' });
      }
    });

    it('accepts images only if the model does', async () => {
      const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
      const input = [{ role: 'user', content: [{ type: 'input_text', text: 'what is it?' }, image] }];
      const refused = await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input } });
      assertRefused(refused, { status: 400, code: 'unsupported_parameter', param: 'input[0].content[1]' });
      assert.equal((await echo(input, { model: 'deep-eyes' })).status, 'completed');
    });

    it('continues an earlier response', async () => {
      const first = await echo('first');
      const second = await echo('second', { previous_response_id: first.id });
      assert.equal(second.previous_response_id, first.id);
    });

    it('refuses previous responses that are unknown, foreign or not completed', async () => {
      const failed = await echo('fail');
      const mine = await echo('mine');
      const ofNobody = 'resp_00000000-0000-4000-8000-000000000000';
      for (const [key, previous_response_id, status, code] of [
        ['ann', ofNobody, 404, 'not_found'],
        ['bob', mine.id, 404, 'not_found'],
        ['ann', failed.id, 400, 'invalid_parameter'],
      ] as const) {
        const answer = await send(gateway, 'POST /v1/responses', { key, body: { ...ask, previous_response_id } });
        assertRefused(answer, { status, code, param: 'previous_response_id' });
      }
    });
  });

  describe('x-ignored-parameters', () => {
    const ignoredIn = async (body: object) =>
      (await send(gateway, 'POST /v1/responses', { body: { ...ask, background: true, ...body } })).headers.get(
        'x-ignored-parameters',
      );

    it('lists known and unknown fields that are ignored', async () => {
      const header = await ignoredIn({ user: 'u', include: [], parallel_tool_calls: false, nonsense: 1 });
      assert.deepEqual(header?.split(', ').sort(), ['include', 'nonsense', 'parallel_tool_calls', 'user']);
    });

    it('lists empty tools and text, and ignored members of text', async () => {
      assert.equal(await ignoredIn({ tools: [], text: {} }), 'tools, text');
      const parts = { text: { verbosity: 'low' }, reasoning: { effort: 'low', summary: 'auto' } };
      assert.equal(await ignoredIn(parts), 'text.verbosity');
    });

    it('is absent if nothing is ignored; null fields are not listed', async () => {
      assert.equal(await ignoredIn({ user: null, temperature: 1, text: { format: { type: 'text' } } }), null);
    });

    it('encodes and bounds arbitrary field names', async () => {
      const header = await ignoredIn({ 'a\r\nset-cookie: x': 1, 'naïve ✓ \ud800': 2, ['x'.repeat(5000)]: 3 });
      assert.ok(header?.startsWith('a%0D%0Aset-cookie%3A%20x, na%C3%AFve%20%E2%9C%93'), header ?? '');
      const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, n]));
      assert.equal((await ignoredIn(many))?.split(', ').length, 50);
    });
  });

  it('shows the same responses to two keys of one user', async () => {
    const id = await submit(gateway, 'shared');
    assert.equal((await send(gateway, `GET /v1/responses/${id}`, { key: 'ann2' })).status, 200);
  });
});

describe('a requested tool that the model lacks', () => {
  it('is reported in the warnings of a response and a chat completion', async () => {
    await using gateway = await openGateway();
    const tools = [{ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }];
    const warnings = [
      { code: 'tool_unavailable', message: 'This model has no code_interpreter tool.', param: 'tools[1]' },
    ];
    const named = ({ json }: { json: Record<string, unknown> }) =>
      (json.warnings as { code: string }[]).filter(({ code }) => code === 'tool_unavailable');
    const response = await send(gateway, 'POST /v1/responses', {
      body: { model: 'deep', input: 'hello', stream: false, tools },
    });
    assert.deepEqual(named(response), warnings);
    const messages = [{ role: 'user', content: 'hello' }];
    const completion = await send(gateway, 'POST /v1/chat/completions', { body: { model: 'deep', messages, tools } });
    assert.deepEqual(named(completion), warnings);
  });
});

describe('a response with a webhook', () => {
  it('is on the list of deliveries before it ends, so that no crash at its end loses one', async () => {
    await using gateway = await openGateway();
    const { deliveries } = gateway.storage;
    for (const [fields, expected] of [
      [{ webhook: undefined }, 0],
      [{ webhook: { url: 'https://example.com/hook' } }, 1],
    ] as const) {
      const body = { model: 'deep', input: 'wait', background: true, ...fields };
      assert.equal((await send(gateway, 'POST /v1/responses', { body })).status, 200);
      assert.equal(await deliveries.count(), expected);
    }
  });
});

describe('a key with profile: openai', () => {
  it('gets a stream only for stream: true, whatever it accepts; other keys get one by default', async () => {
    await using gateway = await openGateway({ keys: [{ id: 'o', secret: 'sk-openai-profile', profile: 'openai' }] });
    const typeOf = async (headers: Record<string, string>, body: object = {}) => {
      const answer = await send(gateway, 'POST /v1/responses', { body: { ...ask, ...body }, headers });
      return answer.headers.get('content-type')?.split(';')[0];
    };
    const key = { authorization: 'Bearer sk-openai-profile' };
    assert.equal(await typeOf(key), 'application/json');
    assert.equal(await typeOf({ ...key, accept: 'text/event-stream' }), 'application/json');
    assert.equal(await typeOf(key, { stream: true }), 'text/event-stream');
    assert.equal(await typeOf({}), 'text/event-stream');
  });
});
