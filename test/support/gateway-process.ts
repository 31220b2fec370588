import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { eventually } from './eventually.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const PROBED = ['--expose-gc', '--import', import.meta.resolve('./gateway-probe.ts')];

/** A gateway in a process of its own. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  /** Every line of log so far. */
  readonly log: string[];
  /** Ends it at once, as a crash would. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop and gives its exit code. */
  terminate(): Promise<number | null>;
}

/** A folder for the data of one gateway, removed when disposed. */
export async function gatewayFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const SHIFTED_CLOCK = new URL('./shifted-clock.ts', import.meta.url).href;

/**
 * Asks a gateway that was started with `probed` for the longest step of its event loop since the last call, in
 * milliseconds of CPU time, or (`memory`) for the memory in use after a garbage collection, in bytes.
 */
export async function probe(
  { child, log }: GatewayProcess,
  what: 'step' | 'memory',
): Promise<{ live: number; stepMs: number }> {
  const from = log.length;
  child.kill(what === 'memory' ? 'SIGUSR2' : 'SIGWINCH');
  return await eventually('the gateway answers its probe', () => {
    const told = log.slice(from).find((line) => line.includes('"msg":"probe"'));
    return told && JSON.parse(told);
  });
}

/** Resident memory of the process, in bytes. */
export async function residentMemory({ child }: GatewayProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Starts `serve` with this configuration and waits until it listens. `clockOffsetMs` shifts its clock; `probed`: see `probe`. */
export async function startGatewayProcess(
  config: object,
  options: { folder: string; clockOffsetMs?: number; probed?: boolean },
): Promise<GatewayProcess> {
  const file = join(options.folder, `gateway-${Math.random().toString(36).slice(2)}.yaml`);
  await writeFile(file, stringify(config));
  const { clockOffsetMs = 0, probed = false } = options;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: options.folder, CLOCK_OFFSET_MS: `${clockOffsetMs}` };
  const before = clockOffsetMs === 0 ? [] : ['--import', SHIFTED_CLOCK];
  const child = spawn(process.execPath, [...before, ...(probed ? PROBED : []), MAIN, 'serve', '--config', file], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log: string[] = [];
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  // Its last lines may be read after its end.
  const closed = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      const listening = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(line);
      if (listening?.[1]) resolve(listening[1]);
    });
    void closed.then((code) => reject(new Error(`the gateway ended with ${code}:\n${log.join('\n')}`)));
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    url,
    child,
    log,
    kill,
    async terminate() {
      child.kill('SIGTERM');
      return await closed;
    },
    [Symbol.asyncDispose]: kill,
  };
}
