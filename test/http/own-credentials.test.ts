import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { completion } from '../support/chat-faults.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startWebServer } from '../support/web-server.ts';

const OPERATOR = 'sk-operator-credential-0123456789';
const OWN = 'sk-own-credential-of-the-key-0123';

/** A provider that records the headers of every request, including WebSockets. */
async function startRecordingProvider() {
  const seen: IncomingHttpHeaders[] = [];
  const web = await startWebServer((req, res) => {
    seen.push(req.headers);
    req.resume().once('end', () => {
      const body = req.url?.endsWith('/embeddings') ? { data: [] } : completion('fine');
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  web.server.on('upgrade', (req, socket: Socket) => {
    seen.push(req.headers);
    socket.on('error', () => {});
    socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
  });
  return { ...web, seen, url: `${web.origin}/v1` };
}

async function openSocket(gateway: ProxyGateway): Promise<void> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const lines = ['GET /v1/realtime HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: websocket'];
  socket.write(`${lines.join('\r\n')}\r\nauthorization: Bearer ${CLIENT_KEY}\r\n\r\n`);
  await once(socket, 'data');
  socket.destroy();
}

const CALLS: Readonly<Record<string, (gateway: ProxyGateway) => Promise<unknown>>> = {
  'a chat': (gateway) => drained(send(gateway, '/chat/completions', { body: chat() })),
  'a proxied response': (gateway) => drained(send(gateway, '/responses', { body: { model: 'fast', input: 'hi' } })),
  embeddings: (gateway) => drained(send(gateway, '/embeddings', { body: { model: 'fast', input: 'hi' } })),
  "Anthropic's messages": (gateway) => drained(send(gateway, '/messages', { body: { model: 'claude', messages: [] } })),
  'a research turn': (gateway) => drained(send(gateway, '/responses', { body: { model: 'deep', input: 'hi' } })),
  'a passthrough request': (gateway) => drained(send(gateway, '/files', { body: {} })),
  'a WebSocket': openSocket,
};

async function drained(answer: Promise<Response>): Promise<void> {
  await (await answer).text();
}

describe("a key's own provider credential (provider_keys)", () => {
  const PLACES: [
    string,
    { apiKey?: string; headers?: Record<string, string>; apiKeyHeader?: string },
    string,
    string,
  ][] = [
    ['an Authorization header', header('Authorization', `Bearer ${OPERATOR}`), 'authorization', `Bearer ${OWN}`],
    ['a header declared in mixed case', { headers: { 'Api-Key': OPERATOR }, apiKeyHeader: 'api-key' }, 'api-key', OWN],
    ['x-api-key', header('x-api-key', OPERATOR), 'x-api-key', OWN],
    ['a header with another scheme', header('authorization', `Basic ${OPERATOR}`), 'authorization', `Basic ${OWN}`],
    ['api_key with a header of its own', { apiKey: OPERATOR, apiKeyHeader: 'api-key' }, 'api-key', OWN],
    [
      'api_key and the header too',
      { apiKey: OPERATOR, ...header('Authorization', `Bearer ${OPERATOR}`) },
      'authorization',
      `Bearer ${OWN}`,
    ],
  ];
  for (const [what, provider, place, expected] of PLACES) {
    describe(`replaces the operator's in ${what}`, () => {
      const stack = new AsyncDisposableStack();
      let upstream: Awaited<ReturnType<typeof startRecordingProvider>>;
      let gateway: ProxyGateway;
      before(async () => {
        upstream = stack.use(await startRecordingProvider());
        gateway = stack.use(
          await startProxyGateway({
            providers: { only: { url: upstream.url, ...provider } },
            models: { claude: { kind: 'proxy', apis: ['messages'], routes: [{ provider: 'only', model: 'claude' }] } },
            passthrough: [
              { path: '/v1/files', provider: 'only' },
              { path: '/v1/realtime', provider: 'only', websocket: true },
            ],
            key: { passthrough: 'all', provider_keys: { only: OWN } },
          }),
        );
      });
      after(() => stack.disposeAsync());
      for (const [call, ask] of Object.entries(CALLS)) {
        it(`for ${call}`, async () => {
          upstream.seen.length = 0;
          await ask(gateway);
          assert.ok(upstream.seen.length > 0, 'nothing reached the provider');
          for (const headers of upstream.seen) {
            assert.equal(headers[place], expected);
            assert.ok(!JSON.stringify(headers).includes(OPERATOR), JSON.stringify(headers));
            assert.equal(JSON.stringify(headers).split(OWN).length, 2, JSON.stringify(headers));
          }
        });
      }
    });
  }

  it("leaves the operator's credential in its header for keys without their own", async () => {
    await using upstream = await startRecordingProvider();
    await using gateway = await startProxyGateway({
      providers: { only: { url: upstream.url, ...header('api-key', OPERATOR) } },
    });
    await drained(send(gateway, '/chat/completions', { body: chat() }));
    const [headers] = upstream.seen;
    assert.deepEqual([headers?.['api-key'], headers?.authorization], [OPERATOR, undefined]);
  });
});

function header(name: string, value: string) {
  return { headers: { [name]: value }, apiKeyHeader: name };
}
