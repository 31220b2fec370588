import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completion } from '../support/chat-faults.ts';
import { chat, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import {
  hang,
  json,
  type ProviderRequest,
  type ScriptedProvider,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=value,other=x',
};

const traceIn = ({ headers }: ProviderRequest) => ({
  traceparent: headers.traceparent,
  tracestate: headers.tracestate,
});

async function storeFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'trace-test-'));
  return { url: `file:${folder}`, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

async function startProvider(): Promise<ScriptedProvider> {
  return await startScriptedProvider({
    respond: ({ body }) => (body.stream ? turn({ text: 'Fine.' }) : json(completion('Fine.'))),
  });
}

describe("a client's trace context", () => {
  it('is sent with every turn of a run, on any interface', async () => {
    await using provider = await startProvider();
    await using gateway = await startProxyGateway({ providers: { only: { url: provider.url } } });
    const research = { model: 'deep', input: 'Why?' };
    const asked = chat({ model: 'deep' });
    for (const [path, body] of [
      ['/responses', { ...research, stream: true }],
      ['/responses', { ...research, stream: false }],
      ['/responses', { ...research, background: true }],
      ['/chat/completions', asked],
      ['/async', asked],
      ['/async', chat()],
    ] as const) {
      const before = provider.requests.length;
      await (await send(gateway, path, { body, headers: TRACE })).text();
      await provider.waitForRequest(before + 1);
      await provider.waitForActive(0);
      const seen = provider.requests.slice(before).map(traceIn);
      for (const trace of seen) assert.deepEqual(trace, TRACE, `${path} ${JSON.stringify(body)}`);
    }
  });

  it('is sent to the MCP servers of the request', async () => {
    await using provider = await startProvider();
    await using server = await startScriptedMcpServer({ tools: {} });
    await using gateway = await startProxyGateway({
      providers: { only: { url: provider.url } },
      key: { mcp_servers: true },
      tools: { fetch_url_content: { allow_private_addresses: true } },
    });
    const tools = [{ type: 'mcp', server_label: 'own', server_url: server.url, headers: { 'x-own': 'kept' } }];
    const body = { model: 'deep', input: 'Why?', stream: false, tools };
    await (await send(gateway, '/responses', { body, headers: TRACE })).text();
    assert.ok(server.headers.length > 0);
    for (const { traceparent, tracestate, 'x-own': own } of server.headers) {
      assert.deepEqual({ traceparent, tracestate, own }, { ...TRACE, own: 'kept' });
    }
  });

  it('is sent to configured MCP servers, although runs share their connections', async () => {
    const seen: unknown[] = [];
    const look = {
      call: ({ request }: { request: IncomingMessage }) => {
        seen.push(request.headers.traceparent);
        return { content: [{ type: 'text', text: 'found' }] };
      },
    };
    await using server = await startScriptedMcpServer({ tools: { look } });
    await using provider = await startScriptedProvider({
      respond: ({ body }) => {
        const name = body.tools?.map((tool) => tool.function?.name).find((tool) => tool?.includes('look'));
        const isAnswered = body.messages?.some(({ role }) => role === 'tool');
        return name && !isAnswered ? turn({ toolCalls: [{ name, arguments: {} }] }) : turn({ text: 'Fine.' });
      },
    });
    await using gateway = await startProxyGateway({
      providers: { only: { url: provider.url } },
      tools: {
        fetch_url_content: { allow_private_addresses: true },
        mcp_servers: [{ name: 'shared', url: server.url }],
      },
    });
    const other = { traceparent: TRACE.traceparent.replace('0af7', '0bf7') };
    for (const headers of [TRACE, other]) {
      await (
        await send(gateway, '/responses', { body: { model: 'deep', input: 'Why?', stream: false }, headers })
      ).text();
    }
    assert.deepEqual(seen, [TRACE.traceparent, other.traceparent]);
  });

  it('is dropped if it is invalid', async () => {
    await using provider = await startProvider();
    await using gateway = await startProxyGateway({ providers: { only: { url: provider.url } } });
    const { tracestate } = TRACE;
    const body = { model: 'deep', input: 'Why?', stream: false };
    for (const [sent, expected] of [
      [{}, { traceparent: undefined, tracestate: undefined }],
      [
        { traceparent: 'x', tracestate },
        { traceparent: undefined, tracestate: undefined },
      ],
      [{ tracestate }, { traceparent: undefined, tracestate: undefined }],
      [
        { ...TRACE, tracestate: 'x'.repeat(2000) },
        { traceparent: TRACE.traceparent, tracestate: undefined },
      ],
    ] as const) {
      await (await send(gateway, '/responses', { body, headers: { ...sent } })).text();
      const last = provider.requests.at(-1);
      assert.deepEqual(last && traceIn(last), expected);
    }
  });

  /** Starts a run on one gateway and finishes it on another, which only knows what is stored. */
  async function survivesTakeover(storeUrl: string): Promise<void> {
    await using provider = await startScriptedProvider({ respond: () => hang() });
    const options = { providers: { only: { url: provider.url } }, storeUrl };
    {
      await using first = await startProxyGateway(options);
      const body = { model: 'deep', input: 'Why?', background: true };
      assert.equal((await send(first, '/responses', { body, headers: TRACE })).status, 200);
      await provider.waitForRequest(1);
    }
    provider.respond = () => turn({ text: 'Fine.' });
    await using _second = await startProxyGateway(options);
    assert.deepEqual(traceIn(await provider.waitForRequest(2)), TRACE);
  }

  it('survives when another process takes over the run (SQLite)', async () => {
    await using folder = await storeFolder();
    await survivesTakeover(folder.url);
  });

  describe('in Redis', () => {
    let redis: RedisServer;
    before(async function () {
      redis = await redisOrSkip(this);
    });
    after(() => redis?.[Symbol.asyncDispose]());
    it('survives when another process takes over the run', () => survivesTakeover(redis.url));
  });
});
