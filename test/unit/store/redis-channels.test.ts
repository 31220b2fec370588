import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { newRunId } from '../../../src/base/ids.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { RedisConnection } from '../../../src/store/redis/connection/connection.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { Channels } from '../../../src/store/redis/runs/channels.ts';

/** A connection that can be away, as far as channels use it. */
class Connection implements RedisConnection {
  isAway = false;
  readonly subscribed = new Set<string>();
  readonly #listeners = new Set<() => void>();
  readonly client = undefined;
  readonly isSharded = false;
  readonly isClosed = false;

  async subscribe(channel: string): Promise<void> {
    if (this.isAway) throw new Error('away');
    this.subscribed.add(channel);
  }

  /** Answers are held until this is resolved. */
  answered = Promise.resolve();

  async unsubscribe(channel: string): Promise<void> {
    this.subscribed.delete(channel);
    await this.answered;
  }

  onReady(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  comeBack(): void {
    this.isAway = false;
    for (const listener of this.#listeners) listener();
  }

  command = () => Promise.reject(new Error('unused'));
  script = () => Promise.reject(new Error('unused'));
  waitForReplicas = () => Promise.reject(new Error('unused'));
  serverOf = () => '';
  close = async () => {};
}

describe('the channel of a run whose claim was lost while Redis was away', () => {
  it('is subscribed to once Redis is back, and reports gaps to its readers', async () => {
    const redis = new Connection();
    const keys = new RedisKeys('test');
    const parts = { redis, commands: new Connection(), keys, log: silentLogger, sharded: false };
    const channels = await Channels.open(parts);
    const id = newRunId();
    channels.markHeld(id, 60_000);
    let gaps = 0;
    using _ = await channels.subscribe(id, { onBatch: () => {}, onGap: () => void gaps++ });
    assert.equal(redis.subscribed.has(keys.live(id)), false);

    redis.isAway = true;
    channels.markReleased(id);
    await nextTurn();
    gaps = 0;
    redis.comeBack();
    assert.equal(gaps, 1, 'what was missed until the connection was back');
    await nextTurn();
    assert.equal(redis.subscribed.has(keys.live(id)), true);
    assert.equal(gaps, 2, 'and until it was subscribed to');
    await channels.close();
  });
});

describe('the channel of a run that is left and read again', () => {
  it('keeps its subscription while somebody reads, whenever the next reader comes', async () => {
    // The steps between two promises, of which there are fewer than ten.
    for (let steps = 0; steps < 10; steps++) {
      const redis = new Connection();
      const keys = new RedisKeys('test');
      const parts = { redis, commands: new Connection(), keys, log: silentLogger, sharded: false };
      const channels = await Channels.open(parts);
      const id = newRunId();
      const read = () => channels.subscribe(id, { onBatch: () => {}, onGap: () => {} });
      const unsubscribed = Promise.withResolvers<void>();
      redis.answered = unsubscribed.promise;
      (await read())[Symbol.dispose]();
      await nextTurn();
      // More to do, behind the answer that is still to come.
      channels.markHeld(id, 60_000);
      channels.markReleased(id);
      unsubscribed.resolve();
      for (let step = 0; step < steps; step++) await Promise.resolve();
      const second = await read();
      using _ = await read();
      second[Symbol.dispose]();
      await nextTurn();
      assert.equal(redis.subscribed.has(keys.live(id)), true, `after ${steps} steps`);
      await channels.close();
    }
  });
});
