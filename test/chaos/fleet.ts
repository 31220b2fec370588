import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { type BackendKind, startBackend } from './backends.ts';
import type { ResearchWorld } from './research-world.ts';
import { type RoundRobin, startRoundRobin } from './round-robin.ts';
import { WEBHOOK_SECRET, type WebhookReceivers } from './webhook-receivers.ts';

const ADMIN_KEY = 'sk-chaos-admin';
/** Of the key in the store that all clients have. */
export const KEY_ID = 'chaos';
export const MODEL = 'researcher';
export const PLAIN_MODEL = 'plain';
/** How far the clocks of instances are off, in milliseconds. */
const CLOCK_OFFSETS_MS = [0, 37_000, -41_000] as const;

const MOST_TROUBLES = 20;
const MOST_STARTS = 10;
const RESTART_MS = 500;

/** Gateways over one store behind a load balancer, and everything bad that can be done to them. */
export interface Fleet extends AsyncDisposable {
  /** Address of the load balancer. */
  readonly url: string;
  /** The headers of all clients: their key stands in the store. */
  readonly headers: Readonly<Record<string, string>>;
  /** What counts against a limit of the key. */
  used(limit: string): Promise<number>;
  /** Sets the limits of the key. */
  limit(limits: object): Promise<void>;
  /** Names of the instances; a provider sees them in the path of its requests. */
  readonly names: readonly string[];
  /** Address of one instance. */
  urlOf(name: string): string;
  /** `kill -9`, and a new process after `downMs`. */
  killInstance(name: string, downMs: number): Promise<void>;
  /** `kill -9` of one of its workers, which its first process replaces. */
  killWorker(name: string): Promise<void>;
  /** SIGSTOP, and SIGCONT after `ms`. */
  freezeInstance(name: string, ms: number): Promise<void>;
  /** SIGTERM, and a new process once it has ended; whether it ended with code 0. */
  terminateInstance(name: string): Promise<boolean>;
  /** No data goes between an instance and the store, or one of its servers, for `ms`; nobody is told. */
  partition(name: string, ms: number): Promise<void>;
  /** Data between an instance and the store takes `latencyMs` for `ms`. */
  slowDown(name: string, options: { ms: number; latencyMs: number }): Promise<void>;
  /** `kill -9` of a Redis server, and a new process over the same files after `downMs`; a replica takes over meanwhile. */
  killRedis(downMs: number): Promise<void>;
  /** SIGSTOP of a Redis server, and SIGCONT after `ms`; a replica may have taken over meanwhile. */
  hangRedis(ms: number): Promise<void>;
  /** Lines of log of all processes so far that tell of what must not happen. */
  complaints(): string[];
  /** Lines of log that tell of what instances could not reach: to look at where a promise was broken. */
  troubles(): string[];
  /** The last lines of log that name a run, of every process. */
  linesAbout(id: string): string[];
}

export interface FleetOptions {
  backend: BackendKind;
  instances: number;
  /** Processes of each instance; with one there are no workers. */
  workers: number;
  world: ResearchWorld;
  receivers: WebhookReceivers;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await gatewayFolder());
  const backend = opening.use(await startBackend(options.backend, folder.path));
  const balancer = opening.use(await startRoundRobin());
  const names = Array.from({ length: options.instances }, (_, at) => `instance-${at}`);
  const running = new Map<string, GatewayProcess>();
  opening.defer(async () => {
    for (const gateway of running.values()) await gateway.kill();
  });
  const logs: string[][] = [];
  const start = async (name: string) => {
    const store = await backend.storeOf(name);
    const gateway = await startGatewayProcess(configOf({ name, store, ...options }), {
      folder: folder.path,
      clockOffsetMs: CLOCK_OFFSETS_MS[names.indexOf(name)] ?? 0,
    });
    logs.push(gateway.log);
    running.set(name, gateway);
    balance(balancer, running);
  };
  await Promise.all(names.map(start));
  /** As a supervisor does: one that finds its store away ends, and is started again. */
  const restart = async (name: string) => {
    for (let tries = 1; ; tries++) {
      try {
        return await start(name);
      } catch (thrown) {
        if (tries === MOST_STARTS) throw thrown;
        await delay(RESTART_MS);
      }
    }
  };
  const headers = await makeKey(balancer.url, options.receivers);
  const stack = opening.move();
  const processOf = (name: string) => {
    const gateway = running.get(name);
    if (!gateway) throw new Error(`${name} does not run`);
    return gateway;
  };
  return {
    url: balancer.url,
    headers,
    async used(limit) {
      const answer = await fetch(`${balancer.url}/admin/keys/${KEY_ID}`, { headers: ADMIN });
      const { used } = (await answer.json()) as { used: { name: string; used: number }[] };
      return used.find(({ name }) => name === limit)?.used ?? 0;
    },
    async limit(limits) {
      const body = JSON.stringify({ limits });
      const answer = await fetch(`${balancer.url}/admin/keys/${KEY_ID}`, { method: 'PATCH', headers: ADMIN, body });
      if (!answer.ok) throw new Error(`the key was not changed: ${await answer.text()}`);
    },
    names,
    urlOf: (name) => processOf(name).url,
    async killInstance(name, downMs) {
      const gateway = processOf(name);
      const workers = await workersOf(gateway.child);
      await gateway.kill();
      signalAll(workers, 'SIGKILL');
      running.delete(name);
      balance(balancer, running);
      await delay(downMs);
      await restart(name);
    },
    async killWorker(name) {
      const workers = await workersOf(processOf(name).child);
      const at = Math.floor(Math.random() * workers.length);
      signalAll(workers.slice(at, at + 1), 'SIGKILL');
    },
    async freezeInstance(name, ms) {
      const { child } = processOf(name);
      const all = [child.pid ?? 0, ...(await workersOf(child))];
      signalAll(all, 'SIGSTOP');
      await delay(ms);
      signalAll(all, 'SIGCONT');
    },
    async terminateInstance(name) {
      const gateway = processOf(name);
      running.delete(name);
      balance(balancer, running);
      const code = await gateway.terminate();
      await restart(name);
      return code === 0;
    },
    async partition(name, ms) {
      const link = backend.linkOf(name);
      link?.cut(Math.random() < 0.5 ? 'all' : 'one');
      await delay(ms);
      link?.mend();
    },
    async slowDown(name, { ms, latencyMs }) {
      const link = backend.linkOf(name);
      if (!link) return;
      link.slow(latencyMs);
      await delay(ms);
      link.slow(0);
    },
    killRedis: (downMs) => backend.strike(downMs),
    hangRedis: (ms) => backend.hang(ms),
    troubles: () =>
      logs
        .flat()
        .filter((line) => line.includes('cannot be reached'))
        .slice(0, MOST_TROUBLES),
    complaints: () =>
      logs
        .flat()
        .filter(
          (line) =>
            !line.includes('a worker died') &&
            /"level":(50|60)|run failed unexpectedly|out of order|not contiguous/.test(line),
        ),
    linesAbout: (id) =>
      logs.flatMap((log) => log.filter((line) => line.includes(id) && !line.includes('"msg":"request"')).slice(-8)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The processes that a process has started and that live. */
async function workersOf({ pid }: GatewayProcess['child']): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

function balance(balancer: RoundRobin, running: ReadonlyMap<string, GatewayProcess>): void {
  balancer.targets = [...running.values()].map((gateway) => Number(new URL(gateway.url).port));
}

const ADMIN = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };

/** Makes the key of all clients in the store, with limits that none of them reaches; it is in force everywhere at once. */
async function makeKey(url: string, receivers: WebhookReceivers): Promise<Record<string, string>> {
  const limits = { tokens_per_day: 1e12, concurrent_runs: 1_000_000, requests_per_minute: 1_000_000 };
  const body = JSON.stringify({
    id: KEY_ID,
    limits,
    mcp_servers: true,
    webhook: { url: receivers.ofKey, secret: WEBHOOK_SECRET },
  });
  const answer = await fetch(`${url}/admin/keys`, { method: 'POST', headers: ADMIN, body });
  if (!answer.ok) throw new Error(`the key was not made: ${await answer.text()}`);
  const { secret } = (await answer.json()) as { secret: string };
  return { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
}

function configOf({ name, store, workers, world }: FleetOptions & { name: string; store: object }) {
  const provider = new URL(world.provider.url);
  return {
    server: { port: 0, workers, heartbeat_seconds: 1, shutdown_grace_seconds: 5 },
    store: { ...store, encryption_keys: ['a key that all instances of the storm have'] },
    runs: { max_concurrent: 100, max_queued: 2000 },
    providers: { scripted: { base_url: `${provider.origin}/${name}/v1`, api_key: 'sk-provider' } },
    models: {
      [MODEL]: { kind: 'research', routes: [{ provider: 'scripted', model: 'm' }], research: { tools: [] } },
      [PLAIN_MODEL]: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'scripted', model: 'm' }] },
    },
    keys: [{ id: 'boss', secret: ADMIN_KEY, admin: true }],
    webhooks: { allow_hosts: ['127.0.0.1'] },
    tools: {
      mcp_servers: [{ name: 'world', url: `${world.tool.url}?${name}` }],
      // Clients of the plain model name the same server themselves.
      fetch_url_content: { allow_private_addresses: true },
    },
  };
}
