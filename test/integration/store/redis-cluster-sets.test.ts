import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import slotOf from 'cluster-key-slot';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { CLUSTER_SHARDS, openRedisStore } from '../../../src/store/redis/open.ts';
import type { NewRun, RunStore } from '../../../src/store/run-store.ts';
import { LEASE, newRun } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { ask, type RedisCluster, startCluster } from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

const unavailable = (thrown: unknown) => thrown instanceof GatewayError && thrown.code === 'store_unavailable';
const PATIENT_MS = 20_000;
const HASTY_MS = 600;

/** The sets, lists and keys that lead to a run have slots of their own; each test chooses which share the run's master. */
describe('sets, lists and keys that lead to a run in a Redis Cluster', function () {
  // A cluster is started.
  this.timeout(patience(60));
  let cluster: RedisCluster;
  let masterOf: (key: string) => number;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    cluster = await startCluster({ replicas: true });
    masterOf = await layoutOf(cluster);
    do {
      prefix = randomUUID();
      keys = new RedisKeys(prefix, { shards: CLUSTER_SHARDS });
    } while (!spreadsSets());
  });
  after(() => cluster?.[Symbol.asyncDispose]());
  afterEach(() => cluster.replicas[0]?.thaw());

  let prefix: string;
  let keys: RedisKeys;
  /** Whether this prefix spreads the sets so that each lies on the first master without the other at least once. */
  const spreadsSets = () => {
    const places = keys.queued.all.map((queued, shard) => {
      const claimed = keys.claimed.all[shard] ?? '';
      return `${masterOf(queued) === 0} ${masterOf(claimed) === 0}`;
    });
    return ['true false', 'false true', 'false false'].every((place) => places.includes(place));
  };
  const open = async (options: { limitMs: number; replicas: number }): Promise<RunStore> =>
    (await openRedisStore({ url: cluster.url, log: silentLogger, prefix, ...options })).runs;
  const key = () => ({ kind: 'idempotency' as const, hash: randomUUID(), fingerprint: 'f', ttlMs: 60_000 });
  const keysOf = (run: NewRun) => ({
    'the run': keys.run(run.id),
    'the set of queued runs': keys.queued.of(run.id),
    'the set of claimed runs': keys.claimed.of(run.id),
    "the user's list": keys.list(run.user, run.api),
    'the submission key': keys.submission(run.keys?.[0] ?? { kind: 'idempotency', hash: '' }),
  });
  type Part = keyof ReturnType<typeof keysOf>;

  /** A run of which exactly these parts lie on the first master. */
  function runWith(...parts: Part[]): NewRun {
    for (let tries = 0; tries < 100_000; tries++) {
      const run = newRun({ user: `user-${randomUUID()}`, keys: [key()] });
      const there = Object.entries(keysOf(run)).filter(([, each]) => masterOf(each) === 0);
      if (there.length === parts.length && there.every(([part]) => parts.some((each) => each === part))) return run;
    }
    return assert.fail(`no run of which only ${parts.join()} lies there`);
  }

  it('are replicated before a call succeeds, as the run is', async () => {
    const hasty = await open({ limitMs: HASTY_MS, replicas: 1 });
    const patient = await open({ limitMs: PATIENT_MS, replicas: 1 });
    const queued = runWith('the set of claimed runs');
    await patient.create(queued);
    const [replica] = cluster.replicas;
    replica?.freeze();
    for (const part of ['the set of queued runs', "the user's list", 'the submission key'] as const) {
      const run = runWith(part);
      await assert.rejects(hasty.create(run), unavailable, part);
    }
    const claimed = { ...runWith('the set of claimed runs'), claim: LEASE };
    await assert.rejects(
      hasty.create(claimed),
      unavailable,
      'the set of claimed runs, where it is created with its claim',
    );
    await assert.rejects(hasty.claim(queued.id, { ...LEASE, force: false }), unavailable, 'the set of claimed runs');
    const elsewhere = runWith();
    assert.equal(await patient.create(elsewhere), 'created', 'the other masters are not held up');
    assert.ok(await patient.claim(elsewhere.id, { ...LEASE, force: false }));
    replica?.thaw();
    assert.ok(await patient.claim(queued.id, { ...LEASE, force: true }));
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('are written before the run, so no run is lost when a master dies', async () => {
    const store = await open({ limitMs: 2000, replicas: 0 });
    const created = runWith('the set of claimed runs');
    await store.create(created);
    await eventually('the replica has it all', async () => {
      const info = String(await ask(cluster.masters[0]?.port ?? 0, 'INFO', 'replication'));
      const written = /^master_repl_offset:(\d+)/m.exec(info)?.[1];
      return written !== undefined && written === /^slave0:.*offset=(\d+)/m.exec(info)?.[1] ? true : undefined;
    });
    await cluster.masters[0]?.kill();
    const lost = runWith('the set of queued runs');
    await assert.rejects(store.create(lost), unavailable);
    await assert.rejects(store.claim(created.id, { ...LEASE, leaseMs: 1, force: false }), unavailable);
    const free = await eventually('its replica takes over', () =>
      store.findClaimable({ limit: 100 }).catch(() => undefined),
    );
    assert.equal(await store.get(lost.id), undefined, 'a run that no set lists');
    assert.ok(free.includes(created.id), 'a claimed run that no set lists');
    await store.close();
  });
});

/** A function that returns the index of the master that holds a key. */
async function layoutOf(cluster: RedisCluster): Promise<(key: string) => number> {
  const ranges = await ask(cluster.masters[0]?.port ?? 0, 'CLUSTER', 'SLOTS');
  assert.ok(Array.isArray(ranges));
  return (key) => {
    const slot = slotOf(key);
    const range = ranges.find(([first, last]) => slot >= first && slot <= last);
    return cluster.masters.findIndex(({ port }) => port === range?.[2]?.[1]);
  };
}
