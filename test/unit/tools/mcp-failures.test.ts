import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { mock } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { createLogger, silentLogger } from '../../../src/base/logger.ts';
import { type HttpMcpServer, MCP_EXCHANGE } from '../../../src/tools/mcp/mcp-server.ts';
import { createMcpTools, type McpTools, type McpToolsOptions } from '../../../src/tools/mcp/mcp-tools.ts';
import { createSafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { type Tool, ToolError, type ToolOutput } from '../../../src/tools/tool.ts';
import { eventually } from '../../support/eventually.ts';
import {
  event,
  reply,
  replyError,
  type ScriptedMcpServer,
  startScriptedMcpServer,
  textResult,
} from '../../support/scripted-mcp-server.ts';
import { patience } from '../../support/time-limit.ts';
import { startWebServer } from '../../support/web-server.ts';

const never = new AbortController().signal;
const WAVES = `x${'🌊'.repeat(30_000)}`;
const SECRET = 'canary-token-5fd2';
const UNKNOWN = '[content of an unknown kind]';

async function outputOf(
  tools: readonly Tool[],
  name: string,
  args: JsonObject = {},
  signal = never,
): Promise<ToolOutput> {
  const tool = tools.find((each) => each.name === name);
  assert.ok(tool, `no tool ${name} among ${tools.map((each) => each.name).join(', ')}`);
  return await tool.call(args, { signal, log: silentLogger });
}

async function resultOf(tools: readonly Tool[], name: string, args: JsonObject = {}): Promise<JsonValue> {
  return (await outputOf(tools, name, args)).result(() => 1);
}

function open(server: Partial<HttpMcpServer> & { url: string }, options: Partial<McpToolsOptions> = {}): McpTools {
  return createMcpTools({ servers: [{ name: 's', ...server }], fetch, log: silentLogger, ...options });
}

const failsWith =
  (code: string, pattern = /./) =>
  (error: unknown) =>
    error instanceof ToolError && error.code === code && pattern.test(error.message) && !error.message.includes(SECRET);

/** An MCP server over stdio whose tools answer with too many or too deeply nested values. */
const PROGRAM = `
  const result = {
    fine: { content: [{ type: 'text', text: 'fine' }] },
    parts: { content: Array.from({ length: 2001 }, () => ({ type: 'none' })) },
    values: { content: [], structuredContent: { list: Array.from({ length: 200_001 }, () => 1) } },
    deep: { content: [], structuredContent: JSON.parse('{"a":'.repeat(5000) + '1' + '}'.repeat(5000)) },
  };
  const inputSchema = { type: 'object' };
  const answers = {
    initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } }),
    'tools/list': () => ({ tools: Object.keys(result).map((name) => ({ name, inputSchema })) }),
    'tools/call': ({ name }) => result[name],
  };
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const known = answers[method];
    const answer = known ? { result: known(params) } : { error: { code: -32601, message: 'unknown method' } };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });`;

const LINKED: JsonObject = {
  content: [
    { type: 'resource_link', uri: 'https://example.com/a', name: 'a', title: 'Page A', description: 'about A' },
    { type: 'resource', resource: { uri: 'https://example.com/b', text: 'text of B' } },
    { type: 'resource', resource: { uri: 'file:///c', blob: 'AAAA', mimeType: 'application/pdf' } },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  ],
};

describe('results of MCP tools', () => {
  let server: ScriptedMcpServer;
  let opened: McpTools;
  let tools: Tool[];
  before(async () => {
    const outputSchema = {
      type: 'object',
      properties: { n: { type: 'integer' } },
      required: ['n'],
      additionalProperties: false,
    };
    server = await startScriptedMcpServer({
      tools: {
        structured: {
          definition: { outputSchema },
          call: ({ args }) => ({ content: [{ type: 'text', text: JSON.stringify(args) }], structuredContent: args }),
        },
        unstructured: { definition: { outputSchema }, call: () => textResult('no structure') },
        both: { call: () => ({ content: [{ type: 'text', text: 'said' }], structuredContent: { a: 1 } }) },
        failing: { call: () => ({ ...textResult(`it broke with ${SECRET}`), isError: true }) },
        long: { call: ({ args }) => textResult('x'.repeat(Number(args.length))) },
        longStructure: { call: () => ({ content: [], structuredContent: { a: 'y'.repeat(60_000) } }) },
        waves: { call: () => textResult(WAVES) },
        linkedWaves: {
          call: () => ({
            content: [{ type: 'resource', resource: { uri: 'https://example.com/w', text: `x${WAVES}` } }],
          }),
        },
        failingWaves: { call: () => ({ ...textResult(WAVES), isError: true }) },
        linked: { call: () => LINKED },
        disguised: {
          call: () => ({
            content: [
              { type: 'resource_link', uri: 'https://bank.example@evil.example/', name: 'Bank' },
              { type: 'resource_link', uri: 'https://a.example/\u202etxt.exe', name: WAVES },
            ],
          }),
        },
        refusing: {
          call: ({ id, response }) => replyError(response, id, { code: -32_602, message: `bad argument ${SECRET}` }),
        },
        'not a name!': { call: () => textResult('') },
      },
    });
    opened = open({ url: server.url, accessToken: SECRET });
    tools = await opened.tools({ signal: never });
  });
  after(async () => {
    await opened[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('are the structured content if there is any, with the text if it says more', async () => {
    assert.deepEqual(await resultOf(tools, 's.structured', { n: 1 }), { n: 1 });
    assert.deepEqual(await resultOf(tools, 's.both'), { text: 'said', structured: { a: 1 } });
  });

  it('are passed on although they do not fit the schema of the tool', async () => {
    assert.deepEqual(await resultOf(tools, 's.structured', { n: 'one' }), { n: 'one' });
    assert.equal(await resultOf(tools, 's.unstructured'), 'no structure');
  });

  it('are read as far as they can be where parts of them fit no schema', async () => {
    const text = { type: 'text', text: 'useful' };
    const odd: [JsonObject, JsonValue][] = [
      [{ content: [{ ...text, annotations: null, _meta: null }], isError: null, structuredContent: null }, 'useful'],
      [{ content: [{ ...text, annotations: { priority: 5 } }], isError: 'false' }, 'useful'],
      [{ content: [text, { type: 'image', data: 'AAAA' }, null] }, `useful\n${UNKNOWN}\n${UNKNOWN}`],
      [{ content: [text, { type: 'resource_link', uri: 'https://a.example' }] }, `useful\n${UNKNOWN}`],
      [
        {
          content: [
            { type: 'text', text: 42 },
            { type: 'text', text: null },
          ],
        },
        '42\n',
      ],
      [{ content: 'useful' }, 'useful'],
      [{ content: text }, 'useful'],
      [{ content: [], structuredContent: [1, 2] }, '[1,2]'],
      [{ content: null, structuredContent: { a: 1 } }, { a: 1 }],
    ];
    await using server = await startScriptedMcpServer({
      tools: Object.fromEntries(odd.map(([result], at) => [`t${at}`, { call: () => result }])),
    });
    await using opened = open({ url: server.url });
    const tools = await opened.tools({ signal: never });
    for (const [at, [result, read]] of odd.entries()) {
      assert.deepEqual(await resultOf(tools, `s.t${at}`), read, JSON.stringify(result));
    }
  });

  it('are errors with the message of the tool, without credentials, if the tool failed', async () => {
    await assert.rejects(outputOf(tools, 's.failing'), failsWith('tool_failed', /it broke with \*+/));
    await assert.rejects(outputOf(tools, 's.refusing'), failsWith('invalid_arguments', /bad argument \*+/));
  });

  it('are truncated at their limit and say so', async () => {
    assert.equal(await resultOf(tools, 's.long', { length: 50_000 }), 'x'.repeat(50_000));
    assert.deepEqual(await resultOf(tools, 's.long', { length: 50_001 }), {
      text: 'x'.repeat(50_000),
      truncated: true,
    });
    const cut = await resultOf(tools, 's.longStructure');
    assert.ok(typeof cut === 'object' && cut !== null && 'truncated' in cut);
  });

  it('are cut at whole characters', async () => {
    for (const name of ['s.waves', 's.linkedWaves']) {
      const output = await outputOf(tools, name);
      for (const { snippet } of output.sources) assert.ok(snippet.isWellFormed());
      const { text } = z.object({ text: z.string() }).parse(output.result(() => 1));
      assert.ok(text.isWellFormed(), name);
    }
    await assert.rejects(
      outputOf(tools, 's.failingWaves'),
      (error) => error instanceof Error && error.message.isWellFormed(),
    );
  });

  it('name the pages they contain as sources', async () => {
    const output = await outputOf(tools, 's.linked');
    assert.deepEqual(output.sources, [
      { url: 'https://example.com/a', title: 'Page A', snippet: 'about A', kind: 'listed' },
      { url: 'https://example.com/b', title: 'https://example.com/b', snippet: 'text of B', kind: 'read' },
    ]);
    const text = String(output.result(() => 1));
    assert.match(
      text,
      /\[link: Page A <https:\/\/example.com\/a> about A\]\n\[file: https:\/\/example.com\/b\]\ntext of B/,
    );
    assert.match(
      text,
      /\[file: file:\/\/\/c, application\/pdf, 3 bytes, not shown\]\n\[audio: audio\/wav, 3 bytes, not shown\]/,
    );
  });

  it('name no page whose address reads like another one, and none with a long title', async () => {
    const { sources } = await outputOf(tools, 's.disguised');
    assert.deepEqual(
      sources.map(({ url, title }) => [url, title.length]),
      [['https://a.example/%E2%80%AEtxt.exe', 300]],
    );
  });

  it('come only from tools with usable names', () => {
    assert.equal(tools.length, 12);
    assert.ok(!tools.some((tool) => tool.name.includes('!')));
  });
});

describe('misbehaving MCP servers', () => {
  it('are represented by one tool that reports the failure if they cannot be reached', async () => {
    const taken = await startWebServer(() => {});
    const { port } = taken;
    await taken[Symbol.asyncDispose]();
    await using opened = open({ url: `http://127.0.0.1:${port}/mcp`, accessToken: SECRET }, { restMs: 0 });
    const tools = await opened.tools({ signal: never });
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ['s.call'],
    );
    assert.match(tools[0]?.description ?? '', /could not be reached/);
    await assert.rejects(outputOf(tools, 's.call'), failsWith('mcp_unavailable', /MCP server s/));
  });

  it('can be used through that tool once they are back', async () => {
    let down = true;
    await using server = await startScriptedMcpServer({
      tools: { add: { call: ({ args }) => textResult(String(Number(args.a) + 1)) } },
      intercept: (_request, response) => {
        if (down) response.writeHead(503).end('down');
        return down;
      },
    });
    await using opened = open({ url: server.url }, { restMs: 0 });
    const tools = await opened.tools({ signal: never });
    await assert.rejects(outputOf(tools, 's.call'), failsWith('mcp_unavailable', /503/));
    down = false;
    assert.match(JSON.stringify(await resultOf(tools, 's.call')), /"name":"add"/);
    assert.equal(await resultOf(tools, 's.call', { tool: 'add', arguments: { a: 1 } }), '2');
    await assert.rejects(outputOf(tools, 's.call', { tool: 'none' }), failsWith('not_found'));
    await assert.rejects(outputOf(tools, 's.call', { tool: 1 }), failsWith('invalid_arguments'));
    assert.deepEqual(
      (await opened.tools({ signal: never })).map((tool) => tool.name),
      ['s.add'],
    );
  });

  it('are asked once more if the gateway stalled while connecting', async () => {
    await using server = await startScriptedMcpServer({ tools: { echo: { call: () => textResult('') } } });
    let failing = 0;
    let standMs = 0;
    const hasty: typeof fetch = (input, init) => {
      if (failing-- <= 0) return fetch(input, init);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standMs);
      return Promise.reject(new TypeError('took too long'));
    };
    const names = async () => {
      await using opened = open({ url: server.url }, { fetch: hasty });
      return (await opened.tools({ signal: never })).map((tool) => tool.name);
    };
    failing = 1;
    assert.deepEqual(await names(), ['s.call'], 'it did not stand still');
    [failing, standMs] = [1, 1600];
    assert.deepEqual(await names(), ['s.echo']);
  });

  it('are left alone for a while after they could not be reached', async () => {
    await using server = await startScriptedMcpServer({
      tools: {},
      intercept: (_request, response) => {
        response.writeHead(500).end('broken');
        return true;
      },
    });
    await using opened = open({ url: server.url }, { restMs: 60_000 });
    await opened.tools({ signal: never });
    const asked = server.requests.length;
    for (let i = 0; i < 5; i++) await opened.tools({ signal: never });
    assert.equal(server.requests.length, asked);
  });

  it('are left alone for a while after they did not list their tools, and keep those that they listed before', async () => {
    let hangs = true;
    await using server = await startScriptedMcpServer({
      tools: { echo: { call: () => textResult('') } },
      intercept: () => hangs && server.methods.includes('notifications/initialized'),
    });
    for (const offered of ['s.call', 's.echo']) {
      hangs = offered === 's.call';
      // The first list of the second server must come within it.
      const timeoutMs = patience(0.3);
      await using opened = open({ url: server.url, timeoutMs }, { restMs: 60_000, listLifetimeMs: 0 });
      await opened.tools({ signal: never });
      hangs = true;
      const names = async () => (await opened.tools({ signal: never })).map(({ name }) => name);
      assert.deepEqual(await names(), [offered]);
      const asked = server.requests.length;
      assert.deepEqual(await names(), [offered]);
      assert.equal(server.requests.length, asked);
      server.methods.length = 0;
    }
  });

  it('are retried and listed again in time even if the clock is set back', async () => {
    let down = true;
    await using server = await startScriptedMcpServer({
      tools: { echo: { call: () => textResult('') } },
      intercept: (_request, response) => {
        if (down) response.writeHead(500).end('broken');
        return down;
      },
    });
    await using opened = open({ url: server.url }, { restMs: 20, listLifetimeMs: 20 });
    await opened.tools({ signal: never });
    down = false;
    const now = mock.method(Date, 'now', () => performance.timeOrigin + performance.now() - 3_600_000);
    try {
      await eventually('it is back', async () => (await opened.tools({ signal: never }))[0]?.name === 's.echo', 5000);
      const listed = server.methods.length;
      await eventually('it is listed anew', async () => {
        await opened.tools({ signal: never });
        return server.methods.length > listed;
      });
    } finally {
      now.mock.restore();
    }
  });

  it('list their tools once for many runs, again when the list is old, and keep it while they are down', async () => {
    let down = false;
    await using server = await startScriptedMcpServer({
      tools: { echo: { call: () => textResult('') } },
      intercept: (_request, response) => {
        if (down) response.writeHead(500).end();
        return down;
      },
    });
    const lists = () => server.methods.filter((method) => method === 'tools/list').length;
    await using lasting = open({ url: server.url });
    for (const list of await Promise.all([1, 2, 3].map(() => lasting.tools({ signal: never }))))
      assert.equal(list.length, 1);
    await lasting.tools({ signal: never });
    assert.equal(lists(), 1);
    await using fleeting = open({ url: server.url }, { listLifetimeMs: 0, restMs: 0 });
    await fleeting.tools({ signal: never });
    await fleeting.tools({ signal: never });
    assert.equal(lists(), 3);
    await using resting = open({ url: server.url }, { listLifetimeMs: 0, restMs: 60_000 });
    const tools = await resting.tools({ signal: never });
    down = true;
    // The second call opens a new connection, and fails.
    for (let n = 0; n < 2; n++) await assert.rejects(outputOf(tools, 's.echo'));
    for (const opened of [fleeting, resting]) {
      const names = (await opened.tools({ signal: never })).map((tool) => tool.name);
      assert.deepEqual(names, ['s.echo']);
    }
  });

  it('cause an error for a call that hangs, is cut or answers nonsense, and serve the next call', async () => {
    const hung: { aborted: Promise<void> }[] = [];
    await using server = await startScriptedMcpServer({
      tools: {
        good: { call: () => textResult('good') },
        hang: {
          call: ({ response }) => {
            hung.push({ aborted: new Promise((resolve) => response.once('close', resolve)) });
            return undefined;
          },
        },
        cut: {
          call: ({ response }) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.write(': begun\n\n', () => response.end());
            return undefined;
          },
        },
        broken: {
          call: ({ response }) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.write(': begun\n\n', () => response.destroy());
            return undefined;
          },
        },
        html: {
          call: ({ response }) => {
            response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>');
            return undefined;
          },
        },
        nonsense: {
          call: ({ response }) => {
            response.writeHead(200, { 'content-type': 'application/json' }).end('{"half":');
            return undefined;
          },
        },
        formless: { call: () => ({ content: 5 }) },
        fivehundred: {
          call: ({ response }) => {
            response.writeHead(500).end(`sorry ${SECRET}`);
            return undefined;
          },
        },
      },
    });
    await using opened = open({ url: server.url, accessToken: SECRET, timeoutMs: patience(1.5) }, { restMs: 0 });
    const tools = await opened.tools({ signal: never });
    for (const [name, code, pattern] of [
      ['cut', 'mcp_unavailable'],
      ['broken', 'mcp_unavailable'],
      ['html', 'mcp_unavailable'],
      ['nonsense', 'mcp_unavailable'],
      ['formless', 'mcp_unavailable', /in a form that the protocol does not have/],
      ['fivehundred', 'mcp_unavailable'],
      ['hang', 'timeout'],
    ] as const) {
      await assert.rejects(outputOf(tools, `s.${name}`), failsWith(code, pattern), name);
      assert.equal(await resultOf(tools, 's.good'), 'good', `after ${name}`);
    }
  });

  it('are called again if the gateway stalled until the connection closed', async () => {
    await using server = await startScriptedMcpServer({ tools: { echo: { call: () => textResult('here') } } });
    let failing = 0;
    let standMs = 0;
    const hasty: typeof fetch = (input, init) => {
      if (!String(init?.body).includes('tools/call') || failing-- <= 0) return fetch(input, init);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standMs);
      return Promise.reject(new ToolError('unreachable', 'the connection was closed'));
    };
    await using opened = open({ url: server.url }, { fetch: hasty });
    const tools = await opened.tools({ signal: never });
    failing = 1;
    await assert.rejects(outputOf(tools, 's.echo'), failsWith('unreachable'), 'it did not stand still');
    [failing, standMs] = [1, 1600];
    assert.equal(await resultOf(tools, 's.echo'), 'here');
  });

  it('are called by many runs at the same time', async () => {
    const calls = 60;
    const arrived: (() => void)[] = [];
    await using server = await startScriptedMcpServer({
      tools: {
        patient: {
          call({ id, response }) {
            arrived.push(() => reply(response, id, textResult('all there')));
            if (arrived.length === calls) for (const answer of arrived) answer();
            return undefined;
          },
        },
      },
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true, ...MCP_EXCHANGE });
    await using opened = open({ url: server.url }, { fetch: safe.fetch });
    const tools = await opened.tools({ signal: never });
    const results = await Promise.all(Array.from({ length: calls }, () => resultOf(tools, 's.patient')));
    assert.deepEqual(new Set(results), new Set(['all there']));
  });

  it('do not break other calls by breaking one', async () => {
    const arrived = Promise.withResolvers<void>();
    const broken = Promise.withResolvers<void>();
    await using server = await startScriptedMcpServer({
      tools: {
        slow: {
          call({ id, response }) {
            arrived.resolve();
            void broken.promise.then(() => reply(response, id, textResult('late')));
            return undefined;
          },
        },
        breaking: { call: ({ response }) => void response.destroy() },
      },
    });
    await using opened = open({ url: server.url });
    const tools = await opened.tools({ signal: never });
    const slow = resultOf(tools, 's.slow');
    await arrived.promise;
    await assert.rejects(outputOf(tools, 's.breaking'), ToolError);
    broken.resolve();
    assert.equal(await slow, 'late');
  });

  it('get at most 16 pending answers to their own requests', async () => {
    let answers = 0;
    let isAsking = false;
    const heard = Promise.withResolvers<void>();
    await using server = await startScriptedMcpServer({
      tools: {
        ask: {
          call: ({ id, response }) => {
            isAsking = true;
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            for (let n = 0; n < 100; n++) response.write(event({ id: `ask-${n}`, method: 'ping' }));
            void heard.promise.then(() => response.end(event({ id, result: textResult('done') })));
          },
        },
        again: { call: () => textResult('done') },
      },
      intercept: (request) => {
        // Answers are short; they are left unanswered.
        const isAnswer = isAsking && request.method === 'POST' && Number(request.headers['content-length']) < 60;
        if (isAnswer && ++answers === 16) heard.resolve();
        return isAnswer;
      },
    });
    await using opened = open({ url: server.url });
    const found = await opened.tools({ signal: never });
    assert.equal(await resultOf(found, 's.ask'), 'done');
    // These calls arrive after any further answers.
    for (let n = 0; n < 5; n++) await resultOf(found, 's.again');
    assert.equal(answers, 16);
  });

  it('are notified of an aborted call', async () => {
    const began = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using server = await startScriptedMcpServer({
      tools: {
        hang: {
          call: ({ response }) => {
            response.once('close', left.resolve);
            began.resolve();
            return undefined;
          },
        },
      },
    });
    await using opened = open({ url: server.url });
    const tools = await opened.tools({ signal: never });
    const controller = new AbortController();
    const running = outputOf(tools, 's.hang', {}, controller.signal);
    await began.promise;
    controller.abort(new Error('cancelled'));
    await assert.rejects(running, /cancelled/);
    await left.promise;
    assert.ok(server.methods.includes('notifications/cancelled'));
  });

  it('may take longer than the timeout while they report progress', async () => {
    await using server = await startScriptedMcpServer({
      tools: {
        slow: {
          call: ({ id, progressToken, response }) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            let step = 0;
            const timer = setInterval(() => {
              step++;
              if (step < 9) {
                response.write(event({ method: 'notifications/progress', params: { progressToken, progress: step } }));
                return;
              }
              clearInterval(timer);
              response.end(event({ id, result: textResult('late') }));
            }, 150);
            return undefined;
          },
        },
      },
    });
    await using opened = open({ url: server.url, timeoutMs: 1_000 });
    assert.equal(await resultOf(await opened.tools({ signal: never }), 's.slow'), 'late');
  });

  it('offer at most 128 tools, with bounded descriptions and schemas', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`t${i}`, { call: () => textResult('') }]));
    await using server = await startScriptedMcpServer({
      tools: {
        large: {
          definition: { description: 'd'.repeat(10_000), inputSchema: { type: 'object', title: 'i'.repeat(100_000) } },
          call: () => textResult(''),
        },
        ...many,
      },
    });
    await using opened = open({ url: server.url });
    const tools = await opened.tools({ signal: never });
    assert.equal(tools.length, 128);
    assert.equal(tools[0]?.description.length, 2_000);
    assert.deepEqual(tools[0]?.parameters, { type: 'object', additionalProperties: true });
  });

  it('offer tools of a list of 10 000: allowed ones, else the first, and say how many are left out', async () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };
    const tool = (at: number) => [`t${at}`, { definition: { inputSchema }, call: () => textResult('') }] as const;
    await using server = await startScriptedMcpServer({
      tools: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => tool(at))),
    });
    await using first = open({ url: server.url });
    const tools = await first.tools({ signal: never });
    assert.deepEqual([tools.length, tools.at(-1)?.name], [128, 's.t127']);
    assert.deepEqual(
      tools.flatMap(({ leftOut }) => leftOut ?? []),
      [{ server: 's', count: 9872 }],
    );
    await using chosen = open({ url: server.url, allowedTools: ['t9999'] });
    const allowed = await chosen.tools({ signal: never });
    assert.deepEqual(
      allowed.map(({ name, leftOut }) => ({ name, leftOut })),
      [{ name: 's.t9999', leftOut: undefined }],
    );
  });

  it('offer the tools of a list whose other entries fit no schema, with what can be read of each', async () => {
    const inputSchema: JsonObject = { type: 'object', properties: { a: { $ref: '#' } } };
    const tools: JsonValue = [
      { name: 'fine', description: 'Does it.', inputSchema },
      { name: 'nulls', title: null, description: null, annotations: null, outputSchema: null, inputSchema: null },
      { name: 'array', inputSchema: { type: 'array', items: {} } },
      { name: 'odd', description: 7, icons: 'x', inputSchema: { properties: ['a'], required: 'a', $defs: {} } },
      ...[{ name: 5, inputSchema: { type: 'object' } }, {}, null, 'tool', 4, []],
    ];
    await using server = await startScriptedMcpServer({
      tools: {},
      listed: (params) => (params.cursor === 'two' ? { tools, nextCursor: null } : { tools: [], nextCursor: 'two' }),
    });
    await using opened = open({ url: server.url });
    const offered = await opened.tools({ signal: never });
    assert.deepEqual(
      offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
      [
        { name: 's.fine', description: 'Does it.', parameters: inputSchema },
        { name: 's.nulls', description: 'nulls', parameters: { type: 'object' } },
        { name: 's.array', description: 'array', parameters: { type: 'object', items: {} } },
        { name: 's.odd', description: 'odd', parameters: { type: 'object', $defs: {} } },
      ],
    );
    assert.deepEqual(offered[0]?.leftOut, { server: 's', count: 6 });
  });

  it('of the first 16 pages are offered if their list has more, or never ends', async () => {
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    await using server = await startScriptedMcpServer({
      tools: {},
      listed: ({ cursor }) => {
        const page = Number(cursor ?? 0);
        return { tools: [{ name: `t${page}`, inputSchema: { type: 'object' } }], nextCursor: String(page + 1) };
      },
    });
    await using opened = open({ url: server.url }, { log });
    const offered = await opened.tools({ signal: never });
    assert.match(lines.join(''), /further pages of tools are not read/);
    assert.deepEqual(
      offered.map(({ name }) => name),
      Array.from({ length: 16 }, (_, page) => `s.t${page}`),
    );
  });

  it('are listed within one time limit, however many pages they take, and the log says why they are not', async () => {
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    await using server = await startScriptedMcpServer({
      tools: {},
      listed: async (params) => {
        const page = Number(params.cursor ?? 0);
        await delay(60);
        return { tools: [], nextCursor: String(page + 1) };
      },
    });
    await using opened = open({ url: server.url, timeoutMs: 200 }, { log });
    const [tool] = await opened.tools({ signal: never });
    assert.match(tool?.unreachable?.reason ?? '', /did not answer in time/);
    assert.match(lines.join(''), /did not answer in time.*did not list its tools/);
  });

  it('cause an error with too many values, parts or levels, over HTTP and stdio', async () => {
    await using server = await startScriptedMcpServer({
      tools: { parts: { call: () => ({ content: Array.from({ length: 2001 }, () => ({ type: 'none' })) }) } },
    });
    await using tools = createMcpTools({
      servers: [
        { name: 'h', url: server.url },
        { name: 'p', command: process.execPath, args: ['-e', PROGRAM] },
      ],
      fetch,
      log: silentLogger,
    });
    const offered = await tools.tools({ signal: never });
    for (const name of ['h.parts', 'p.parts', 'p.values', 'p.deep']) {
      await assert.rejects(outputOf(offered, name), failsWith('mcp_error', /holds too many values/), name);
    }
    assert.equal(await resultOf(offered, 'p.fine'), 'fine');
  });

  it('are logged without any part of a credential, wherever their words are cut', async () => {
    const lines: string[] = [];
    const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
    const says = `console.error('x'.repeat(490) + process.env.TOKEN);${PROGRAM}`;
    await using tools = createMcpTools({
      servers: [{ name: 'p', command: process.execPath, args: ['-e', says], env: { TOKEN: SECRET } }],
      fetch,
      log,
    });
    await tools.tools({ signal: never });
    const said = await eventually('its words are logged', () => lines.find((line) => line.includes('xxxx')));
    assert.ok(!said.includes(SECRET.slice(0, 8)), said);
  });

  it('do not keep a caller from leaving while they are silent', async () => {
    await using server = await startWebServer(() => {});
    await using opened = open({ url: `${server.origin}/mcp` });
    const controller = new AbortController();
    const listing = opened.tools({ signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(listing, /gone/);
  });

  const UNKNOWN: Record<string, (response: ServerResponse) => void> = {
    'HTTP 202': (response) => response.writeHead(202).end(),
    'HTTP 204': (response) => response.writeHead(204).end(),
    'HTTP 500': (response) => response.writeHead(500).end('TypeError'),
    'an empty body': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
    'a web page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi</p>'),
    'an object': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    'an error without the id': (response) => replyError(response, null, { code: -32_601, message: 'unknown' }),
  };
  for (const [answer, unknown] of Object.entries(UNKNOWN)) {
    it(`of earlier revisions may answer what they do not know with ${answer}`, async () => {
      const tools = { plus: { call: () => textResult('7') } };
      await using server = await startScriptedMcpServer({ tools, unknown });
      await using opened = open({ url: server.url });
      assert.equal(await resultOf(await opened.tools({ signal: never }), 's.plus'), '7');
    });
  }

  it('may refuse notifications, which have no answer', async () => {
    for (const notified of [400, 404, 500]) {
      const tools = { plus: { call: () => textResult('7') } };
      await using server = await startScriptedMcpServer({ tools, notified });
      await using opened = open({ url: server.url });
      assert.equal(await resultOf(await opened.tools({ signal: never }), 's.plus'), '7');
    }
  });

  it('are refused if two have the same name', () => {
    const twin = { name: 's', url: 'http://127.0.0.1:9/mcp' };
    assert.throws(
      () => createMcpTools({ servers: [twin, twin], fetch, log: silentLogger }),
      /two MCP servers are named s/,
    );
  });
});
