import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completion } from '../support/chat-faults.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  frames,
  insertAfter,
  json,
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** Marks the client's headers, cookies, addresses and credentials, which must not reach a provider. */
const CLIENT_CANARY = 'canary-of-the-client';
/** Marks the operator's credentials, which must not reach a client, an event, a log line or the store. */
const PROVIDER_CANARY = 'sk-canary-of-the-provider-0123456789';
const HEADER_CANARY = 'canary-in-a-header-0123456789';

/** The headers of one request, with a fresh idempotency key. */
const clientHeaders = () => ({
  ...CLIENT_HEADERS,
  'idempotency-key': `${CLIENT_CANARY}-${crypto.randomUUID()}`,
});

const CLIENT_HEADERS = {
  cookie: `session=${CLIENT_CANARY}`,
  'x-forwarded-for': '203.0.113.9',
  'x-real-ip': '203.0.113.9',
  forwarded: 'for=203.0.113.9',
  via: `1.1 ${CLIENT_CANARY}`,
  'x-api-key': CLIENT_CANARY,
  'api-key': CLIENT_CANARY,
  'proxy-authorization': `Basic ${CLIENT_CANARY}`,
  'openai-organization': CLIENT_CANARY,
  'openai-project': CLIENT_CANARY,
  'x-request-id': CLIENT_CANARY,
  'x-stainless-os': CLIENT_CANARY,
  'x-custom': CLIENT_CANARY,
  'user-agent': CLIENT_CANARY,
  referer: `https://example.com/${CLIENT_CANARY}`,
  origin: `https://${CLIENT_CANARY}.example.com`,
  'accept-language': CLIENT_CANARY,
};

/** Quotes the credentials that the provider was sent. */
const LEAK = `Incorrect API key provided: ${PROVIDER_CANARY}, ${HEADER_CANARY}`;
const LEAKING_HEADERS = {
  'set-cookie': `key=${PROVIDER_CANARY}`,
  'x-api-key': PROVIDER_CANARY,
  'openai-organization': HEADER_CANARY,
  'content-disposition': `attachment; filename="${PROVIDER_CANARY}"`,
};
const ERROR = { error: { message: LEAK, type: 'invalid_request_error', code: 'invalid_api_key' } };

const LEAKS: Readonly<Record<string, (stream: boolean) => Script>> = {
  'in the answer': (stream) =>
    stream
      ? frames([...payloads(LEAK)], { headers: LEAKING_HEADERS })
      : json(completion(LEAK), { headers: LEAKING_HEADERS }),
  'in an error at the start': (stream) => (stream ? frames([ERROR]) : json(ERROR)),
  'in an error in the middle': (stream) => (stream ? insertAfter(2, ERROR) : json(completion('cut', ERROR))),
  ...Object.fromEntries(
    [400, 401, 403, 404, 429, 500].map((code) => [
      `with status ${code}`,
      () => status(code, { body: ERROR, headers: { ...LEAKING_HEADERS, 'retry-after-ms': '10' } }),
    ]),
  ),
  'on an HTML page': () => status(500, { body: `<html><title>${LEAK}</title></html>` }),
};

describe('credentials and private headers', () => {
  it('of a client do not reach providers', async () => {
    await using provider = await startScriptedProvider({ respond: good });
    await using gateway = await leaky(provider);
    for (const path of ['/chat/completions', '/embeddings', '/responses']) {
      for (const stream of [false, true]) {
        await drained(gateway, `${path}?api_key=${CLIENT_KEY}&beta=1`, {
          ...chat({ stream }),
          input: 'hi',
        });
      }
    }
    await drained(gateway, '/audio/transcriptions', form());
    await task(gateway);
    await drained(gateway, '/responses', { model: 'deep', input: 'hello' });
    assert.ok(provider.requests.length >= 9, `${provider.requests.length} requests`);
    for (const request of provider.requests) assertClean(request);
  });

  for (const [name, script] of Object.entries(LEAKS)) {
    it(`of a provider do not reach clients, log or store (${name})`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'canary-'));
      const seen: string[] = [];
      const log: string[] = [];
      {
        await using provider = await startScriptedProvider({ respond: ({ body }) => script(body.stream === true) });
        await using gateway = await leaky(provider, folder);
        for (const path of ['/chat/completions', '/embeddings', '/responses']) {
          for (const stream of [false, true])
            seen.push(await drained(gateway, path, { ...chat({ stream }), input: 'hi' }));
        }
        seen.push(await task(gateway));
        if (name !== 'in the answer')
          seen.push(await drained(gateway, '/responses', { model: 'deep', input: 'hello' }));
        log.push(...gateway.log);
      }
      assertNone('the client', seen.join('\n'));
      assertNone('the log', log.join('\n'));
      assertNone('the store', storedIn(folder));
      rmSync(folder, { recursive: true });
    });
  }
});

function good({ path, body }: ProviderRequest): Script {
  if (path.includes('embeddings')) return json({ data: [], usage: { prompt_tokens: 1, total_tokens: 1 } });
  return body.stream ? turn() : json(completion('fine'));
}

function leaky(provider: ScriptedProvider, folder?: string): Promise<ProxyGateway> {
  const headers = { 'x-provider-key': HEADER_CANARY };
  return startProxyGateway({
    providers: { only: { url: provider.url, apiKey: PROVIDER_CANARY, headers } },
    ...(folder && { storeUrl: `file:${folder}` }),
  });
}

/** Everything a client gets: status, headers and body. */
async function drained(gateway: ProxyGateway, path: string, body: object): Promise<string> {
  const answer = await send(gateway, path, { body, headers: clientHeaders() });
  return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
}

function form(): FormData {
  const data = new FormData();
  data.set('model', 'fast');
  data.set('file', new Blob(['sound']), 'speech.mp3');
  return data;
}

async function task(gateway: ProxyGateway): Promise<string> {
  const created = JSON.parse(await (await send(gateway, '/async', { body: chat(), headers: clientHeaders() })).text());
  const limit = AbortSignal.timeout(patience(10));
  for (;;) {
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const text = await (await fetch(`${gateway.url}/async/${created.id}`, { headers, signal: limit })).text();
    if (/"(?:COMPLETED|FAILED)"/.test(text)) return text;
  }
}

function payloads(text: string): object[] {
  const envelope = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return [
    { ...envelope, choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] },
    { ...envelope, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ];
}

const EXPECTED = new Set([
  'host',
  'connection',
  'accept',
  'accept-encoding',
  'user-agent',
  'content-type',
  'content-length',
  'authorization',
  'x-provider-key',
  // Added by fetch on research turns.
  'accept-language',
  'sec-fetch-mode',
]);

function assertClean(request: ProviderRequest): void {
  const said = `${request.path} ${request.rawHeaders.join(' ')} ${request.bytes}`;
  for (const secret of [CLIENT_CANARY, CLIENT_KEY, '203.0.113.9']) assert.ok(!said.includes(secret), said);
  assert.equal(request.headers.authorization, `Bearer ${PROVIDER_CANARY}`);
  assert.equal(request.headers['x-provider-key'], HEADER_CANARY);
  const others = Object.keys(request.headers).filter((name) => !EXPECTED.has(name));
  assert.deepEqual(others, []);
}

function assertNone(where: string, text: string): void {
  for (const secret of [PROVIDER_CANARY, HEADER_CANARY]) {
    const at = text.indexOf(secret);
    assert.equal(at, -1, `${where} has a credential: ${text.slice(Math.max(0, at - 200), at + 100)}`);
  }
}

function storedIn(folder: string): string {
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'latin1'))
    .join('\n');
}
