import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { newRunId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { ListQuery, RunStore } from '../../src/store/run-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startRedis } from '../../test/support/redis.ts';
import { quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import type { StoreKind } from '../support/processes.ts';
import type { Row } from '../support/scoreboard.ts';

/**
 * A store that holds many runs: lists with filters, new runs, expiry. `RUNS=1000000` in the environment for the largest
 * figure; it takes a few minutes.
 */
const RUNS = Number(process.env.RUNS ?? 100_000);
const USERS = 1000;
const MODELS = ['deep', 'quick', 'wide'];
const SAMPLES = 200;
const AT_ONCE = 200;
const FRAMES = Buffer.from('event: x\ndata: {"type":"x","sequence_number":1}\n\n'.repeat(2));

export async function manyRuns({ stores }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of stores) {
    await using held = await open(kind);
    const { store } = held;
    await fill(store, { runs: RUNS, users: USERS });
    const row = (what: string, ours: number[], goal: Row['goal'], unit = 'ms median'): void => {
      rows.push({ what: `${what}, ${RUNS} runs of ${USERS} users, ${kind}`, unit, ours, goal });
    };
    const queries: Record<string, Partial<ListQuery>> = {
      'list of 100': {},
      'list of 100 by status': { status: ['completed'] },
      'list of 100 by rare status and model': { status: ['failed'], model: 'wide' },
      'list of 100 of the largest user by rare status': { user: 'user-0', status: ['failed'] },
    };
    for (const [what, query] of Object.entries(queries)) {
      const list = () => store.list({ user: someUser(), api: 'responses', limit: 100, ...query });
      const times = await timesOf(list);
      row(what, [quantile(times, 0.5)], { atMost: 10 });
      row(what, [quantile(times, 0.99)], { atMost: 10 }, 'ms p99');
    }
    row('create', [await typical(() => store.create(newRun(1)))], { atMost: 10 });

    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const began = performance.now();
    let removed = 0;
    for (let step = 1; step > 0; removed += step) step = await store.removeExpired({ limit: 200 });
    const seconds = (performance.now() - began) / 1000;
    delay.disable();
    row('expiry', [removed / seconds], { atLeast: 1000 }, 'runs/s');
    row('expiry', [delay.percentile(99) / 1e6], { atMost: 10 }, 'ms of event loop p99');
  }
  return rows;
}

async function open(kind: StoreKind): Promise<{ store: RunStore } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  if (kind === 'Redis') {
    const server = stack.use(await startRedis());
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, limitMs: 10_000 });
    stack.defer(() => store.close());
    const held = stack.move();
    return { store, [Symbol.asyncDispose]: () => held.disposeAsync() };
  }
  const folder = await mkdtemp(join(tmpdir(), 'many-runs-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
  stack.defer(() => store.close());
  const held = stack.move();
  return { store, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** A tenth of all runs is one user's; one run in a hundred fails. */
export async function fill(store: RunStore, { runs, users }: { runs: number; users: number }): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < runs; n = next++) {
      const run = newRun(n, users);
      await store.create(run);
      const claim = await store.claim(run.id, { owner: 'bench', leaseMs: 60_000, force: true });
      const status = n % 100 === 0 ? ('failed' as const) : ('completed' as const);
      // Half of them have expired by the time of the sweep.
      const end = { status, at: Date.now(), retainMs: n % 2 === 0 ? 0 : 3_600_000 };
      await store.append(run.id, {
        token: claim?.token ?? '',
        first: 3,
        count: 1,
        frames: FRAMES.subarray(FRAMES.length / 2),
        end,
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function newRun(n: number, users = USERS) {
  return {
    id: newRunId(),
    user: n % 10 === 0 ? 'user-0' : `user-${n % users}`,
    keyId: 'key',
    api: 'responses' as const,
    model: MODELS[n % MODELS.length] ?? '',
    kind: 'research' as const,
    createdAt: Date.now(),
    expiresAt: Date.now() + 3_600_000,
    request: '{"input":[],"request":{}}',
    metadata: '{}',
    frames: FRAMES,
    frameCount: 2,
  };
}

function someUser(): string {
  return `user-${Math.floor(Math.random() * USERS)}`;
}

/** The median of calls one after the other, in milliseconds: how much slower the slowest are is the machine's doing. */
export async function typical(call: () => Promise<unknown>): Promise<number> {
  return quantile(await timesOf(call), 0.5);
}

async function timesOf(call: () => Promise<unknown>): Promise<number[]> {
  await call();
  const times: number[] = [];
  for (let n = 0; n < SAMPLES; n++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times;
}
