import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackage } from './debian-package.ts';
import { freePort } from './free-port.ts';

/** A private Redis on loopback with its own folder; it ends with the test. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  /** `kill -9`, and no restart. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder, after `kill`. */
  start(): Promise<void>;
  /** Stops the process in its tracks (`SIGSTOP`). */
  freeze(): void;
  thaw(): void;
}

/** Generous, because a Redis with much data is slow to start on a busy machine. */
const START_LIMIT_MS = 60_000;

/** The server that all Redis tests run against; `REDIS_SERVER` names another one, such as a path to `valkey-server`. */
export const REDIS_SERVER = process.env.REDIS_SERVER ?? 'redis-server';

/**
 * For `before` hooks: skips the suite if there is no redis-server and none can be installed, and says why. On CI (`CI` is
 * set) it fails instead, because a green run without these tests would be misleading.
 */
export async function redisOrSkip(context: Mocha.Context, settings: readonly string[] = []): Promise<RedisServer> {
  // Installing takes a while where it has to be done.
  context.timeout(600_000);
  const missing = findRedis();
  if (missing === undefined) return await startRedis(settings);
  if (process.env.CI) throw new Error(`Redis tests cannot run: ${missing}`);
  console.warn(`      skipped: ${missing}`);
  return context.skip();
}

/**
 * For tests that kill a Redis and rely on acknowledged writes: with `everysec`, a Redis with a busy disk delays writes to
 * its append-only file for up to two seconds, and a crash loses them.
 */
export const SYNC_ALWAYS = ['--appendfsync', 'always'];

/** Starts a Redis with append-only file and no eviction; `settings` are further command-line arguments. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const missing = findRedis();
  if (missing !== undefined) throw new Error(missing);
  const folder = await mkdtemp(join(tmpdir(), 'redis-test-'));
  let port = await freePort();
  let child = await launch(port, folder, settings).catch(async () => {
    // Somebody else took the port in the meantime.
    port = await freePort();
    return await launch(port, folder, settings);
  });
  return {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    async kill() {
      await end(child);
    },
    async start() {
      child = await launch(port, folder, settings);
    },
    freeze() {
      child.kill('SIGSTOP');
    },
    thaw() {
      child.kill('SIGCONT');
    },
    async [Symbol.asyncDispose]() {
      await end(child);
      await rm(folder, { recursive: true });
    },
  };
}

/** Makes sure that there is a redis-server, by installing one if needed. Returns why not, or undefined. */
function findRedis(): string | undefined {
  if (works()) return undefined;
  if (process.env.REDIS_SERVER) return `REDIS_SERVER does not run: ${REDIS_SERVER}`;
  const reason = installPackage('redis-server');
  if (works()) return undefined;
  return `no redis-server in the PATH, and apt-get could not install one (${reason})`;
}

function works(): boolean {
  return spawnSync(REDIS_SERVER, ['--version']).status === 0;
}

async function launch(port: number, folder: string, settings: readonly string[]): Promise<ChildProcess> {
  return await ready(
    spawn(
      REDIS_SERVER,
      [
        ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--daemonize', 'no'],
        ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--maxmemory-policy', 'noeviction'],
        ...settings,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    ),
    'Ready to accept connections',
  );
}

/** Waits until the output of a process contains `words`, and returns the process. */
export async function ready(child: ChildProcess, words: string): Promise<ChildProcess> {
  let output = '';
  const ready = Promise.withResolvers<void>();
  child.stdout?.on('data', (chunk) => {
    output += chunk;
    if (output.includes(words)) ready.resolve();
  });
  child.on('exit', (code, signal) => ready.reject(new Error(`redis-server ended (${code ?? signal}): ${output}`)));
  const timer = setTimeout(() => ready.reject(new Error(`redis-server does not start: ${output}`)), START_LIMIT_MS);
  try {
    await ready.promise;
  } catch (thrown) {
    child.kill('SIGKILL');
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
  return child;
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
