import { setTimeout as delay } from 'node:timers/promises';
import {
  type GatewayProcess,
  gatewayFolder,
  probe,
  residentMemory,
  startGatewayProcess,
} from '../support/gateway-process.ts';
import { startRedis } from '../support/redis.ts';
import { honestVisit } from './honest-clients.ts';
import { hostileVisit, startHostileProvider } from './hostile-clients.ts';

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
/** How often garbage is collected and memory looked at, /healthz is asked, and one of several is killed, in milliseconds. */
const LOOK_MS = 10_000;
const BEAT_MS = 100;
const KILL_MS = 20_000;
/**
 * What memory may grow in a minute over the second half, by the lowest of each minute: what is left after a collection is
 * judged once caches are full and the code is compiled. The memory of the process, with what libraries hold and what
 * fragments, also follows the load, by some hundred megabytes: it is judged in long soaks.
 */
const LIVE = { afterMinutes: 8, slope: 2 * MB };
const RESIDENT = { afterMinutes: 25, slope: 4 * MB };

/**
 * How long a step may hold the event loop, in milliseconds of its own time: no more can /healthz wait for it on a machine
 * that has nothing else to do. On one that has, and that runs the load itself, it is asked to answer at all.
 */
const MAX_STEP_MS = 300;
const MAX_HEALTH_MS = 15_000;

interface Look {
  at: number;
  rss: number;
  /** What is left after a collection of garbage. */
  live: number;
  handles: number;
  /** The longest step since the last look, in milliseconds of the thread's own time. */
  stepMs: number;
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
  readonly #looks: Look[] = [];
  #looking = false;
  readonly #over = new AbortController();
  readonly #beats: number[] = [];

  static async run(options: SoakOptions): Promise<SoakReport> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await gatewayFolder());
    const redis = options.store === 'redis' ? stack.use(await startRedis()) : undefined;
    const provider = stack.use(await startHostileProvider());
    const soak = new Soak();
    const start = () =>
      startGatewayProcess(configOf(redis?.url ?? `file:${folder.path}/data`, provider.url), {
        folder: folder.path,
        probed: true,
      });
    for (let n = 0; n < (redis ? 3 : 1); n++) soak.#instances.push(await start());
    // Starting takes a long step, once.
    for (const instance of soak.#instances) await probe(instance, 'memory');
    stack.defer(async () => {
      for (const instance of soak.#instances) await instance.kill();
    });
    const until = performance.now() + options.minutes * 60_000;
    const lanes = [
      ...Array.from({ length: 4 }, () => soak.#repeat(until, honestVisit)),
      ...Array.from({ length: 2 }, () => soak.#repeat(until, hostileVisit)),
      soak.#watch(until, options.log),
      soak.#beat(until),
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
    while (performance.now() < until) {
      await delay(LOOK_MS);
      const first = this.#instances[0];
      const look =
        first &&
        (await this.#look(first).catch((error: unknown) => this.violated(`an instance does not answer: ${error}`)));
      if (!look) continue;
      this.#looks.push(look);
      log(
        `${this.requests} requests, ${this.runs} runs, ${this.faults} faults, ${this.violations.size} violations, ` +
          `${mb(look.live)} MB live, ${mb(look.rss)} MB in all`,
      );
    }
  }

  /** How long the first instance takes for /healthz. */
  async #beat(until: number): Promise<void> {
    while (performance.now() < until) {
      const began = performance.now();
      await fetch(`${this.#instances[0]?.url}/healthz`, { signal: AbortSignal.timeout(20_000) })
        .then((answer) => answer.arrayBuffer())
        .catch((error: unknown) => this.violated(`/healthz does not answer: ${error}`));
      if (!this.#looking) this.#beats.push(performance.now() - began);
      await delay(BEAT_MS);
    }
  }

  async #look(instance: GatewayProcess): Promise<Look> {
    const metrics = await (await fetch(`${instance.url}/metrics`)).text();
    const metric = (name: string) => Number(new RegExp(`^${name} ([\\d.e+-]+)`, 'm').exec(metrics)?.[1] ?? 0);
    // A collection holds the event loop: what a client waits for it is the soak's own doing.
    this.#looking = true;
    const { live, stepMs } = await probe(instance, 'memory').finally(() => {
      this.#looking = false;
    });
    return {
      at: performance.now(),
      live,
      rss: await residentMemory(instance),
      stepMs,
      handles: metric('nodejs_active_handles_total'),
    };
  }

  #report(minutes: number): SoakReport {
    const looks = this.#looks;
    const half = looks.slice(Math.floor(looks.length / 2));
    const slope = (of: (look: Look) => number) => slopeOf(lowest(half.map((look) => [look.at / 60_000, of(look)])));
    const longestStep = Math.round(Math.max(0, ...looks.map(({ stepMs }) => stepMs)));
    if (longestStep > MAX_STEP_MS) this.violated(`a step held the event loop for ${longestStep} ms of its own time`);
    const [live, rss] = [slope((look) => look.live), slope((look) => look.rss)];
    if (minutes >= LIVE.afterMinutes && live > LIVE.slope) {
      this.violated(`live memory grows by ${mb(live)} MB a minute`);
    }
    if (minutes >= RESIDENT.afterMinutes && rss > RESIDENT.slope) {
      this.violated(`the memory of the process grows by ${mb(rss)} MB a minute`);
    }
    const beats = this.#beats.toSorted((a, b) => a - b);
    const [p99, longest] = [0.99, 1].map((share) => Math.round(beats[Math.floor((beats.length - 1) * share)] ?? 0));
    if ((longest ?? 0) > MAX_HEALTH_MS) this.violated(`/healthz took ${longest} ms`);
    if (this.runs === 0) this.violated('no run was made');
    if (looks.length === 0) this.violated('nobody looked at the memory: the soak was too short');
    return {
      violations: this.violations,
      numbers: {
        requests: this.requests,
        runs: this.runs,
        faults: this.faults,
        violations: [...this.violations.values()].reduce((sum, count) => sum + count, 0),
        'memory of the process at most, MB': mb(Math.max(0, ...looks.map((look) => look.rss))),
        'memory of the process, slope of the second half, MB a minute': mb(rss),
        'live memory at the end, MB': mb(looks.at(-1)?.live ?? 0),
        'live memory, slope of the second half, MB a minute': mb(live),
        'handles at the end': looks.at(-1)?.handles ?? 0,
        'longest step of the event loop, ms of its own time': longestStep,
        '/healthz at p99, ms': p99 ?? 0,
        'longest /healthz, ms': longest ?? 0,
      },
    };
  }
}

/** Megabytes with one digit after the point. */
function mb(bytes: number): number {
  return Math.round((bytes / MB) * 10) / 10;
}

type Point = readonly [minute: number, value: number];

/** The lowest of each minute: what requests under way hold comes on top, and is no leak. */
function lowest(points: readonly Point[]): Point[] {
  const minutes = Map.groupBy(points, ([minute]) => Math.floor(minute));
  return [...minutes.values()].flatMap((few) => few.toSorted(([, a], [, b]) => a - b).slice(0, 1));
}

/** The slope of the line nearest to these points. */
function slopeOf(points: readonly Point[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const x = mean(points.map(([at]) => at));
  const y = mean(points.map(([, value]) => value));
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
}

function configOf(store: string, hostile: string): object {
  const routes = [{ provider: 'demo', model: 'demo' }];
  const hostileRoutes = [{ provider: 'hostile', model: 'm' }];
  return {
    server: { port: 0 },
    store: { url: store },
    providers: {
      demo: { builtin: 'demo' },
      hostile: { base_url: hostile, max_retries: 0, timeouts: { first_byte: 5, idle: 5 } },
    },
    models: {
      deep: { kind: 'research', routes, research: { effort: 'low', tools: ['web_search'] } },
      demo: { kind: 'proxy', routes, apis: ['chat_completions', 'async', 'embeddings'] },
      'bad-deep': { kind: 'research', routes: hostileRoutes, research: { effort: 'low', tools: ['web_search'] } },
      'bad-demo': { kind: 'proxy', routes: hostileRoutes, apis: ['chat_completions'] },
    },
    keys: [
      { id: 'honest', secret: 'sk-honest' },
      { id: 'stranger', secret: 'sk-stranger' },
      { id: 'attacker', secret: 'sk-attacker', limits: { concurrent_runs: 4 } },
    ],
    tools: { web_search: { provider: 'local', folder: `${process.cwd()}/docs` } },
  };
}
