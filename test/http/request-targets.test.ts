import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { normaliseTarget, providerAddress } from '../../src/protocol/requests/request-target.ts';
import { rawExchange } from '../support/http-client.ts';
import { CLIENT_KEY, type ProxyGateway, startProxyGateway } from '../support/proxy-gateway.ts';
import { startWebServer } from '../support/web-server.ts';

const BODY = '{"model":"fast","messages":[{"role":"user","content":"hello"}]}';

/** A provider with a base path that records the target of every request. */
async function startRecordingProvider() {
  const targets: string[] = [];
  const web = await startWebServer((req, res) => {
    targets.push(`${req.method} ${req.url}`);
    req.resume();
    const answer = '{"choices":[{"message":{"content":"hello"}}],"data":[{"embedding":[1]}]}';
    res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  return { ...web, targets, url: `${web.origin}/tenant/v1` };
}

/** Percent-encodes every character three times. */
function encodedOften(text: string): string {
  const encoded = Buffer.from(text).toString('hex').replace(/../g, '%$&');
  return encoded.replaceAll('%', '%25').replaceAll('%', '%25');
}

describe('request targets', () => {
  let provider: Awaited<ReturnType<typeof startRecordingProvider>>;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();
  before(async () => {
    provider = stack.use(await startRecordingProvider());
    gateway = stack.use(
      await startProxyGateway({
        providers: { only: { url: provider.url, apiKey: 'sk-operator' } },
        passthrough: [{ path: '/v1/files', provider: 'only' }],
        key: { passthrough: 'all' },
      }),
    );
  });
  after(() => stack.disposeAsync());
  beforeEach(() => {
    provider.targets.length = 0;
  });

  const ask = async (line: string) => {
    const head = `Authorization: Bearer ${CLIENT_KEY}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const request = `${line} HTTP/1.1\r\nHost: a\r\n${head}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
    const answer = await rawExchange(gateway, Buffer.from(request, 'latin1'));
    return { status: Number(answer.split(' ')[1]), code: /"code":"(\w+)"/.exec(answer)?.[1], answer };
  };

  for (const line of [
    'POST /v1/chat/completions#/../../files',
    'DELETE /v1/embeddings#/../files/file-123',
    'PUT /v1/embeddings#/../../../x',
    'POST /v1/embeddings?a=1#/../files',
    'POST http://a/v1/embeddings#/../../files',
    'POST /v1/embeddings/\\..\\..\\files',
    'POST /v1/embeddings?a=\\',
    'POST /v1/embeddings/\xff',
    'POST /v1/embeddings?a=\xe4',
    'POST /v1/embeddings/<script>',
    'POST /v1/embeddings?a="b"',
    'POST /v1/embeddings/%',
    'POST /v1/embeddings/%4',
    'POST /v1/embeddings?a=%zz',
    'POST ftp://a/v1/embeddings',
    'POST http://user@a/v1/embeddings',
    'POST embeddings',
    `POST /v1/embeddings?a=${'x'.repeat(8192)}`,
  ]) {
    it(`${line.slice(0, 60)}: 400 invalid_request_target, and nothing reaches the provider`, async () => {
      const { status, code, answer } = await ask(line);
      assert.deepEqual([status, code], [400, 'invalid_request_target'], answer);
      assert.deepEqual(provider.targets, []);
    });
  }

  for (const path of [
    'embeddings/../files',
    'embeddings/./files',
    'embeddings/..',
    'embeddings/%2e%2E/files',
    'embeddings/.%2e/files',
    'embeddings/..%2ffiles',
    'embeddings/..%5Cfiles',
    'embeddings/%252e%252e/files',
    'embeddings/%25252e%25252e/files',
    'embeddings/%2525252e%2525252e/files',
    'embeddings/%252525252e%252525252e/files',
    'embeddings/..;/files',
    'embeddings/..;a=1/files',
    'embeddings/%2e%2e%3b/files',
    'embeddings/%00/files',
    'embeddings/%0d%0aX:1/files',
    'embeddings%2f..%2ffiles',
    '../v1/embeddings/%7f',
    'embeddings/..?x',
    '/embeddings/..//files',
    'embeddings/%2e%2e%20/files',
    'embeddings/%20../files',
    'embeddings/..%a0/files',
    'embeddings/..%c2%a0/files',
    'embeddings/..%23/files',
    'embeddings/..%3fa/files',
    'embeddings/..%253fa/files',
    'embeddings/%ef%bc%8e%ef%bc%8e/files',
    'embeddings/%25ef%25bc%258e./files',
    'embeddings/%e2%80%a5/files',
    'embeddings/..%ef%bc%8ffiles',
    'embeddings/..%ef%bc%bcfiles',
    'embeddings/%c0%ae%c0%ae/files',
    'embeddings/%e0%80%ae./files',
    'embeddings/%ff/files',
  ]) {
    it(`POST /v1/${path} reaches no provider: it leaves the declared API`, async () => {
      const { status, answer } = await ask(`POST /v1/${path}`);
      assert.ok(status === 404 || status === 400, answer);
      assert.deepEqual(provider.targets, []);
    });
  }

  for (const [target, expected] of [
    ['/v1/embeddings', '/tenant/v1/embeddings'],
    ['//v1///embeddings', '/tenant/v1/embeddings'],
    ['/v1/embeddings//', '/tenant/v1/embeddings/'],
    ['http://gateway.example/v1/embeddings?a=1', '/tenant/v1/embeddings?a=1'],
    ['HTTPS://gateway.example:99//v1/chat/completions', '/tenant/v1/chat/completions'],
    ['/v1/audio/speech;x=1', '/tenant/v1/audio/speech;x=1'],
    ['/v1/audio/a%20b', '/tenant/v1/audio/a%20b'],
    ['/v1/audio/%C3%A4...%20.%25/..b', '/tenant/v1/audio/%C3%A4...%20.%25/..b'],
    ["/v1/embeddings?q='a'&&b=//../x&c[]=%2e%2E+%20&d", "/tenant/v1/embeddings?q='a'&&b=//../x&c[]=%2e%2E+%20&d"],
    [
      "/v1/chat/completions?q='a'&&b=//../x&c[]=%2e+%20&d=",
      "/tenant/v1/chat/completions?q='a'&&b=//../x&c[]=%2e+%20&d=",
    ],
    ['/v1/embeddings?a=b?c=/d', '/tenant/v1/embeddings?a=b?c=/d'],
    [
      '/v1/embeddings?key=1&token=a&secret=s&api%5Fkey=%41&x-api-key&page_token=2',
      '/tenant/v1/embeddings?key=1&token=a&secret=s&api%5Fkey=%41&x-api-key&page_token=2',
    ],
    [
      `/v1/embeddings?q=${CLIENT_KEY}x&a=%41&q=x${CLIENT_KEY}`,
      `/tenant/v1/embeddings?q=${CLIENT_KEY}x&a=%41&q=x${CLIENT_KEY}`,
    ],
    [`/v1/embeddings?key=${CLIENT_KEY}`, '/tenant/v1/embeddings'],
    [`/v1/embeddings?key=a&&key=${CLIENT_KEY}&key=&any=${CLIENT_KEY}&%41`, '/tenant/v1/embeddings?key=a&&key=&%41'],
    [`/v1/chat/completions?k=${CLIENT_KEY.replace('-', '%2D')}&a=1`, '/tenant/v1/chat/completions?a=1'],
    [`/v1/chat/completions?k=${encodedOften(CLIENT_KEY)}&a=1`, '/tenant/v1/chat/completions?a=1'],
    [`/v1/files/x?authorization=Bearer%20${CLIENT_KEY}&a=1`, '/tenant/v1/files/x?a=1'],
    ["/v1/files/x?a=http://b//c?d=/../e&&'[]%2f+%25", "/tenant/v1/files/x?a=http://b//c?d=/../e&&'[]%2f+%25"],
    [`/v1/files/x?a=1&${CLIENT_KEY}`, '/tenant/v1/files/x?a=1'],
  ] as const) {
    it(`POST ${target} goes to ${expected}`, async () => {
      const { status, answer } = await ask(`POST ${target}`);
      assert.equal(status, 200, answer);
      assert.deepEqual(provider.targets, [`POST ${expected}`]);
    });
  }

  it('a key known by its hash is stripped from queries too, also for WebSockets', async () => {
    const secret = 'sk-known+by/its=hash';
    const key = { secret: undefined, secret_sha256: hash('sha256', secret), passthrough: 'all' };
    await using hashed = await startProxyGateway({
      providers: { only: { url: provider.url } },
      passthrough: [{ path: '/v1/realtime', provider: 'only', websocket: true }],
      key,
    });
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    const target = `/v1/realtime?model=a//b?c&a=${encodeURIComponent(secret)}&b=${secret}&key=c`;
    const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n${upgrade}\r\n`;
    await rawExchange(hashed, Buffer.from(head));
    assert.deepEqual(provider.targets, ['GET /tenant/v1/realtime?model=a//b?c&key=c']);
  });

  for (const method of ['TRACE', 'PROPFIND', 'PURGE', 'SEARCH', 'QUERY', 'OPTIONS', 'LINK', 'M-SEARCH']) {
    it(`${method} reaches no provider: its answer may echo the request`, async () => {
      for (const path of ['embeddings', 'files/x']) {
        const { status, code, answer } = await ask(`${method} /v1/${path}`);
        assert.deepEqual([status, code], [405, 'method_not_allowed'], answer);
      }
      assert.deepEqual(provider.targets, []);
    });
  }

  it("absolute targets reach the gateway's own pages", async () => {
    for (const path of ['/healthz', '//healthz', '/v1/models', '/docs/', '/metrics']) {
      assert.equal((await ask(`GET http://gateway.example${path}`)).status, 200, path);
    }
  });
});

describe('providerAddress', () => {
  const base = new URL('https://provider.example/tenant/v1/?api-version=1');

  it('puts the query of the base URL before that of the client', () => {
    assert.deepEqual(providerAddress(base, { path: '/embeddings?a=%20', api: 'embeddings' }), {
      origin: 'https://provider.example',
      path: '/tenant/v1/embeddings?api-version=1&a=%20',
    });
  });

  it('refuses paths outside the API', () => {
    for (const path of ['/files', '/embeddingsx', '/files/embeddings', '/embeddings/../files', '//other.example/x']) {
      assert.throws(() => providerAddress(base, { path, api: 'embeddings' }), /nothing at this address/, path);
    }
  });

  it('stays below base URL and API under repeated decoding, and keeps the query byte for byte', () => {
    const piece = fc.constantFrom(
      ...[
        '/',
        '//',
        '.',
        '..',
        '%2e',
        '%2E',
        '%252e',
        '%2f',
        '%5c',
        '\\',
        '#',
        '?',
        '&',
        '=',
        ';',
        '@',
        ':',
        '%00',
        '%0a',
      ],
      ...['embeddings', 'files', 'a', '\t', '\u00e9', '[', ']', "'", '%25', '%', '*', '|', '^'],
    );
    const target = fc.array(piece, { maxLength: 14 }).map((pieces) => `/embeddings${pieces.join('')}`);
    let passed = 0;
    fc.assert(
      fc.property(target, (raw) => {
        let address: ReturnType<typeof providerAddress>;
        let checked: string;
        try {
          checked = normaliseTarget(raw);
          address = providerAddress(base, { path: checked, api: 'embeddings' });
        } catch {
          return;
        }
        passed++;
        let read = address.path.split('?', 1)[0] ?? '';
        for (let decodings = 0; decodings < 12; decodings++) {
          const { origin, pathname } = new URL(read, 'https://provider.example');
          assert.equal(origin, 'https://provider.example');
          assert.match(pathname, /^\/tenant\/v1\/embeddings(?:\/|$)/);
          read = read.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
          assert.doesNotMatch(read, /\\|[^ -~\x80-\xff]|\/\.{1,2}(?:\/|;|$)/);
        }
        const mark = raw.indexOf('?');
        const query = mark === -1 ? '' : raw.slice(mark + 1);
        assert.ok(query === '' || address.path.endsWith(`?api-version=1&${query}`));
      }),
      { numRuns: 5000 },
    );
    assert.ok(passed > 200, `${passed} targets were passed on`);
  });
});
