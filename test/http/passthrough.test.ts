import assert from 'node:assert/strict';
import { GatewayError } from '../../src/base/errors.ts';
import { assertRefused, open, rawExchange, send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';

const RAW = '{"seed":12345678901234567890, "nested":{"model":"no"},"model" : "gpt","messages":[],"stream":true}';

describe('proxy models in the HTTP layer', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());
  beforeEach(() => {
    gateway.calls.length = 0;
  });

  const JSON_CALLS: [string, string][] = [
    ['/v1/chat/completions', 'chat_completions'],
    ['/v1/responses', 'responses'],
    ['/v1/embeddings', 'embeddings'],
    ['/v1/audio/speech', 'audio/speech'],
  ];
  for (const [path, api] of JSON_CALLS) {
    it(`POST ${path} is passed on byte for byte, with the position of the model name`, async () => {
      const answer = await send(gateway, `POST ${path}?timeout=1`, { raw: RAW });
      assert.deepEqual([answer.status, answer.text], [200, RAW]);
      const [call] = gateway.calls;
      assert.ok(call);
      assert.equal(call.request.body.toString(), RAW);
      assert.equal(RAW.slice(call.request.modelAt.start, call.request.modelAt.end), '"gpt"');
      assert.deepEqual(
        [call.request.api, call.request.path, call.modelName, call.stream, call.request.encoding, call.key.id],
        [api, `${path.slice(3)}?timeout=1`, 'gpt', true, 'json', 'ann'],
      );
    });
  }

  it('forms are passed on by their model field', async () => {
    const form = new FormData();
    form.set('file', new Blob(['name="model"\r\n\r\nno'], { type: 'audio/wav' }), 'model.wav');
    form.set('model', 'gpt');
    form.set('language', 'en');
    const encoded = new Request('http://localhost/', { method: 'POST', body: form });
    const raw = new Uint8Array(await encoded.arrayBuffer());
    const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
    const answer = await send(gateway, 'POST /v1/audio/transcriptions', { raw, headers });
    assert.equal(answer.status, 200, answer.text);
    const { body, encoding, modelAt } = gateway.calls[0]?.request ?? {};
    assert.ok(encoding === 'multipart' && body !== undefined && body.equals(raw));
    assert.equal(body.toString('utf8', modelAt?.start, modelAt?.end), 'gpt');
  });

  it('other methods with a body are passed on too', async () => {
    const answer = await send(gateway, 'PATCH /v1/audio/voices', { body: { model: 'gpt' } });
    assert.equal(answer.status, 200);
  });

  const REFUSED: [string, string, object, number, string][] = [
    ['a body without a model', '/v1/embeddings', { raw: '{"input":"a"}' }, 404, 'not_found'],
    ['a form without a model', '/v1/audio/speech', form('voice', 'a'), 404, 'not_found'],
    [
      'a body of another type',
      '/v1/embeddings',
      { raw: 'a', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    [
      'a body that curl sends without a type of its own',
      '/v1/audio/speech',
      { raw: '{"model":"gpt"}', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ],
    [
      'a body of another type for an API that no model declares',
      '/v1/moderations',
      { raw: 'a', headers: { 'content-type': 'text/plain' } },
      404,
      'not_found',
    ],
    ['an unknown model', '/v1/embeddings', { raw: '{"model":"nope"}' }, 404, 'model_not_found'],
    ['a model that is not a string', '/v1/embeddings', { raw: '{"model":7}' }, 400, 'invalid_parameter'],
    ['an API that is not declared', '/v1/moderations', { raw: '{"model":"gpt"}' }, 400, 'unsupported_api'],
    ['broken JSON', '/v1/embeddings', { raw: '{"model":"gpt"' }, 400, 'invalid_json'],
    ['a model named twice', '/v1/embeddings', { raw: '{"model":"gpt-9","model":"gpt"}' }, 400, 'invalid_parameter'],
    ['a model and a Model', '/v1/embeddings', { raw: '{"model":"gpt","Model":"o"}' }, 400, 'invalid_parameter'],
    [
      'a model named twice, once with escapes',
      '/v1/chat/completions',
      { raw: '{"mod\\u0065l":"x","model":"gpt"}' },
      400,
      'invalid_parameter',
    ],
    [
      'a compressed body',
      '/v1/embeddings',
      { raw: 'x', headers: { 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
  ];
  for (const [what, path, options, status, code] of REFUSED) {
    it(`${what} is refused: ${status} ${code}`, async () => {
      assertRefused(await send(gateway, `POST ${path}`, options), { status, code });
      assert.equal(gateway.calls.length, 0);
    });
  }

  it('an absolute-form target is read like its path', async () => {
    const headers = `Authorization: Bearer ${KEYS.ann}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const line = 'POST http://gateway.example/v1/embeddings?a=1 HTTP/1.1\r\n';
    await rawExchange(gateway, `${line}${headers}Content-Length: ${RAW.length}\r\n\r\n${RAW}`);
    assert.equal(gateway.calls[0]?.request.path, '/embeddings?a=1');
  });

  it('the signal aborts when the client disconnects before the headers', async () => {
    const left = Promise.withResolvers<unknown>();
    const proxy = ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          left.resolve(signal.reason);
          reject(signal.reason);
        });
      });
    await using own = await openGateway({ proxy });
    const leave = new AbortController();
    const request = open(own, 'POST /v1/chat/completions', { raw: RAW, signal: leave.signal });
    await until(() => own.calls[0]);
    leave.abort();
    await assert.rejects(request);
    assert.equal(String(await left.promise), 'ClientLeft: The client closed the connection.');
    const line = await until(() => own.lines.find(({ msg }) => msg === 'request'));
    assert.deepEqual([line.left, line.status, line.error], [true, 0, undefined]);
    await send(own, 'GET /healthz');
    assert.ok(!own.lines.some(({ level }) => Number(level) >= 40), 'a disconnect is not logged as a failure');
  });

  it('a failure is an error answer before the first byte, and breaks the connection after it', async () => {
    const fail = new GatewayError('upstream_timeout', 'The provider did not answer.');
    await using early = await openGateway({ proxy: () => Promise.reject(fail) });
    const answer = await send(early, 'POST /v1/chat/completions', { raw: RAW });
    assertRefused(answer, { status: 504, code: 'upstream_timeout' });
    assert.equal(answer.headers.get('x-should-retry'), 'true');

    await using late = await openGateway({
      proxy: async ({ res }) => {
        res.writeHead(200);
        await new Promise((resolve) => res.write('half', resolve));
        throw fail;
      },
    });
    await assert.rejects(send(late, 'POST /v1/chat/completions', { raw: RAW }));
  });
});

function form(name: string, value: string) {
  const raw = `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`;
  return { raw, headers: { 'content-type': 'multipart/form-data; boundary=b' } };
}
