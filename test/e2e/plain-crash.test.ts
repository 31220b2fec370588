import assert from 'node:assert/strict';
import { join } from 'node:path';
import { z } from 'zod';
import { isObject } from '../../src/base/json.ts';
import { answerPart } from '../../src/protocol/items.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import {
  type InterruptedRun,
  type InterruptionTest,
  interruptRun,
  KILLED_KEY,
  type Killed,
  testInterruptions,
} from '../support/killed-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { type ScriptedMcpServer, startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import {
  chunk,
  frames,
  type ProviderRequest,
  type Script,
  type Step,
  stallAfter,
  startScriptedProvider,
  turn,
  turnPayloads,
} from '../support/scripted-provider.ts';
import { SocketClient } from '../support/socket-client.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';
import { freshDatabase } from '../support/two-instances.ts';

const KEY = KILLED_KEY;
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const SEARCH = { type: 'web_search' };
const TOOL = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } };

function configOf(provider: { url: string }, { storeUrl, folder }: { storeUrl: string; folder: string }) {
  return {
    server: { port: 0, heartbeat_seconds: 0.2 },
    store: { url: storeUrl },
    providers: { scripted: { base_url: provider.url, api_key: 'sk-provider' } },
    tools: { web_search: { provider: 'local', folder }, fetch_url_content: { allow_private_addresses: true } },
    models: { plain: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'scripted', model: 'm' }] } },
    keys: [{ id: 'ann', secret: KEY, mcp_servers: true }],
  };
}

const COMMON = { tools: [TOOL, SEARCH], include: ['reasoning.encrypted_content'] };
const body = (fields: object = {}) => ({ model: 'plain', input: 'Look.', ...COMMON, ...fields });

/** Sends tokens with logprobs, and stalls. */
const PROBABLE: Script = {
  ...turn(),
  steps: [
    ...['one', ' two', ' three'].map((token): Step => {
      const choice = { index: 0, delta: { content: token }, logprobs: { content: [{ token, logprob: -1 }] } };
      return { do: 'send', bytes: `data: ${JSON.stringify({ choices: [choice] })}\n\n` };
    }),
    { do: 'hang' },
  ],
};
/** Sends a refusal, and stalls. */
const REFUSING: Script = {
  ...turn(),
  steps: [
    {
      do: 'send',
      bytes: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { refusal: 'I cannot say' } }] })}\n\n`,
    },
    { do: 'hang' },
  ],
};
/** Says something, makes an image, and may call a tool. */
function drawing(...toolCalls: { id: string; name: string; arguments: string }[]): Script {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const payloads: object[] = turnPayloads({ text: 'four five six', toolCalls });
  payloads.splice(1, 0, chunk({ images: [image] }));
  return frames(payloads);
}
const SIX = { text: 'one two three four five six' };
const LOOK_UP = { id: 'call_1', name: 'look_up', arguments: '{}' };
const LOOK_FOR = { id: 'call_2', name: 'web_search', arguments: '{"queries":["kyoto"]}' };

const LONG = {
  context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  input: [
    { role: 'user', content: 'Long ago. '.repeat(1000) },
    { role: 'user', content: 'Look.' },
  ],
};
const compaction = z.object({ output: z.array(z.looseObject({ type: z.string() })) });
const isCompacting = ({ body }: ProviderRequest) => /^You compact/.test(String(body.messages?.[0]?.content));

const typesOf = ({ output }: ResponseObject) => output.map(({ type }) => type);
const rolesOf = (request: ProviderRequest | undefined) => request?.body.messages?.map(({ role }) => role);
const desk = ({ url }: { url: string }) => [
  { type: 'mcp', server_label: 'desk', server_url: url, require_approval: 'always' },
];

/** Runs whose provider, or MCP server, stalls where they are killed. */
function waiting(): Readonly<Record<string, InterruptionTest>> {
  const reopened = Promise.withResolvers<void>();
  const compacting = Promise.withResolvers<void>();
  let summaries = 0;
  const called = Promise.withResolvers<void>();
  let calls = 0;
  const echo = () => {
    called.resolve();
    // The first one hangs until its gateway is gone.
    return calls++ === 0 ? undefined : { content: [{ type: 'text', text: 'again' }] };
  };
  let mcp: ScriptedMcpServer;
  before(async () => {
    mcp = await startScriptedMcpServer({ tools: { echo: { call: echo } } });
  });
  after(() => mcp?.[Symbol.asyncDispose]());
  return {
    'repeats an approved call that kill -9 cut, and asks the model once': {
      seen: 'response.mcp_call.in_progress',
      reached: called.promise,
      get body() {
        const input = [
          { role: 'user', content: 'Look.' },
          { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 'desk', name: 'echo', arguments: '{}' },
          { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
        ];
        return body({ tools: desk(mcp), input });
      },
      respond: ({ body }) => turn({ text: `Told: ${body.messages?.at(-1)?.content}` }),
      check({ response, requests }) {
        const [, call] = response.output;
        assert.ok(call?.type === 'mcp_call' && call.status === 'completed' && call.approval_request_id === 'mcpr_1');
        assert.deepEqual([calls, requests.length, response.output_text], [2, 1, 'Told: again']);
      },
    },
    'keeps an image that was made before kill -9, and one that was not is made once': {
      seen: (event) => event.type === 'response.output_text.delta' && event.output_index > 2,
      body: body(),
      respond: (_, n) => (n === 0 ? drawing(LOOK_FOR) : n === 1 ? stallAfter(4, SIX) : drawing()),
      check({ response, requests }) {
        assert.deepEqual(typesOf(response), [
          'message',
          'image_generation_call',
          'web_search_call',
          'message',
          'image_generation_call',
        ]);
        assert.equal(requests.length, 3);
      },
    },
    'continues in place after kill -9 in the middle of its text, and keeps the streamed logprobs': {
      seen: 'response.output_text.delta',
      body: body({ include: ['message.output_text.logprobs'] }),
      respond: (_, n) => (n === 0 ? PROBABLE : turn({ text: ' and done.' })),
      check({ response, requests }) {
        assert.match(response.output_text, /^one two .* and done\.$/);
        const [message] = response.output;
        assert.ok(message?.type === 'message' && response.output.length === 1);
        assert.deepEqual(
          answerPart(message)?.logprobs.map(({ token }) => token),
          ['one', ' two', ' three'],
        );
        assert.equal(requests.length, 2);
        assert.deepEqual(rolesOf(requests[1]), ['user', 'assistant', 'user']);
        // What the cut turn cost is in the usage.
        assert.ok(response.usage.input_tokens > 11 && response.usage.estimated);
      },
    },
    'continues in place after kill -9 in a refusal': {
      seen: 'response.refusal.delta',
      body: body(),
      respond: (_, n) => (n === 0 ? REFUSING : turn({ text: ' that.' })),
      check({ response }) {
        const [message] = response.output;
        assert.deepEqual(message?.type === 'message' && message.content, [
          { type: 'refusal', refusal: 'I cannot say that.' },
        ]);
      },
    },
    'repeats the turn after kill -9 in a thought, and calls its function once': {
      seen: 'response.reasoning_text.delta',
      body: body(),
      respond: (_, n) =>
        n === 0
          ? stallAfter(3, { reasoning: 'a thought that never ends' })
          : turn({ reasoning: 'Again.', toolCalls: [LOOK_UP] }),
      check({ response, requests }) {
        assert.deepEqual(
          response.output.map((item) => ('status' in item ? [item.type, item.status] : [item.type])),
          [
            ['reasoning', 'incomplete'],
            ['reasoning', 'completed'],
            ['function_call', 'completed'],
          ],
        );
        assert.equal(requests.length, 2);
      },
    },
    'ends a thought as incomplete after kill -9 in the text that follows it': {
      seen: 'response.output_text.delta',
      body: body(),
      respond: (_, n) => (n === 0 ? stallAfter(8, { reasoning: 'I think.', ...SIX }) : turn({ text: ' and done.' })),
      check({ response }) {
        assert.match(response.output_text, /^one .* and done\.$/);
        const [thought] = response.output;
        assert.deepEqual([thought?.type, response.output.length], ['reasoning', 2]);
        assert.ok(thought?.type === 'reasoning' && thought.status === 'incomplete' && !thought.encrypted_content);
      },
    },
    'survives kill -9 with store: false': {
      seen: 'response.output_text.delta',
      body: body({ store: false }),
      reopened: reopened.resolve,
      respond: async (_, n) => {
        if (n === 0) return stallAfter(4, SIX);
        await reopened.promise;
        return turn({ text: ' and done.' });
      },
      check({ response, requests }) {
        assert.match(response.output_text, /^one two .* and done\.$/);
        assert.deepEqual([response.store, requests.length], [false, 2]);
      },
    },
    'is not compacted again after kill -9 in the text that follows the compaction': {
      seen: 'response.output_text.delta',
      body: body(LONG),
      respond: (request, n) => {
        if (isCompacting(request)) return turn({ text: 'Long ago.' });
        return n === 1 ? stallAfter(4, SIX) : turn({ text: ' and done.' });
      },
      check({ response, requests }) {
        assert.deepEqual(typesOf(response), ['compaction', 'message']);
        assert.equal(requests.filter(isCompacting).length, 1);
        assert.ok(requests.length === 3 && requests.at(-1)?.body.messages?.length === 4);
      },
    },
    'is compacted once after kill -9 during the compaction': {
      seen: 'response.in_progress',
      body: body(LONG),
      reached: compacting.promise,
      respond: (request) => {
        if (!isCompacting(request)) return turn({ text: 'Done.' });
        compacting.resolve();
        return summaries++ === 0 ? stallAfter(1, { text: 'Long ago it was.' }) : turn({ text: 'Long ago.' });
      },
      check({ response }) {
        assert.deepEqual(typesOf(response), ['compaction', 'message']);
      },
    },
  };
}

function survives(name: string, storeUrl: Killed['storeUrl']): void {
  describe(`a response of a plain model (${name})`, function () {
    // A gateway is killed and comes back; a claim has to run out.
    this.timeout(patience(60));
    testInterruptions({ storeUrl, configOf }, waiting());
  });
}

const sqlite: Killed['storeUrl'] = (folder) => `file:${join(folder, 'data')}`;
survives('SQLite', sqlite);

// The tests above cover what is stored, on both stores. These cover the driver, which is the same for both.
describe('a response of a plain model, killed at further points (SQLite)', function () {
  // A gateway is killed and comes back for each.
  this.timeout(patience(60));
  const cut = (run: InterruptedRun) => interruptRun({ storeUrl: sqlite, configOf }, run);

  it('under a WebSocket, beside a compaction, continues after kill -9: over HTTP, then on a new socket', async () => {
    const compacting = Promise.withResolvers<void>();
    let textTurns = 0;
    let summed = 0;
    const respond = (request: ProviderRequest) => {
      if (!isCompacting(request)) return textTurns++ === 0 ? stallAfter(4, SIX) : turn({ text: ' and done.' });
      compacting.resolve();
      return summed++ === 0 ? stallAfter(1, { text: 'Long ago it was.' }) : turn({ text: 'Long ago.' });
    };
    await using provider = await startScriptedProvider({ respond });
    await using folder = await gatewayFolder();
    const config = configOf(provider, { storeUrl: sqlite(folder.path), folder: folder.path });
    let gateway: GatewayProcess = await startGatewayProcess(config, { folder: folder.path });
    await using _ = { [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
    await using socket = await SocketClient.open(gateway, { key: KEY });
    socket.create({ model: 'plain', input: 'Look.' });
    const { response } = await socket.next(({ type }) => type === 'response.created');
    const { sequence_number: after } = await socket.next(({ type }) => type === 'response.output_text.delta');
    const compact = () => {
      const body = JSON.stringify({ model: 'plain', input: LONG.input });
      return fetch(`${gateway.url}/v1/responses/compact`, { method: 'POST', headers: HEADERS, body });
    };
    const isCut = assert.rejects(compact());
    await compacting.promise;
    await gateway.kill();
    await isCut;
    assert.equal((await socket.closed).code, 1006);
    gateway = await startGatewayProcess(config, { folder: folder.path });
    assert.ok(isObject(response));
    const path = `${gateway.url}/v1/responses/${response.id}?stream=true&after=${after}`;
    const rest = await SseReader.open(path, { headers: HEADERS });
    await rest.end();
    const last = rest.events.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.match(last.response.output_text, /^one two .* and done\.$/);
    const { output } = compaction.parse(await (await compact()).json());
    assert.equal(output.at(-1)?.type, 'compaction');
    await using next = await SocketClient.open(gateway, { key: KEY });
    const input = [...output.slice(-1), { role: 'user', content: 'And?' }];
    next.create({ model: 'plain', previous_response_id: response.id, input });
    assert.equal((await next.next(({ type }) => /completed$|error/.test(type))).type, 'response.completed');
    assert.match(JSON.stringify(provider.requests.at(-1)?.body.messages), /Long ago\..*And\?/);
    // Each was cut once and repeated; the chat then had one more turn.
    assert.deepEqual([textTurns, summed], [3, 2]);
  });

  it('does not repeat its turn after kill -9 at its function and custom tool calls', async () => {
    const write = { id: 'call_2', name: 'write', arguments: '{"input":"a"}' };
    const { response, requests } = await cut({
      seen: 'response.function_call_arguments.done',
      body: body({ tools: [TOOL, { type: 'custom', name: 'write' }] }),
      respond: () => turn({ toolCalls: [LOOK_UP, write] }),
    });
    const [, text] = response.output;
    assert.ok(response.output.length === 2 && text?.type === 'custom_tool_call' && text.input === 'a');
    assert.equal(requests.length, 1);
  });

  it('asks for an approval once after kill -9 at its request', async () => {
    await using mcp = await startScriptedMcpServer({ tools: { echo: { call: () => assert.fail('was called') } } });
    const { response, requests } = await cut({
      seen: (event) => event.type === 'response.output_item.added' && event.item.type === 'mcp_approval_request',
      body: body({ tools: desk(mcp) }),
      respond: () => turn({ toolCalls: [{ id: 'call_1', name: 'desk.echo', arguments: '{}' }] }),
    });
    assert.deepEqual(typesOf(response), ['mcp_list_tools', 'mcp_approval_request']);
    assert.deepEqual([requests.length, mcp.methods.includes('tools/call')], [1, false]);
  });

  it('repeats neither search nor turn after kill -9 between a search and a function call of the turn', async () => {
    const { response, requests } = await cut({
      seen: 'response.web_search_call.completed',
      body: body(),
      respond: () => turn({ toolCalls: [LOOK_UP, LOOK_FOR] }),
    });
    assert.deepEqual(typesOf(response), ['web_search_call', 'function_call']);
    assert.equal(requests.length, 1);
  });

  it('repeats a search that kill -9 cut, and keeps the text of its turn', async () => {
    const { response, requests } = await cut({
      seen: 'response.web_search_call.searching',
      body: body(),
      respond: (_, n) => turn(n === 0 ? { text: 'I look.', toolCalls: [LOOK_FOR] } : { text: 'There.' }),
    });
    assert.deepEqual(typesOf(response), ['message', 'web_search_call', 'message']);
    const [first, ...behind] = requests.map(rolesOf);
    assert.deepEqual(first, ['user']);
    // On a busy machine the search may end before the kill, which then cuts the next turn.
    assert.ok(behind.length === 1 || behind.length === 2, `${behind.length} turns behind the search`);
    for (const roles of behind) assert.deepEqual(roles, ['user', 'assistant', 'tool']);
  });
});

describe('over Redis', () => {
  let redis: RedisServer;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  survives('Redis', () => freshDatabase(redis.url, 0));
});
