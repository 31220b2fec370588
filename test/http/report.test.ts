import assert from 'node:assert/strict';
import { assertRefused, ended, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

describe('GET /v1/responses/:id/report', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('gives the finished report as Markdown or HTML, with a name and a policy of its own', async () => {
    const id = await submit(gateway, '# Hello <b>you</b>');
    await ended(gateway, id);
    const path = `GET /v1/responses/${id}/report`;
    for (const [query, type, shown] of [
      ['', 'text/markdown; charset=utf-8', 'You said: # Hello <b>you</b>'],
      ['?format=md', 'text/markdown; charset=utf-8', '# Hello <b>you</b>'],
      ['?format=html', 'text/html; charset=utf-8', 'Hello &lt;b&gt;you&lt;/b&gt;'],
    ] as const) {
      const answer = await send(gateway, path + query);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type]);
      assert.ok(answer.text.includes(shown), answer.text);
      assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="hello-b-you-b-[\d-]+\./);
      assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox/);
    }
    assert.equal((await send(gateway, `HEAD /v1/responses/${id}/report`)).status, 200);
    assertRefused(await send(gateway, `${path}?format=pdf`), {
      status: 400,
      code: 'invalid_parameter',
      param: 'format',
    });
  });

  it('400 while the response is in progress, 404 where it ended without a text', async () => {
    const waiting = await submit(gateway, 'wait');
    const early = await send(gateway, `GET /v1/responses/${waiting}/report`);
    assertRefused(early, { status: 400, code: 'invalid_parameter' });
    await send(gateway, `POST /v1/responses/${waiting}/cancel`);
    const cancelled = await send(gateway, `GET /v1/responses/${waiting}/report`);
    assertRefused(cancelled, { status: 404, code: 'not_found' });
    const failing = await submit(gateway, 'fail late');
    await ended(gateway, failing);
    const { text } = await send(gateway, `GET /v1/responses/${failing}/report`);
    assert.match(text, /The run failed; the text is incomplete\. The provider answered 500/);
  });
});
