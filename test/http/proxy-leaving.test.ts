import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  hang,
  raw,
  type Script,
  type ScriptedProvider,
  slowFirstToken,
  stallAfter,
  startScriptedProvider,
  status,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** How soon after a client disconnects its provider's connection must be closed. */
const LIMIT = { timeoutMs: patience(1) };

interface Phase {
  name: string;
  path?: string;
  body: object;
  script: Script;
  /** Whether the client has the headers when it disconnects. */
  hasHeaders?: boolean;
}

const EMBEDDINGS = { model: 'fast', input: 'hello' };
const RESPONSES = { model: 'fast', input: 'hello', stream: true };
const DELTA = { type: 'response.output_text.delta', output_index: 0, delta: 'word' };
const AUDIO: Script = {
  status: 200,
  headers: { 'content-type': 'audio/mpeg' },
  steps: [{ do: 'send', bytes: 'sound' }, { do: 'hang' }],
};

const PHASES: readonly Phase[] = [
  { name: 'chat: before the headers', body: chat(), script: hang() },
  { name: 'chat stream: before the headers', body: chat({ stream: true }), script: hang() },
  { name: 'chat: in the body', body: chat(), script: { ...AUDIO, headers: { 'content-type': 'application/json' } } },
  { name: 'chat stream: before the first token', body: chat({ stream: true }), script: slowFirstToken('forever') },
  { name: 'chat stream: in the middle', body: chat({ stream: true }), script: stallAfter(3), hasHeaders: true },
  { name: 'embeddings: before the headers', path: '/embeddings', body: EMBEDDINGS, script: hang() },
  {
    name: 'responses stream: before the first event',
    path: '/responses',
    body: RESPONSES,
    script: slowFirstToken('forever'),
  },
  {
    name: 'responses stream: in the middle',
    path: '/responses',
    body: RESPONSES,
    script: { ...raw(''), steps: [{ do: 'send', bytes: `data: ${JSON.stringify(DELTA)}\n\n` }, { do: 'hang' }] },
    hasHeaders: true,
  },
  { name: 'speech: in the middle', path: '/audio/speech', body: EMBEDDINGS, script: AUDIO, hasHeaders: true },
];

describe('a proxy client that disconnects', () => {
  for (const phase of PHASES) {
    it(`closes the provider's connection within a second (${phase.name})`, async () => {
      await using provider = await startScriptedProvider({ respond: () => phase.script });
      await using gateway = await startProxyGateway({ providers: { only: { url: provider.url } } });
      await leaveDuring(phase, { gateway, provider });
      await provider.waitForConnections(0, LIMIT);
      assert.deepEqual(await provider.requests[0]?.closed, { left: true });
      assert.equal(provider.requests.length, 1);
    });
  }

  it('ends the pause before a retry', async () => {
    await using provider = await startScriptedProvider({ respond: () => status(500) });
    await using gateway = await startProxyGateway({ providers: { only: { url: provider.url, maxRetries: 10 } } });
    const leave = new AbortController();
    const answer = send(gateway, '/chat/completions', { body: chat(), signal: leave.signal });
    await provider.waitForRequest(3);
    leave.abort();
    await assert.rejects(answer);
    await logged(gateway, '"left":true');
    const asked = provider.requests.length;
    await send(gateway, '/models', { body: {} });
    assert.equal(provider.requests.length, asked);
  });

  it('leaves a pending TLS handshake to timeouts.connect', async () => {
    await using silent = await startSilentPort();
    await using gateway = await startProxyGateway({
      providers: { only: { url: silent.url, timeouts: { connect: 0.5 } } },
    });
    const leave = new AbortController();
    const answer = send(gateway, '/chat/completions', { body: chat(), signal: leave.signal });
    await silent.connected;
    leave.abort();
    await assert.rejects(answer);
    await silent.closed;
  });

  it('is not logged as a provider failure', async () => {
    await using provider = await startScriptedProvider({ respond: () => hang() });
    await using gateway = await startProxyGateway({ providers: { only: { url: provider.url } } });
    await leaveDuring({ name: '', body: chat(), script: hang() }, { gateway, provider });
    await logged(gateway, '"left":true');
    assert.ok(!gateway.log.some((line) => line.includes('"level":40')), gateway.log.join(''));
  });
});

async function leaveDuring(
  { path = '/chat/completions', body, hasHeaders = false }: Phase,
  { gateway, provider }: { gateway: ProxyGateway; provider: ScriptedProvider },
): Promise<void> {
  const leave = new AbortController();
  const answer = send(gateway, path, { body, signal: leave.signal });
  if (hasHeaders) await (await answer).body?.getReader().read();
  await provider.waitForRequest();
  await provider.waitForActive(1);
  leave.abort();
  if (!hasHeaders) await assert.rejects(answer);
}

async function logged(gateway: ProxyGateway, text: string): Promise<void> {
  const limit = AbortSignal.timeout(patience(5));
  while (!gateway.log.some((line) => line.includes(text))) {
    limit.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A port that accepts connections but never answers, like a stuck TLS handshake. */
async function startSilentPort() {
  const connected = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    connected.resolve();
    socket.on('error', () => {}).on('close', () => closed.resolve());
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return {
    url: `https://127.0.0.1:${address.port}/v1`,
    connected: connected.promise,
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}
