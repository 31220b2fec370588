import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import type { DeliveryStore } from '../../src/store/side-stores/delivery-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startRedis } from '../../test/support/redis.ts';
import { startReceiver } from '../../test/support/webhook-receiver.ts';
import type { BenchOptions } from '../support/options.ts';
import { researchConfig, startGateway } from '../support/processes.ts';
import type { Row } from '../support/scoreboard.ts';
import { fill } from '../support/stored-runs.ts';

/** Webhooks of so many runs are due when the gateway starts; `WEBHOOKS` in the environment for other numbers. */
const WEBHOOKS = Number(process.env.WEBHOOKS ?? 100_000);
const GOAL = { atLeast: 500 };

/** How fast webhooks come to one receiver, alone and behind as many of one that never answers. */
export async function webhooks({ stores }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of stores) {
    for (const [what, keys] of [
      ['to one receiver', ['alive']],
      ['beside as many to a dead one', ['dead', 'alive']],
    ] as const) {
      const rate = await drained(kind, keys);
      rows.push({ what: `${WEBHOOKS} webhooks ${what}, ${kind}`, unit: 'deliveries/s', ours: [rate], goal: GOAL });
    }
  }
  return rows;
}

/** Deliveries a second to the receiver that is alive, of runs of these keys, those of the first key due first. */
async function drained(kind: BenchOptions['stores'][number], keys: readonly ('alive' | 'dead')[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true }));
  const redis = kind === 'Redis' ? stack.use(await startRedis()) : undefined;
  const url = redis?.url ?? `file:${folder}`;
  const store = await open(url);
  for (const keyId of keys) {
    const runs = await fill(store.runs, { runs: WEBHOOKS, users: 1, keyId, request: REQUEST, api: 'async' });
    await Promise.all(runs.map(({ id }) => store.deliveries.schedule(id, { dueInMs: 0 })));
  }
  await store.runs.close();
  const receivers = {
    alive: stack.use(await startReceiver()),
    dead: stack.use(await startReceiver(() => 'nothing')),
  };
  const config = {
    ...researchConfig({ url: 'http://127.0.0.1:1/v1' }),
    keys: keys.map((id) => ({ id, secret: `sk-bench-${id}`, webhook: { url: receivers[id].url } })),
    webhooks: { allow_hosts: ['127.0.0.1'] },
    store: { url },
  };
  stack.use(await startGateway(config));
  await receivers.alive.waitFor(1);
  const began = performance.now();
  await receivers.alive.waitFor(WEBHOOKS);
  return (WEBHOOKS / (performance.now() - began)) * 1000;
}

/** A request that tells the receiver of its key. */
const REQUEST = JSON.stringify({ v: 1, input: [], request: { kind: 'proxy', body: '{}' }, webhook: '' });

async function open(url: string): Promise<{ runs: RunStore; deliveries: DeliveryStore }> {
  if (url.startsWith('redis:')) return await openRedisStore({ url, log: silentLogger, limitMs: 10_000 });
  const runs = openSqliteStore(url, { sync: 'normal', log: silentLogger });
  return { runs, deliveries: runs.sideStores.deliveries };
}
