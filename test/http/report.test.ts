import assert from 'node:assert/strict';
import { timeline } from '../../src/protocol/timeline.ts';
import { readOffice } from '../../src/tools/fetch-url-content/reading/office/office.ts';
import { assertRefused, ended, open, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

describe('GET /v1/responses/:id/report', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('returns the finished report as Markdown, HTML or JSON, with a filename and a sandbox policy', async () => {
    const id = await submit(gateway, '# Hello <b>you</b>');
    await ended(gateway, id);
    const path = `GET /v1/responses/${id}/report`;
    for (const [query, type, shown] of [
      ['', 'text/markdown; charset=utf-8', 'You said: # Hello <b>you</b>'],
      ['?format=md', 'text/markdown; charset=utf-8', '# Hello <b>you</b>'],
      ['?format=html', 'text/html; charset=utf-8', 'Hello &lt;b&gt;you&lt;/b&gt;'],
      ['?format=json', 'application/json; charset=utf-8', '"text": "You said: # Hello <b>you</b>"'],
    ] as const) {
      const answer = await send(gateway, path + query);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type]);
      assert.ok(answer.text.includes(shown), answer.text);
      assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="hello-b-you-b-[\d-]+\./);
      assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox/);
    }
    assert.equal((await send(gateway, `HEAD /v1/responses/${id}/report`)).status, 200);
    const refused = await send(gateway, `${path}?format=pdf`);
    assertRefused(refused, { status: 400, code: 'invalid_parameter', param: 'format' });
    assert.match(refused.text, /format: expected one of md, html, docx, json\./);
  });

  it('has a /timeline beside it with the time of each event, in order', async () => {
    const id = await submit(gateway, 'hello');
    await ended(gateway, id);
    const answer = await send(gateway, `GET /v1/responses/${id}/timeline`);
    const { object, times, turns } = timeline.parse(answer.json);
    const events = await send(gateway, `GET /v1/responses/${id}?stream=true`);
    assert.equal(object, 'response.timeline');
    assert.equal(times.at(-1)?.[0], events.text.split('\nevent: ').length);
    assert.deepEqual(
      times,
      times.toSorted(([a, at], [b, bt]) => a - b || at - bt),
    );
    assert.ok(turns.every(({ started_ms, ended_ms }) => started_ms <= ended_ms));
    assert.ok(turns.length > 0, answer.text);
  });

  it('returns a Word document, with a filename in any script', async () => {
    const id = await submit(gateway, 'Größe: </w:t> \u0001 שלום');
    await ended(gateway, id);
    const path = `/v1/responses/${id}/report?format=docx`;
    const answer = await open(gateway, `GET ${path}`);
    const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type]);
    assert.match(
      answer.headers.get('content-disposition') ?? '',
      /^attachment; filename="groe-w-t-\d{4}-\d\d-\d\d\.docx"; filename\*=UTF-8''gr%C3%B6%C3%9Fe-w-t-%D7[%\dA-F]+-[\d-]+\.docx$/,
    );
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(Number(answer.headers.get('content-length')), bytes.length);
    const { content } = await readOffice({ kind: 'docx', bytes });
    assert.match(content, /^# Größe: <\/w:t> שלום\n\n[\s\S]*You said: Größe: <\/w:t> {1,2}שלום/);
    const head = await send(gateway, `HEAD ${path}`);
    assert.deepEqual([head.status, head.headers.get('content-type'), head.text], [200, type, '']);
  });

  it('answers 400 while the response is in progress, and 404 if it ended without text', async () => {
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
