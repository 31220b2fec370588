import assert from 'node:assert/strict';
import { parsePublicId } from '../../src/base/ids.ts';
import { assertRefused, eventsIn, open, responseIn, send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';
import { SseReader } from '../support/sse-reader.ts';

const NOT_FOUND = { status: 404, code: 'not_found' };

describe('a response with store: false', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const ask = (fields: object = {}, headers = {}) =>
    send(gateway, 'POST /v1/responses', {
      body: { model: 'deep', input: 'hello', stream: false, store: false, ...fields },
      headers,
    });

  it('is answered completely, streamed or not, and cannot be found afterwards', async () => {
    const whole = responseIn(await ask());
    assert.deepEqual([whole.store, whole.output_text], [false, 'You said: hello']);
    const streamed = eventsIn(await ask({ stream: true, input: 'long 50' }));
    const last = streamed.at(-1);
    assert.ok(last?.type === 'response.completed');
    for (const { id, output } of [whole, last.response]) {
      for (const request of [
        `GET /v1/responses/${id}`,
        `GET /v1/responses/${id}?stream=true`,
        `GET /v1/responses/${id}/input_items`,
        `GET /v1/responses/${id}/report`,
        `POST /v1/responses/${id}/cancel`,
        `DELETE /v1/responses/${id}`,
        `GET /v1/async/${id.replace('resp_', 'task_')}`,
      ]) {
        assertRefused(await send(gateway, request), NOT_FOUND);
      }
      const item = { type: 'item_reference', id: output.at(-1)?.id };
      assertRefused(await ask({ input: [item, { role: 'user', content: 'So?' }] }), NOT_FOUND);
      assertRefused(await ask({ previous_response_id: id }), { ...NOT_FOUND, param: 'previous_response_id' });
      assertRefused(await send(gateway, `GET /v1/responses?after=${id}`), { status: 400, code: 'invalid_parameter' });
    }
    const { json } = await send(gateway, 'GET /v1/responses');
    assert.deepEqual(json.data, []);
  });

  it('can be read by its user while it runs, to its end', async () => {
    const body = JSON.stringify({ model: 'deep', input: 'wait', store: false });
    const headers = { authorization: `Bearer ${KEYS.ann}`, 'content-type': 'application/json' };
    const first = await SseReader.open(`${gateway.url}/v1/responses`, { method: 'POST', headers, body });
    const [created] = await first.until((events) => events.length > 0);
    assert.ok(created?.type === 'response.created');
    const { id } = created.response;
    const second = await open(gateway, `GET /v1/responses/${id}?stream=true`);
    assertRefused(await send(gateway, `GET /v1/responses/${id}`, { key: 'bob' }), NOT_FOUND);
    assert.deepEqual((await send(gateway, 'GET /v1/responses')).json.data, []);
    await gateway.release();
    await first.end();
    assert.equal(first.events.at(-1)?.type, 'response.completed');
    assert.equal(await second.text(), first.bytes.toString());
    assertRefused(await send(gateway, `GET /v1/responses/${id}`), NOT_FOUND);
  });

  it("answers a client's retry, and is kept only as long as that", async () => {
    const first = responseIn(await ask({ input: 'once' }));
    const again = await ask({ input: 'once' }, { 'x-stainless-retry-count': '1' });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(responseIn(again), first);
    const run = await gateway.storage.runs.get(parsePublicId('responses', first.id) ?? '');
    const keptMs = (run?.expiresAt ?? 0) - (run?.endedAt ?? 0);
    assert.ok(keptMs >= 120_000 && keptMs < 125_000, `${keptMs}`);
  });

  it('cannot be combined with background or a conversation', async () => {
    const refused = { status: 400, code: 'conflicting_parameters', param: 'store' };
    assertRefused(await ask({ background: true, stream: undefined }), refused);
    const { json } = await send(gateway, 'POST /v1/conversations', { body: {} });
    assertRefused(await ask({ conversation: json.id }), refused);
    assertRefused(await ask({ store: 'no' }), { status: 400, code: 'invalid_parameter', param: 'store' });
  });
});
