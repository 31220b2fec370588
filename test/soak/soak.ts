import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { startRedis } from '../support/redis.ts';
import { honestVisit } from './honest.ts';
import { hostileVisit } from './hostile.ts';

export interface SoakOptions {
  store: 'sqlite' | 'redis';
  minutes: number;
  log(line: string): void;
}

/** Numbers of one soak, as they are printed; a violation of any kind makes it red. */
export interface SoakReport {
  numbers: Record<string, number>;
  violations: Map<string, number>;
}

const MB = 1024 * 1024;
/** How often the instances are looked at, and one of them is killed where there are several, in milliseconds. */
const LOOK_MS = 2000;
const KILL_MS = 20_000;
/**
 * What memory may grow in a minute over the second half, by the length of the soak: in the first minutes caches fill
 * (64 MB of ended logs, 64 MB of snapshots). And how long /healthz may take, on a machine that does other work.
 */
const MAX_SLOPE = { afterMinutes: 20, long: 8 * MB, short: 40 * MB };
const MAX_HEALTH_MS = 5000;

interface Look {
  at: number;
  rss: number;
  handles: number;
  lagMs: number;
}

/** Honest and hostile load at the same time, over one instance on SQLite or three on Redis. */
export class Soak {
  readonly honest = 'sk-honest';
  readonly stranger = 'sk-stranger';
  readonly attacker = 'sk-attacker';
  requests = 0;
  runs = 0;
  faults = 0;
  readonly violations = new Map<string, number>();
  readonly #instances: GatewayProcess[] = [];
  readonly #looks = new Map<number, Look[]>();
  readonly #over = new AbortController();
  #longestHealth = 0;

  static async run(options: SoakOptions): Promise<SoakReport> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await gatewayFolder());
    const redis = options.store === 'redis' ? stack.use(await startRedis()) : undefined;
    const soak = new Soak();
    const start = () =>
      startGatewayProcess(configOf(redis?.url ?? `file:${folder.path}/data`), { folder: folder.path });
    for (let n = 0; n < (redis ? 3 : 1); n++) soak.#instances.push(await start());
    stack.defer(async () => {
      for (const instance of soak.#instances) await instance.kill();
    });
    const until = performance.now() + options.minutes * 60_000;
    const lanes = [
      ...Array.from({ length: 4 }, () => soak.#repeat(until, honestVisit)),
      ...Array.from({ length: 2 }, () => soak.#repeat(until, hostileVisit)),
      soak.#watch(until, options.log),
      ...(redis ? [soak.#killInTurn(until, start)] : []),
    ];
    await Promise.all(lanes);
    soak.#over.abort();
    return soak.#report(options.minutes);
  }

  /** Sends a request to any instance; undefined where the connection failed. */
  async ask(
    target: string,
    { key = this.honest, body }: { key?: string; body?: object } = {},
  ): Promise<Response | undefined> {
    const [method = 'GET', path = '/'] = target.split(' ', 2);
    this.requests++;
    return await fetch(this.anyInstance().url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(90_000),
    }).catch(() => undefined);
  }

  anyInstance(): GatewayProcess {
    const instance = this.#instances[Math.floor(Math.random() * this.#instances.length)];
    if (!instance) throw new Error('no instance is there');
    return instance;
  }

  violated(what: string): void {
    this.violations.set(what, (this.violations.get(what) ?? 0) + 1);
  }

  async pause(ms: number): Promise<void> {
    await delay(ms);
  }

  async #repeat(until: number, visit: (soak: Soak) => Promise<void>): Promise<void> {
    while (performance.now() < until) {
      await visit(this).catch((error: unknown) => this.violated(`a visit failed: ${error}`));
      await delay(20);
    }
  }

  /** Kills one instance after the other and starts another in its place. */
  async #killInTurn(until: number, start: () => Promise<GatewayProcess>): Promise<void> {
    // The first one lives to the end: what grows is seen on it.
    for (let turn = 0; performance.now() + KILL_MS < until; turn++) {
      await delay(KILL_MS);
      const place = 1 + (turn % 2);
      await this.#instances[place]?.kill();
      this.#instances[place] = await start();
      this.faults++;
    }
  }

  async #watch(until: number, log: (line: string) => void): Promise<void> {
    let told = performance.now();
    while (performance.now() < until) {
      const first = this.#instances[0];
      if (first)
        await this.#look(first).catch((error: unknown) => this.violated(`an instance does not answer: ${error}`));
      if (performance.now() - told > 30_000) {
        told = performance.now();
        log(`${this.requests} requests, ${this.runs} runs, ${this.faults} faults, ${this.violations.size} violations`);
      }
      await delay(LOOK_MS);
    }
  }

  async #look({ url, child }: GatewayProcess): Promise<void> {
    const began = performance.now();
    const health = await fetch(`${url}/healthz`);
    await health.arrayBuffer();
    this.#longestHealth = Math.max(this.#longestHealth, performance.now() - began);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const metric = (name: string) => Number(new RegExp(`^${name} ([\\d.e+-]+)`, 'm').exec(metrics)?.[1] ?? 0);
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const looks = this.#looks.get(child.pid ?? 0) ?? [];
    this.#looks.set(child.pid ?? 0, looks);
    looks.push({
      at: performance.now(),
      rss: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      handles: metric('nodejs_active_handles_total'),
      lagMs: metric('nodejs_eventloop_lag_p99_seconds') * 1000,
    });
  }

  #report(minutes: number): SoakReport {
    const looks = [...this.#looks.values()].reduce<Look[]>(
      (longest, own) => (own.length > longest.length ? own : longest),
      [],
    );
    const half = looks.slice(Math.floor(looks.length / 2));
    const slope = slopeOf(half.map(({ at, rss }) => [at / 60_000, rss]));
    const limit = minutes >= MAX_SLOPE.afterMinutes ? MAX_SLOPE.long : MAX_SLOPE.short;
    if (minutes >= 5 && slope > limit) this.violated(`memory grows by ${Math.round(slope / MB)} MB a minute`);
    if (this.#longestHealth > MAX_HEALTH_MS) this.violated(`/healthz took ${Math.round(this.#longestHealth)} ms`);
    if (this.runs === 0) this.violated('no run was made');
    return {
      violations: this.violations,
      numbers: {
        requests: this.requests,
        runs: this.runs,
        faults: this.faults,
        violations: [...this.violations.values()].reduce((sum, count) => sum + count, 0),
        'memory at most, MB': Math.round(Math.max(0, ...looks.map(({ rss }) => rss)) / MB),
        'memory slope of the second half, MB a minute': Math.round((slope / MB) * 10) / 10,
        'handles at the end': looks.at(-1)?.handles ?? 0,
        'event loop delay p99, ms': Math.round(Math.max(0, ...looks.map(({ lagMs }) => lagMs))),
        'longest /healthz, ms': Math.round(this.#longestHealth),
      },
    };
  }
}

/** The slope of the line nearest to these points. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const x = mean(points.map(([at]) => at));
  const y = mean(points.map(([, value]) => value));
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
}

function configOf(store: string): object {
  const routes = [{ provider: 'demo', model: 'demo' }];
  return {
    server: { port: 0 },
    store: { url: store },
    providers: { demo: { builtin: 'demo' } },
    models: {
      deep: { kind: 'research', routes, research: { effort: 'low', tools: ['web_search'] } },
      demo: { kind: 'proxy', routes, apis: ['chat_completions', 'async', 'embeddings'] },
    },
    keys: [
      { id: 'honest', secret: 'sk-honest' },
      { id: 'stranger', secret: 'sk-stranger' },
      { id: 'attacker', secret: 'sk-attacker', limits: { concurrent_runs: 4 } },
    ],
    tools: { web_search: { provider: 'local', folder: `${process.cwd()}/docs` } },
  };
}
