import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { installMcpServers, startEverythingServer } from '../support/real-mcp-servers.ts';
import {
  mayCallTools,
  type ProviderRequest,
  type ScriptedProvider,
  type ScriptedToolCall,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-tools-with-mcp';
const KEY_WITHOUT = 'sk-tools-without';
const MCP_TOKEN = 'canary-mcp-access-token';
const MCP_HEADER = 'canary-mcp-header-value';

/** A model that makes these calls in its first turn, then is ready, then answers. */
function calling(...toolCalls: ScriptedToolCall[]) {
  return (request: ProviderRequest) => {
    if (!mayCallTools(request)) return turn({ text: 'Here is what the tools said.' });
    return request.body.messages?.some((message) => message.role === 'tool')
      ? turn({ text: 'ready' })
      : turn({ toolCalls });
  };
}

describe('a run through the gateway', function () {
  // A gateway starts, and Python in it.
  this.timeout(patience(30));
  let provider: ScriptedProvider;
  let folder: Awaited<ReturnType<typeof gatewayFolder>>;
  let gateway: GatewayProcess;
  const stack = new AsyncDisposableStack();

  before(async () => {
    await installMcpServers();
    provider = stack.use(await startScriptedProvider());
    folder = stack.use(await gatewayFolder());
    const configured = stack.use(await startEverythingServer('streamableHttp'));
    gateway = stack.use(
      await startGatewayProcess(
        {
          server: { port: 0 },
          store: { url: `file:${join(folder.path, 'data')}` },
          providers: { scripted: { base_url: provider.url } },
          models: {
            researcher: {
              kind: 'research',
              routes: [{ provider: 'scripted', model: 'm' }],
              research: { tools: ['execute_python'] },
            },
          },
          keys: [
            { id: 'with', secret: KEY, mcp_servers: true },
            { id: 'without', secret: KEY_WITHOUT },
          ],
          tools: {
            web_search: { provider: 'local', folder: folder.path },
            fetch_url_content: { allow_private_addresses: true },
            mcp_servers: [{ name: 'configured', url: `${configured.origin}/mcp`, allowed_tools: ['echo'] }],
          },
        },
        { folder: folder.path },
      ),
    );
  });
  after(() => stack.disposeAsync());

  async function ask(body: object, key = KEY) {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'researcher', input: 'Use your tools.', stream: false, ...body }),
    });
    const json = (await response.json()) as ResponseObject & { error: { code: string; param: string } };
    const calls = (json.output ?? []).filter((item) => item.type === 'tool_call');
    return { status: response.status, json, calls };
  }

  it('executes Python, and returns the result to client and model', async () => {
    provider.respond = calling({ name: 'execute_python', arguments: { code: 'print("hi")\n6 * 7' } });
    const { calls, json } = await ask({});
    assert.equal(json.status, 'completed');
    assert.deepEqual(
      calls.map(({ name, status, result }) => ({ name, status, result: JSON.parse(result ?? '') })),
      [{ name: 'execute_python', status: 'completed', result: { stdout: 'hi\n', stderr: '', result: '42' } }],
    );
    const seen = provider.requests.at(-1)?.body.messages?.find((message) => message.role === 'tool');
    assert.match(seen.content, /<(tool_result-\w+)>[\s\S]*42[\s\S]*<\/\1>/);
  });

  it('offers the tools of configured MCP servers with the server’s name as prefix', async () => {
    provider.respond = (request) => {
      const echo = request.body.tools?.map((tool) => tool.function.name).find((name) => /configured.+echo/.test(name));
      return calling({ name: echo ?? 'missing', arguments: { message: 'hello' } })(request);
    };
    const { calls } = await ask({});
    assert.equal(calls[0]?.name, 'configured.echo');
    assert.equal(calls[0]?.status, 'completed');
    assert.match(calls[0]?.result ?? '', /hello/);
    const offered = provider.requests.findLast((request) => request.body.tools)?.body.tools ?? [];
    assert.equal(offered.filter((tool) => tool.function.name.includes('configured')).length, 1);
  });

  it('attaches MCP servers of a request, and keeps their credentials out of store and log', async () => {
    await using server = await startEverythingServer('streamableHttp');
    provider.respond = (request) => {
      const sum = request.body.tools?.map((tool) => tool.function.name).find((name) => /mine.*sum/.test(name));
      return calling({ name: sum ?? 'missing', arguments: { a: 2, b: 40 } })(request);
    };
    const attached = {
      name: 'mine',
      url: `${server.origin}/mcp`,
      access_token: MCP_TOKEN,
      headers: { 'x-api-key': MCP_HEADER },
    };
    const { calls, json } = await ask({ mcp_servers: [attached] });
    assert.equal(json.status, 'completed');
    assert.match(calls[0]?.name ?? '', /^mine\..*sum/);
    assert.match(calls[0]?.result ?? '', /42/);
    const data = join(folder.path, 'data');
    for (const file of await readdir(data)) {
      const bytes = await readFile(join(data, file));
      for (const canary of [MCP_TOKEN, MCP_HEADER]) assert.equal(bytes.indexOf(canary), -1, `${canary} in ${file}`);
    }
    for (const line of gateway.log) assert.ok(!line.includes('canary-mcp'), line);
    assert.ok(!JSON.stringify(provider.requests.map((request) => request.body)).includes('canary-mcp'));
    assert.ok(!JSON.stringify(json).includes('canary-mcp'));
  });

  it('reports an unreachable MCP server of the request to model and client', async () => {
    provider.respond = (request) => {
      const tool = request.body.tools?.map((offered) => offered.function.name).find((name) => name.startsWith('gone'));
      return calling({ name: tool ?? 'missing', arguments: {} })(request);
    };
    const { calls, json } = await ask({
      tools: [{ type: 'mcp', server_label: 'gone', server_url: 'http://127.0.0.1:9/mcp' }],
    });
    assert.equal(json.status, 'completed');
    assert.equal(calls[0]?.status, 'failed');
    assert.equal(JSON.parse(calls[0]?.result ?? '{}').error.code, 'unreachable');
    assert.deepEqual(
      json.warnings.map(({ code }) => code).filter((code) => code === 'mcp_server_unavailable'),
      ['mcp_server_unavailable'],
    );
  });

  it('rejects MCP servers from a key that may not attach them', async () => {
    const { status, json } = await ask({ mcp_servers: [{ name: 'mine', url: 'http://127.0.0.1:9/mcp' }] }, KEY_WITHOUT);
    assert.equal(status, 403);
    assert.equal(json.error.code, 'mcp_servers_not_allowed');
  });

  it('counts tool calls and provider attempts in /metrics', async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    assert.match(metrics, /gateway_tool_calls_total\{tool="execute_python",status="completed"\} 1/);
    assert.match(metrics, /gateway_tool_calls_total\{tool="mcp",status="failed"\} 1/);
    assert.match(metrics, /gateway_provider_attempts_total\{provider="scripted",model="researcher",outcome="ok"\} \d+/);
    assert.match(metrics, /gateway_runs_ended_total\{model="researcher",status="completed"\} 4/);
    assert.ok(!metrics.includes('mine'));
  });
});
