import assert from 'node:assert/strict';
import { assertRefused, open, responseIn, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { send as askGateway, chat, startProxyGateway } from '../support/proxy-gateway.ts';
import { stallAfter, startScriptedProvider } from '../support/scripted-provider.ts';

/** Reads an answer until `enough` returns true; `rest` reads to its end. */
async function readUntil(answer: Response, enough: (text: string) => boolean) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  let text = '';
  while (!enough(text)) {
    const { value, done } = await reader.read();
    assert.ok(!done, `ended early with ${text}`);
    text += value;
  }
  return {
    text,
    async rest() {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return text;
        text += value;
      }
    },
  };
}

const beats = (text: string) => text.split(': heartbeat\n\n').length - 1;

describe('heartbeats', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway({ server: { heartbeat_seconds: 0.03 } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('are sent in a waiting stream, only between frames', async () => {
    const answer = await open(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'wait' } });
    const reading = await readUntil(answer, (text) => beats(text) >= 3);
    await gateway.release();
    const text = await reading.rest();
    for (const frame of text.split('\n\n').slice(0, -1))
      assert.match(frame, /^(: heartbeat|event: [\w.]+\ndata: \{.*\})$/);
    assert.match(text, /event: response\.completed/);
  });

  it('are sent in a resumed stream', async () => {
    const id = await submit(gateway, 'wait');
    const answer = await open(gateway, `GET /v1/responses/${id}?stream=true`);
    const reading = await readUntil(answer, (text) => beats(text) >= 2);
    await gateway.release();
    await reading.rest();
  });

  it('are sent in a chat stream, after its role chunk', async () => {
    const body = { model: 'deep', messages: [{ role: 'user', content: 'wait' }], stream: true };
    const answer = await open(gateway, 'POST /v1/chat/completions', { body });
    const reading = await readUntil(answer, (text) => beats(text) >= 2);
    assert.match(reading.text, /"role":"assistant"/);
    await gateway.release();
    assert.match(await reading.rest(), /data: \[DONE\]\n\n$/);
  });

  it('are white space before the JSON of a response with stream: false', async () => {
    const answer = await open(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'wait', stream: false } });
    assert.equal(answer.status, 200);
    const reading = await readUntil(answer, (text) => text.length >= 3);
    assert.equal(reading.text.trim(), '');
    await gateway.release();
    const text = await reading.rest();
    assert.equal(JSON.parse(text).output_text, 'You said: wait');
  });

  it('are white space before the JSON of a chat completion that is not streamed', async () => {
    const body = { model: 'deep', messages: [{ role: 'user', content: 'wait' }] };
    const answer = await open(gateway, 'POST /v1/chat/completions', { body });
    const reading = await readUntil(answer, (text) => text.length >= 2);
    await gateway.release();
    assert.equal(JSON.parse(await reading.rest()).choices[0].finish_reason, 'stop');
  });
});

describe('a gateway that stops', () => {
  it('ends streams after a whole frame, without a terminal event, and closes connections', async () => {
    await using gateway = await openGateway();
    const answer = await open(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'wait' } });
    const reading = await readUntil(answer, (text) => text.includes('response.in_progress'));
    gateway.stop();
    const text = await reading.rest();
    assert.doesNotMatch(text, /response\.(completed|failed)/);
    assert.ok(text.endsWith('\n\n'));
    await until(async () => ((await connectionsOf(gateway)) === 0 ? true : undefined));
  });

  it('logs which streams it cut', async () => {
    await using provider = await startScriptedProvider();
    provider.respond = () => stallAfter(3, { text: 'one two three four five' });
    const gateway = await startProxyGateway({ providers: { one: { url: provider.url } } });
    const streams = [
      { path: '/responses', body: { model: 'deep', input: 'Why?', stream: true } },
      { path: '/chat/completions', body: chat({ model: 'deep', stream: true }) },
      { path: '/chat/completions', body: chat({ model: 'fast', stream: true }) },
    ];
    const begun = await Promise.all(
      streams.map(async ({ path, body }) => {
        const answer = await askGateway(gateway, path, { body });
        return await readUntil(answer, (text) => text.includes('one'));
      }),
    );
    const ended = begun.map((reading) => reading.rest().catch(() => ''));
    await gateway[Symbol.asyncDispose]();
    await Promise.all(ended);
    const lines = gateway.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    assert.deepEqual(
      lines.map(({ path, status, error }) => `${path} ${status} ${error}`).sort(),
      ['/v1/chat/completions', '/v1/chat/completions', '/v1/responses'].map((path) => `${path} 200 shutting_down`),
    );
  });

  it('ends waiting requests with a 503 before the headers, or a broken connection after them', async () => {
    await using gateway = await openGateway();
    const body = { model: 'deep', input: 'wait', stream: false };
    const waiting = send(gateway, 'POST /v1/responses', { body });
    await until(async () => ((await gateway.runs.countOpen()).inProgress === 1 ? true : undefined));
    gateway.stop();
    const refused = await waiting;
    assertRefused(refused, { status: 503, code: 'shutting_down' });
    assert.match(refused.text, /goes on: get resp_[\w-]+ instead of asking again/);

    await using beating = await openGateway({ server: { heartbeat_seconds: 0.02 } });
    const answer = await open(beating, 'POST /v1/responses', { body });
    const reading = await readUntil(answer, (text) => text.length > 0);
    beating.stop();
    await assert.rejects(reading.rest());
  });

  it('fails /readyz, but still answers reads', async () => {
    await using gateway = await openGateway();
    const id = await submit(gateway, 'hello');
    gateway.stop();
    assert.equal((await send(gateway, 'GET /readyz', { key: null })).status, 503);
    assert.equal((await send(gateway, 'GET /healthz', { key: null })).status, 200);
    responseIn(await send(gateway, `GET /v1/responses/${id}`));
  });
});

function connectionsOf({ server }: TestGateway): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
