import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { claimed, ending, events, LEASE, LiveReader, newRun } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { ask } from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

describe('the channel of a run over Redis', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  it('is subscribed to if another instance writes, not by the writer’s own instance', async function () {
    await using server = await redisOrSkip(this);
    const options = { url: server.url, log: silentLogger };
    const { runs: store } = await openRedisStore(options);
    const { runs: peer } = await openRedisStore(options);
    try {
      const run = newRun();
      const listening = async () => ((await ask(server.port, 'PUBSUB', 'CHANNELS', `*${run.id}*`)) as string[]).length;

      await store.create(run);
      const reader = new LiveReader(store, run.id);
      using _ = await store.subscribe(run.id, reader.handlers);
      await reader.catchUp();
      assert.equal(await listening(), 1, 'any instance may write');
      const { token } = await claimed(store, run.id);
      await eventually('no subscriber is left', async () => (await listening()) === 0 || undefined);
      await store.append(run.id, events(token, 3, 3));
      await eventually('the event', () => reader.last === 3 || undefined);

      const far = new LiveReader(peer, run.id);
      using __ = await peer.subscribe(run.id, far.handlers);
      assert.equal(await listening(), 1);
      await far.catchUp();
      await store.append(run.id, events(token, 4, 4));
      await eventually('the event elsewhere', () => far.last === 4 || undefined);

      await store.release(run.id, { token });
      const next = await peer.claim(run.id, { ...LEASE, force: false });
      await peer.append(run.id, ending(next?.token ?? '', 5, 'completed'));
      await eventually('the end from elsewhere', () => reader.batches.at(-1)?.end || undefined);
    } finally {
      await Promise.all([store.close(), peer.close()]);
    }
  });
});
