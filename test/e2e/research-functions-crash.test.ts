import assert from 'node:assert/strict';
import { join } from 'node:path';
import { z } from 'zod';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import { type ProviderRequest, type Script, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';

const HEADERS = { authorization: 'Bearer sk-functions-crash-01', 'content-type': 'application/json' };
const TOOL = { type: 'function', name: 'ask_desk', parameters: { type: 'object', properties: {} } };
const SEARCH = { name: 'web_search', arguments: '{"queries":["route"]}' };

/** Asks the desk, searches, has a server told, searches and asks the desk again, and writes. */
function script({ body }: ProviderRequest): Script {
  if (!body.tools?.length || body.tool_choice === 'none') return turn({ text: 'So it is.' });
  const results = body.messages?.filter(({ role }) => role === 'tool').length ?? 0;
  const desk = (id: string) => ({ id, name: 'ask_desk', arguments: '{}' });
  const tell = { id: 'call_c', name: 'srv.tell', arguments: '{}' };
  if (results === 0) return turn({ toolCalls: [desk('call_a'), { ...SEARCH, id: 'call_b' }, tell] });
  if (results === 3) {
    const other = { ...SEARCH, id: 'call_d', arguments: '{"queries":["limits"]}' };
    return turn({ toolCalls: [other, desk('call_e')] });
  }
  return turn({ text: 'I am ready.' });
}

const created = z.object({
  id: z.string(),
  output: z.array(z.looseObject({ type: z.string(), id: z.string(), call_id: z.string().optional() })),
});

describe('a research run that continues with function outputs', function () {
  // Gateways are killed and come back; a claim has to run out.
  this.timeout(patience(60));

  it('repeats the approved call that kill -9 cut, and keeps the earlier calls of its turn', async () => {
    await using provider = await startScriptedProvider({ respond: script });
    const called = Promise.withResolvers<void>();
    let calls = 0;
    const tell = () => {
      called.resolve();
      // The first time it never answers.
      return calls++ === 0 ? undefined : { content: [{ type: 'text', text: 'Told.' }] };
    };
    const mcp = await startScriptedMcpServer({ tools: { tell: { call: tell } } });
    await using _mcp = mcp;
    await using folder = await gatewayFolder();
    const config = {
      server: { port: 0, heartbeat_seconds: 0.2 },
      store: { url: `file:${join(folder.path, 'data')}` },
      providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
      models: {
        deep: {
          kind: 'research',
          routes: [{ provider: 'scripted', model: 'm' }],
          research: { tools: ['web_search'], plan: 'off' },
        },
      },
      tools: {
        web_search: { provider: 'local', folder: folder.path },
        fetch_url_content: { allow_private_addresses: true },
      },
      keys: [{ id: 'ann', secret: 'sk-functions-crash-01', mcp_servers: true }],
    };
    let gateway: GatewayProcess = await startGatewayProcess(config, { folder: folder.path });
    await using _ = { [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
    const post = (body: object) => ({ method: 'POST', headers: HEADERS, body: JSON.stringify(body) });
    const server = { type: 'mcp', server_label: 'srv', server_url: mcp.url, require_approval: 'always' };
    const ask = { model: 'deep', tools: [TOOL, { type: 'web_search' }, server] };
    const address = () => `${gateway.url}/v1/responses`;
    const answer = await fetch(address(), post({ ...ask, input: 'How?', stream: false }));
    const first = created.parse(await answer.json());
    assert.deepEqual(
      first.output.map(({ type }) => type),
      ['tool_call', 'function_call', 'mcp_approval_request'],
    );
    const outputs = first.output.flatMap(({ type, id, call_id }): object[] => {
      if (type === 'mcp_approval_request')
        return [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }];
      return call_id ? [{ type: 'function_call_output', call_id, output: 'The desk says so.' }] : [];
    });
    const body = { ...ask, previous_response_id: first.id, input: outputs, stream: true };
    const cut = await SseReader.open(address(), post(body));
    const [createdEvent] = await cut.until((events) =>
      events.some(({ type }) => type === 'response.output_item.added'),
    );
    assert.ok(createdEvent?.type === 'response.created');
    await called.promise;
    await gateway.kill();
    await cut.end();
    gateway = await startGatewayProcess(config, { folder: folder.path });
    const whole = await SseReader.open(`${address()}/${createdEvent.response.id}?stream=true&after=0`, {
      headers: HEADERS,
    });
    await whole.end();
    const last = whole.events.at(-1);
    assert.ok(last?.type === 'response.completed', `${last?.type}`);
    assert.deepEqual(
      last.response.output.map((item) => ('status' in item ? [item.type, item.status] : [item.type])),
      [
        ['tool_call', 'completed'],
        ['tool_call', 'completed'],
        ['function_call', 'completed'],
      ],
    );
    assert.match(JSON.stringify(last.response.output[0]), /srv\.tell.*Told\./);
    assert.match(JSON.stringify(last.response.output[1]), /limits/);
    assert.equal(calls, 2);
    assert.equal(provider.requests.length, 2);
    const roles = provider.requests[1]?.body.messages?.map(({ role }) => role);
    assert.deepEqual(roles, ['system', 'user', 'assistant', 'tool', 'tool', 'tool']);
  });
});
