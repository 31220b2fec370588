import assert from 'node:assert/strict';
import { rawExchange } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

const LOCAL = [{ id: 'default', secret: 'sk-local' }];

/** Status and error code of `GET path` with these header lines. */
async function ask(gateway: TestGateway, lines: string[], path = '/v1/models') {
  const head = [`GET ${path} HTTP/1.1`, ...lines, 'Authorization: Bearer sk-local', 'Connection: close'];
  const answer = await rawExchange(gateway, `${head.join('\r\n')}\r\n\r\n`);
  return [Number(answer.split(' ')[1]), /"code":"(\w+)"/.exec(answer)?.[1]];
}

const REFUSED = [403, 'origin_not_allowed'];

describe('a gateway that accepts the well-known key', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway({
      keys: LOCAL,
      server: { cors_origins: ['https://app.example', 'tauri://localhost'] },
    });
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const host of ['localhost', 'LocalHost:8080', 'localhost.:80', '127.0.0.1:8080', '127.9.8.7', '[::1]:8080']) {
    it(`answers for host ${host}`, async () => {
      assert.deepEqual(await ask(gateway, [`Host: ${host}`]), [200, undefined]);
    });
  }

  for (const host of [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example#127.0.0.1',
    '127.0.0.1@evil.example',
    '192.168.1.5:8080',
    '0.0.0.0',
    '[::2]',
    '',
  ]) {
    it(`refuses host ${host || '(empty)'}, against DNS rebinding`, async () => {
      assert.deepEqual(await ask(gateway, [`Host: ${host}`]), REFUSED);
      assert.deepEqual(await ask(gateway, [`Host: ${host}`], '/healthz'), REFUSED);
      assert.deepEqual(await ask(gateway, [`Host: ${host}`], '/v1/files/x'), REFUSED);
    });
  }

  for (const [origin, expected] of [
    ['http://127.0.0.1:8080', [200, undefined]],
    ['https://127.0.0.1:8080', [200, undefined]],
    ['https://app.example', [200, undefined]],
    ['tauri://localhost', [200, undefined]],
    ['http://127.0.0.1:3000', REFUSED],
    ['http://localhost:8080', REFUSED],
    ['https://app.example.evil.example', REFUSED],
    ['http://app.example', REFUSED],
    ['null', REFUSED],
  ] as const) {
    it(`${expected[0] === 200 ? 'answers' : 'refuses'} origin ${origin}`, async () => {
      assert.deepEqual(await ask(gateway, ['Host: 127.0.0.1:8080', `Origin: ${origin}`]), expected);
    });
  }

  it('answers requests without Host and Origin', async () => {
    assert.deepEqual(await ask(gateway, []), [200, undefined]);
  });

  it('checks neither if only other keys are accepted, as behind a reverse proxy', async () => {
    await using own = await openGateway({ keys: [{ id: 'own', secret: 'sk-of-my-own' }] });
    const answer = await ask(own, ['Host: research.example', 'Origin: https://evil.example']);
    assert.deepEqual(answer, [401, 'invalid_api_key']);
  });

  it('follows reloads that add or remove the well-known key', async () => {
    await using own = await openGateway();
    const evil = () => ask(own, ['Host: evil.example']);
    assert.deepEqual(await evil(), [401, 'invalid_api_key']);
    const config = own.parts.config.current();
    own.configure({ ...config, keys: config.keys.map((key) => ({ ...key, secret: 'sk-local' })).slice(0, 1) });
    assert.deepEqual(await evil(), REFUSED);
    own.configure(config);
    assert.deepEqual(await evil(), [401, 'invalid_api_key']);
  });

  it('answers every origin with cors_origins: *', async () => {
    await using open = await openGateway({ keys: LOCAL, server: { cors_origins: ['*'] } });
    assert.deepEqual(await ask(open, ['Host: localhost', 'Origin: null']), [200, undefined]);
  });
});
