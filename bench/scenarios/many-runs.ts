import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startRedis } from '../../test/support/redis.ts';
import { cpuMicros, quantile, rssMb } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { type GatewayTarget, researchConfig, type StoreKind, startGateway } from '../support/processes.ts';
import type { Row } from '../support/scoreboard.ts';
import { fill, LARGEST_USER, newRun } from '../support/stored-runs.ts';
import { startTimedClient, type TimedClient, type TimedRequest } from '../support/timed-client.ts';

/**
 * A store that holds many runs, seen through a gateway: lists with each filter, and what clients notice while 100 000
 * expired runs are removed. `RUNS=1000000` in the environment for the largest figure, `SWEPT` for other sweeps.
 */
const RUNS = Number(process.env.RUNS ?? 100_000);
const SWEPT = Number(process.env.SWEPT ?? 100_000);
const USERS = 1000;
const SAMPLES = 1000;
/** Every other request is the largest user's; the others are some users' of 1 000, in turn. */
const OTHER_USERS = ['user-1', 'user-13', 'user-333', 'user-877', 'user-999'];
const QUERIES: Readonly<Record<string, string>> = {
  'no filter': '',
  'a status': '&status=completed',
  'a rare status': '&status=failed',
  'a status that none has': '&status=in_progress',
  'a model': '&model=wide',
  'a rare status and a model': '&status=failed&model=wide',
  'oldest first': '&order=asc',
};
/** Longest wait for the sweep to begin, and for its end, in milliseconds. */
const SWEEP_MS = 120_000 + SWEPT * 5;
const HEALTH_EVERY_MS = 10;

export async function manyRuns({ stores }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of stores) {
    const add: AddRow = (what, value, { unit, goal }) => {
      rows.push({ what: `${what}, ${RUNS} runs, ${kind}`, unit, ours: [value], goal });
    };
    await using place = await openPlace(kind);
    await using client = await startTimedClient();
    const began = performance.now();
    await place.use((store) => fill(store, { runs: RUNS, users: USERS }));
    add('filling', (RUNS / (performance.now() - began)) * 1000, { unit: 'runs/s', goal: { atLeast: 1000 } });
    add('a stored run', (await place.bytes()) / RUNS, { unit: 'bytes', goal: { atMost: 8000 } });
    await place.use((store) => creations(store, add));
    await lists({ place, client, add });
    await sweep({ place, client, add });
  }
  return rows;
}

type AddRow = (what: string, value: number, row: Pick<Row, 'unit' | 'goal'>) => void;

async function creations(store: RunStore, add: AddRow): Promise<void> {
  const created: RunId[] = [];
  const create = async (n: number) => {
    const run = newRun(n, USERS);
    await store.create(run);
    created.push(run.id);
  };
  const times = await timesOf(create);
  add('a new run', quantile(times, 0.5), { unit: 'ms median', goal: { atMost: 10 } });
  for (const id of created) await store.delete(id);
}

async function lists({ place, client, add }: { place: Place; client: TimedClient; add: AddRow }): Promise<void> {
  await using gateway = await place.gateway();
  for (const [what, query] of Object.entries(QUERIES)) {
    const requests = OTHER_USERS.flatMap((user) => [user, LARGEST_USER]).map((user) =>
      requestOf(gateway, { user, path: `/v1/responses?limit=100${query}` }),
    );
    await client.inTurn(requests, requests.length * 5);
    const cpu = cpuMicros(gateway.pid);
    const times = await client.inTurn(requests, SAMPLES);
    const name = `list of 100, ${what}`;
    add(name, quantile(times, 0.5), { unit: 'ms median', goal: { atMost: 10 } });
    add(name, quantile(times, 0.99), { unit: 'ms p99', goal: { atMost: 15 } });
    add(name, (cpuMicros(gateway.pid) - cpu) / SAMPLES / 1000, { unit: 'ms of CPU', goal: { atMost: 10 } });
  }
}

/** 100 000 more runs that have expired when the gateway starts. */
async function sweep({ place, client, add }: { place: Place; client: TimedClient; add: AddRow }): Promise<void> {
  const stored = await place.use((store) => fill(store, { runs: SWEPT, users: USERS, retainMs: 0 }));
  // They expire in the order of their ends. The largest user's are looked at: others' are never found.
  const mine = stored.filter((run) => run.user === LARGEST_USER).map((run) => run.id);
  await using gateway = await place.gateway();
  const gone = async (some: readonly RunId[]) => {
    for (const id of some) {
      const { url, headers } = requestOf(gateway, { user: LARGEST_USER, path: `/v1/responses/resp_${id}` });
      const response = await fetch(url, { headers });
      await response.body?.cancel();
      if (response.status === 200) return false;
      if (response.status !== 404) throw new Error(`a run answered ${response.status}`);
    }
    return true;
  };
  await until(() => gone(mine.slice(0, 1)));
  const began = performance.now();
  const cpu = cpuMicros(gateway.pid);
  const health = client.watch({ url: `${gateway.url}/healthz`, headers: {} }, { everyMs: HEALTH_EVERY_MS });
  await until(() => gone(mine.slice(-100)));
  const times = await health.stop();
  const seconds = (performance.now() - began) / 1000;
  const cores = (cpuMicros(gateway.pid) - cpu) / 1_000_000 / seconds;
  add(`expiry of ${SWEPT}`, SWEPT / seconds, { unit: 'runs/s', goal: { atLeast: 1000 } });
  add('CPU of a sweep', cores, { unit: 'cores', goal: { atMost: 0.75 } });
  add('/healthz in a sweep', quantile(times, 0.5), { unit: 'ms median', goal: { atMost: 10 } });
  add('/healthz in a sweep', quantile(times, 0.99), { unit: 'ms p99', goal: { atMost: 25 } });
  add('/healthz in a sweep', Math.max(...times), { unit: 'ms max', goal: { atMost: 250 } });
  add('memory of the gateway', rssMb(gateway.pid), { unit: 'MB', goal: { atMost: 400 } });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + SWEEP_MS;
  while (!(await condition())) {
    if (performance.now() > limit) throw new Error('the sweep does not come to an end');
    await delay(100);
  }
}

function requestOf(gateway: GatewayTarget, { user, path }: { user: string; path: string }): TimedRequest {
  return { url: gateway.url + path, headers: { authorization: `Bearer ${secretOf(user)}` } };
}

function secretOf(user: string): string {
  return `sk-bench-${user}`;
}

/** Where runs are kept while a store is opened on them, or a gateway. */
interface Place extends AsyncDisposable {
  use<T>(work: (store: RunStore) => Promise<T>): Promise<T>;
  gateway(): Promise<GatewayTarget>;
  /** How much there is by now, on disk or in memory. */
  bytes(): Promise<number>;
}

async function openPlace(kind: StoreKind): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'many-runs-'));
  const redis = kind === 'Redis' ? await startRedis() : undefined;
  const url = redis?.url ?? `file:${folder}`;
  const open = async () => {
    if (kind === 'Redis') return (await openRedisStore({ url, log: silentLogger, limitMs: 10_000 })).runs;
    return openSqliteStore(url, { sync: 'normal', log: silentLogger });
  };
  return {
    async use(work) {
      const store = await open();
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
    gateway() {
      const keys = [LARGEST_USER, ...OTHER_USERS].map((user) => ({ id: user, secret: secretOf(user) }));
      return startGateway({ ...researchConfig({ url: 'http://127.0.0.1:1/v1' }), keys, store: { url } });
    },
    bytes: async () => (redis ? rssMb(redis.pid) * 1024 ** 2 : (await stat(join(folder, 'runs.db'))).size),
    async [Symbol.asyncDispose]() {
      await redis?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** The median of calls one after the other, in milliseconds: how much slower the slowest are is the machine's doing. */
export async function typical(call: () => Promise<unknown>): Promise<number> {
  return quantile(await timesOf(call), 0.5);
}

async function timesOf(call: (n: number) => Promise<unknown>): Promise<number[]> {
  await call(0);
  const times: number[] = [];
  for (let n = 0; n < 200; n++) {
    const began = performance.now();
    await call(n);
    times.push(performance.now() - began);
  }
  return times;
}
