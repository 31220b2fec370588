import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { silentLogger } from '../../../src/base/logger.ts';
import { MCP_EXCHANGE } from '../../../src/tools/mcp/mcp-server.ts';
import { createMcpTools } from '../../../src/tools/mcp/mcp-tools.ts';
import { createSafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { type Tool, ToolError } from '../../../src/tools/tool.ts';
import {
  event,
  reply,
  type ScriptedCall,
  type ScriptedMcpServer,
  startScriptedMcpServer,
  textResult,
} from '../../support/scripted-mcp-server.ts';

const signal = new AbortController().signal;
const STREAM = { 'content-type': 'text/event-stream' };

/** Calls that an exchange ends without answering them. */
const UNANSWERED: Record<string, { call: ScriptedCall; says: RegExp }> = {
  'HTTP 202': { call: ({ response }) => void response.writeHead(202).end(), says: /accepted the request \(HTTP 202\)/ },
  'another id': { call: ({ response }) => reply(response, 4711, textResult('whose?')), says: /without the id of the/ },
  'an empty batch': {
    call: ({ response }) => void response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
    says: /without the id of the request/,
  },
  'a stream that ends with another id': {
    call: ({ response }) => void response.writeHead(200, STREAM).end(event({ id: 4711, result: textResult('') })),
    says: /ended the stream without an answer/,
  },
};

/** Runs `work` with the only tool of a server; the time limit of a call is longer than that of a test. */
async function withTool(
  call: ScriptedCall,
  work: (tool: Tool, server: ScriptedMcpServer) => Promise<void>,
  getStream?: (response: ServerResponse) => void,
): Promise<void> {
  await using server = await startScriptedMcpServer({
    tools: { it: { call } },
    intercept: (request, response) => {
      if (request.method === 'GET') getStream?.(response);
      return request.method === 'GET' && getStream !== undefined;
    },
  });
  await using safe = createSafeFetch({ allowPrivateAddresses: true, ...MCP_EXCHANGE });
  await using opened = createMcpTools({
    servers: [{ name: 's', url: server.url }],
    fetch: safe.fetch,
    log: silentLogger,
  });
  const [tool] = await opened.tools({ signal });
  assert.equal(tool?.name, 's.it');
  await work(tool, server);
}

const callOf = (tool: Tool) => tool.call({}, { signal, log: silentLogger });
const failsWith = (code: string, words: RegExp) => (error: unknown) =>
  error instanceof ToolError && error.code === code && words.test(error.message);

describe('calls of an MCP server that are not answered', () => {
  for (const [answer, { call, says }] of Object.entries(UNANSWERED)) {
    it(`fail at once after ${answer} if the server has no other stream`, async () => {
      await withTool(call, async (tool) => {
        await assert.rejects(callOf(tool), failsWith('mcp_unavailable', says));
      });
    });
  }

  for (const answer of ['HTTP 202', 'another id'] as const) {
    it(`wait after ${answer} for the server's other stream`, async () => {
      const opened = Promise.withResolvers<ServerResponse>();
      const streamed: ScriptedCall = (call) => {
        UNANSWERED[answer]?.call(call);
        call.response.once('close', async () => {
          (await opened.promise).write(event({ id: call.id, result: textResult('elsewhere') }));
        });
      };
      const work = async (tool: Tool) => {
        const stream = await opened.promise;
        assert.equal(
          (await callOf(tool)).result(() => 1),
          'elsewhere',
        );
        stream.end();
      };
      await withTool(streamed, work, (response) => {
        response.writeHead(200, STREAM).write(': open\n\n');
        opened.resolve(response);
      });
    });

    it(`fail after ${answer} once that stream is refused`, async () => {
      const asked = Promise.withResolvers<ServerResponse>();
      const refusing: ScriptedCall = (call) => {
        UNANSWERED[answer]?.call(call);
        call.response.once('close', async () => (await asked.promise).writeHead(405).end());
      };
      await withTool(refusing, async (tool) => void (await assert.rejects(callOf(tool), ToolError)), asked.resolve);
    });
  }

  for (const [kind, id] of Object.entries({ 'a stream': '', 'a stream that could be resumed': 'id: 1\ndata:\n\n' })) {
    it(`fail with the reason if ${kind} holds more than the gateway reads`, async () => {
      const resumed: string[] = [];
      const large: ScriptedCall = ({ id: of, response }) => {
        response.writeHead(200, STREAM).write(id);
        response.end(event({ id: of, result: textResult('x'.repeat(11 * 1024 * 1024)) }));
      };
      const work = async (tool: Tool, server: ScriptedMcpServer) => {
        await assert.rejects(callOf(tool), failsWith('too_large', /larger than 10485760 bytes/));
        resumed.push(...server.headers.flatMap((headers) => headers['last-event-id'] ?? []));
      };
      await withTool(large, work);
      assert.deepEqual(resumed, []);
    });

    it(`fail with the reason if ${kind} holds too many values`, async () => {
      const structuredContent = { list: Array.from({ length: 200_001 }, () => 1) };
      const many: ScriptedCall = ({ id: of, response }) => {
        response.writeHead(200, STREAM).write(id);
        response.end(event({ id: of, result: { content: [], structuredContent } }));
      };
      await withTool(many, async (tool) => {
        await assert.rejects(callOf(tool), failsWith('invalid_output', /holds too many values/));
      });
    });
  }
});
