import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { silentLogger } from '../../../src/base/logger.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import type { RunStore, SubmissionKey } from '../../../src/store/run-store.ts';
import { newRun } from '../../contract/run-store-fixture.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

describe('submission keys on Redis when an instance dies between key and run', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  const key: SubmissionKey = { kind: 'retry', hash: 'a', fingerprint: 'body', ttlMs: 120_000 };
  let server: RedisServer;
  let store: RunStore;
  let prefix: string;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    prefix = randomUUID();
    ({ runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix }));
  });
  afterEach(() => store.close());

  /** Leaves the key as an instance does that took it and died. */
  async function takenBy(runId: string): Promise<void> {
    const client = await createClient({ url: server.url }).connect();
    const name = `${prefix}:submission:retry:a`;
    await client.sendCommand(['HSET', name, 'runId', runId, 'fingerprint', 'body', 'until', '']);
    await client.close();
  }

  it('go to the next submission, and the dead one can no longer be stored', async () => {
    const dead = newRun({ keys: [key] });
    await takenBy(dead.id);
    assert.equal(await store.findKey([key]), undefined);
    const next = newRun({ keys: [key] });
    assert.equal(await store.create(next), 'created');
    // The instance was only suspended, and now continues with its create.
    const late = await store.create(dead);
    assert.ok(typeof late === 'object' && 'taken' in late);
    assert.equal(late.taken.runId, next.id);
    assert.equal(await store.get(dead.id), undefined);
    assert.deepEqual(await store.countOpen(), { queued: 1, inProgress: 0 });
  });

  it('go to exactly one of many submissions', async () => {
    await takenBy(randomUUID());
    const results = await Promise.all(Array.from({ length: 10 }, () => store.create(newRun({ keys: [key] }))));
    assert.equal(results.filter((result) => result === 'created').length, 1);
    assert.equal(results.filter((result) => typeof result === 'object').length, 9);
    assert.deepEqual(await store.countOpen(), { queued: 1, inProgress: 0 });
  });

  it('make a repeat wait for a submission under way', async () => {
    const slow = newRun({ keys: [key] });
    await takenBy(slow.id);
    const repeat = store.create(newRun({ keys: [key] }));
    assert.equal(await store.create(slow), 'created');
    const result = await repeat;
    assert.ok(typeof result === 'object' && 'taken' in result);
    assert.equal(result.taken.runId, slow.id);
  });
});
