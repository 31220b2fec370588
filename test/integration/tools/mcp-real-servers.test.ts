import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { McpServer } from '../../../src/tools/mcp/mcp-server.ts';
import { createMcpTools, type McpTools } from '../../../src/tools/mcp/mcp-tools.ts';
import { type Tool, ToolError } from '../../../src/tools/tool.ts';
import { eventually } from '../../support/eventually.ts';
import {
  installMcpServers,
  mcpServerProgram,
  type RunningMcpServer,
  startEverythingServer,
} from '../../support/real-mcp-servers.ts';
import { patience } from '../../support/time-limit.ts';

const never = new AbortController().signal;

async function call(tools: readonly Tool[], name: string, args: JsonObject, signal = never): Promise<JsonValue> {
  const tool = tools.find((each) => each.name === name);
  assert.ok(tool, `no tool ${name} among ${tools.map((each) => each.name).join(', ')}`);
  const output = await tool.call(args, { signal, log: silentLogger });
  return output.result(() => 0);
}

const open = (server: McpServer): McpTools =>
  createMcpTools({ servers: [server], fetch, log: silentLogger, restMs: 0 });

describe('real MCP servers', function () {
  // Programs are started, some run into limits of time.
  this.timeout(patience(30));
  before(async () => {
    await installMcpServers();
  });

  for (const [transport, path] of [
    ['streamableHttp', '/mcp'],
    ['sse', '/sse'],
  ] as const) {
    describe(`server-everything over ${transport}`, () => {
      let running: RunningMcpServer;
      let opened: McpTools;
      let tools: Tool[];
      before(async () => {
        running = await startEverythingServer(transport);
        opened = open({ name: 'every', url: running.origin + path });
        tools = await opened.tools({ signal: never });
      });
      after(async () => {
        await opened?.[Symbol.asyncDispose]();
        await running?.[Symbol.asyncDispose]();
      });

      it('lists its tools with the server’s name as prefix, with descriptions and schemas', () => {
        const echo = tools.find((tool) => tool.name === 'every.echo');
        assert.ok(echo);
        assert.ok(echo.description.length > 0);
        assert.equal(echo.parameters.type, 'object');
        assert.ok(JSON.stringify(echo.parameters).includes('message'));
      });

      it('returns text, structured content, images, links and files', async () => {
        assert.equal(await call(tools, 'every.echo', { message: 'höher 😀' }), 'Echo: höher 😀');
        assert.equal(await call(tools, 'every.get-sum', { a: 2, b: 40 }), 'The sum of 2 and 40 is 42.');
        const weather = await call(tools, 'every.get-structured-content', { location: 'Chicago' });
        assert.ok(typeof weather === 'object' && weather !== null && 'temperature' in weather);
        assert.match(
          String(await call(tools, 'every.get-tiny-image', {})),
          /\[image: image\/png, \d+ bytes, not shown\]/,
        );
        assert.match(String(await call(tools, 'every.get-resource-links', { count: 2 })), /\[link: .*\n.*\[link: /);
        const file = await call(tools, 'every.get-resource-reference', { resourceType: 'Text', resourceId: 1 });
        assert.match(String(file), /\[file: demo:\/\/resource/);
      });

      it('reports arguments that the server rejects', async () => {
        await assert.rejects(call(tools, 'every.get-sum', { a: 'two' }), ToolError);
      });

      it('stops waiting at once when a call is aborted, and stays usable', async () => {
        const controller = new AbortController();
        const reason = new Error('cancelled');
        const args = { duration: 60, steps: 60 };
        const running = call(tools, 'every.trigger-long-running-operation', args, controller.signal);
        setImmediate(() => controller.abort(reason));
        await assert.rejects(running, reason);
        assert.equal(await call(tools, 'every.echo', { message: 'still here' }), 'Echo: still here');
      });

      it('is reconnected after a restart, without a failed call', async () => {
        const port = Number(new URL(running.origin).port);
        await running[Symbol.asyncDispose]();
        running = await startEverythingServer(transport, port);
        assert.equal(await call(tools, 'every.echo', { message: 'back' }), 'Echo: back');
      });

      it('is reported as unavailable while it is down, and is used again afterwards', async () => {
        const port = Number(new URL(running.origin).port);
        await running[Symbol.asyncDispose]();
        await assert.rejects(
          call(tools, 'every.echo', { message: 'nobody' }),
          (error) => error instanceof ToolError && error.code === 'mcp_unavailable' && /every/.test(error.message),
        );
        running = await startEverythingServer(transport, port);
        assert.equal(await call(tools, 'every.echo', { message: 'back again' }), 'Echo: back again');
      });
    });
  }

  it('time out when silent, but not while they report progress', async () => {
    await using running = await startEverythingServer('streamableHttp');
    const url = `${running.origin}/mcp`;
    await using patient = open({ name: 'every', url, timeoutMs: 1_500 });
    const tools = await patient.tools({ signal: never });
    const done = await call(tools, 'every.trigger-long-running-operation', { duration: 3, steps: 12 });
    assert.match(String(done), /completed/);
    await assert.rejects(
      call(tools, 'every.trigger-long-running-operation', { duration: 60, steps: 1 }),
      (error) => error instanceof ToolError && error.code === 'timeout',
    );
  });

  describe('server-filesystem over stdio', () => {
    let folder: string;
    let opened: McpTools;
    let tools: Tool[];
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mcp-files-'));
      await writeFile(join(folder, 'hello.txt'), 'hello from a file');
      opened = open({
        name: 'files',
        command: process.execPath,
        args: [mcpServerProgram('@modelcontextprotocol/server-filesystem'), folder],
        allowedTools: ['read_text_file', 'list_directory'],
      });
      // On a busy machine its start may take longer than a list may.
      tools = await eventually('its tools are listed', async () => {
        const listed = await opened.tools({ signal: never });
        return listed.some(({ name }) => name === 'files.read_text_file') ? listed : undefined;
      });
    });
    after(async () => {
      await opened?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });

    it('offers only the allowed tools', () => {
      assert.deepEqual(tools.map((tool) => tool.name).sort(), ['files.list_directory', 'files.read_text_file']);
    });

    it('reads files, and reports a file that it may not read', async () => {
      const result = await call(tools, 'files.read_text_file', { path: join(folder, 'hello.txt') });
      assert.match(JSON.stringify(result), /hello from a file/);
      await assert.rejects(
        call(tools, 'files.read_text_file', { path: '/etc/passwd' }),
        (error) => error instanceof ToolError && error.code === 'tool_failed' && /denied|outside/i.test(error.message),
      );
    });
  });

  it('that never answer are killed when their tools are disposed of', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-silent-'));
    const file = join(folder, 'pids');
    const script = `require('node:fs').appendFileSync(${JSON.stringify(file)}, process.pid + ' '); setInterval(() => {}, 1000);`;
    const silent = open({ name: 'silent', command: process.execPath, args: ['-e', script] });
    const listing = silent.tools({ signal: never });
    const pids = async () => (await readFile(file, 'utf8').catch(() => '')).split(' ').filter(Boolean).map(Number);
    await eventually('the program runs', async () => (await pids()).length > 0);
    await silent[Symbol.asyncDispose]();
    assert.deepEqual(
      (await listing).map((tool) => tool.name),
      ['silent.call'],
    );
    await eventually('the program has ended', async () => !(await pids()).some(isAlive));
    await rm(folder, { recursive: true });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
