import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';

/** The MCP servers of test/mcp-servers: published programs, used in tests as an operator would use them. */

const FOLDER = fileURLToPath(new URL('../mcp-servers/', import.meta.url));
const PACKAGES = ['@modelcontextprotocol/server-everything', '@modelcontextprotocol/server-filesystem'] as const;

/** Installs the servers from their lockfile if they are missing. Fails with npm's own message. */
export async function installMcpServers(): Promise<void> {
  if (PACKAGES.every((name) => existsSync(join(FOLDER, 'node_modules', name, 'package.json')))) return;
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(npm, 'close');
  if (code !== 0) throw new Error(`npm ci in test/mcp-servers failed with code ${code}:\n${output.slice(-2_000)}`);
}

/** The program file of an installed server. */
export function mcpServerProgram(name: (typeof PACKAGES)[number]): string {
  const manifest = createRequire(join(FOLDER, 'package.json')).resolve(`${name}/package.json`);
  return join(dirname(manifest), 'dist', 'index.js');
}

/** A running HTTP server. */
export interface RunningMcpServer extends AsyncDisposable {
  readonly origin: string;
  readonly process: ChildProcess;
}

/** Starts `server-everything` on loopback, with streamable HTTP (`/mcp`) or the older transport (`/sse`). */
export async function startEverythingServer(
  transport: 'streamableHttp' | 'sse',
  onPort?: number,
): Promise<RunningMcpServer> {
  const program = mcpServerProgram('@modelcontextprotocol/server-everything');
  const child = spawn(process.execPath, ['--import', join(FOLDER, 'on-loopback.mjs'), program, transport], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, LOOPBACK_PORT: String(onPort ?? (await freePort())) },
  });
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`server-everything ended with code ${code}`))),
  ]);
  return {
    origin: `http://127.0.0.1:${message.port}`,
    process: child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
