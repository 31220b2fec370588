import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { startRedis } from '../../test/support/redis.ts';

/** A server in a process of its own, so that its CPU can be told from the load client's. */
export interface Target extends AsyncDisposable {
  url: string;
  pid: number;
}

export const KEY = 'sk-bench';

/** Starts a script of `bench/` that prints its address as its first line. */
export async function startScript(file: string, args: readonly string[] = []): Promise<Target> {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  return await started([path, ...args], 'stdout', /(http:\S+)/);
}

/** Starts another program and waits until it says `ready`, or until it can be expected to listen. */
export async function startProgram(
  command: string,
  args: readonly string[],
  options: { ready?: RegExp; env?: Record<string, string> } = {},
): Promise<Target> {
  const { ready } = options;
  const env = { PATH: process.env.PATH, ...options.env };
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const isReady = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes) => ready?.test(String(bytes)) && resolve());
    }
    setTimeout(resolve, ready ? 10_000 : 1000);
  });
  await Promise.race([isReady, exited]);
  if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
  return { url: '', pid: child.pid ?? 0, [Symbol.asyncDispose]: () => stop(child, exited) };
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 5000);
  await exited;
  clearTimeout(force);
}

/** One research model without tools over a provider. */
export function researchConfig(provider: { url: string }): object {
  return {
    providers: { bench: { base_url: provider.url } },
    models: { bench: { kind: 'research', routes: [{ provider: 'bench', model: 'bench' }], research: { tools: [] } } },
  };
}

/** One plain model whose responses the gateway makes, over a provider that speaks chat completions. */
export function plainConfig(provider: { url: string }): object {
  return {
    providers: { bench: { base_url: provider.url } },
    models: { bench: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'bench', model: 'bench' }] } },
  };
}

/** Where a gateway keeps its runs. */
export type StoreKind = 'SQLite' | 'Redis';

export interface GatewayTarget extends Target {
  /** The process of its Redis, where it has one. */
  redisPid: number | undefined;
  /** Its configuration file. */
  file: string;
}

/** Starts the gateway with this configuration over a folder of its own, or a Redis of its own. */
export async function startGateway(
  config: { server?: object; runs?: object; keys?: object[]; store?: object; models?: object; providers?: object },
  kind: StoreKind = 'SQLite',
): Promise<GatewayTarget> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  const file = join(folder, 'gateway.yaml');
  const redis = kind === 'Redis' ? await startRedis() : undefined;
  const store = { url: redis?.url ?? `file:${join(folder, 'data')}` };
  await writeFile(
    file,
    stringify({
      store,
      keys: [{ id: 'bench', secret: KEY }],
      ...config,
      server: { port: 0, ...config.server },
      runs: { max_concurrent: 4000, max_queued: 4000, ...config.runs },
    }),
  );
  const main = fileURLToPath(new URL('../../src/research-gateway.js', import.meta.url));
  const target = await started([main, 'serve', '--config', file], 'stderr', /"url":"(http:[^"]+)".*"msg":"listening"/);
  return {
    ...target,
    redisPid: redis?.pid,
    file,
    async [Symbol.asyncDispose]() {
      await target[Symbol.asyncDispose]();
      await redis?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function started(args: readonly string[], stream: 'stdout' | 'stderr', address: RegExp): Promise<Target> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    for (const name of ['stdout', 'stderr'] as const) {
      createInterface({ input: child[name] }).on('line', (line) => {
        if (said.length < 50) said.push(line);
        const found = name === stream ? address.exec(line)?.[1] : undefined;
        if (found) resolve(found);
      });
    }
    void exited.then(() => reject(new Error(`${args[0]} ended:\n${said.join('\n')}`)));
  });
  return {
    url,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stop(child, exited),
  };
}
