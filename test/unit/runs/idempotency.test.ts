import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { RepeatKey, Submission } from '../../../src/runs/submission.ts';
import type { KeyHolder } from '../../../src/store/run-store.ts';
import { CALLER, type Harness, openHarness, question, readAll, testConfig } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, openStore, wrapStore } from '../../support/wrapped-store.ts';

const TTL_MS = 60_000;

function keyed(key: string, changes: Partial<Submission> & { fingerprint?: string } = {}): Submission {
  const { fingerprint = 'same body', ...rest } = changes;
  return question({
    repeat: { kind: 'idempotency', hash: key, fingerprint, ttlMs: TTL_MS, sentBefore: true },
    ...rest,
  });
}

/** As OpenAI's SDKs send it: the first attempt, or a retry. */
function attempt(sentBefore: boolean, changes: Partial<Submission> = {}): Submission {
  return question({
    repeat: { kind: 'retry', hash: 'body1', fingerprint: 'body 1', ttlMs: TTL_MS, sentBefore },
    ...changes,
  });
}

function repeatOf({ repeat }: Submission): RepeatKey {
  assert.ok(repeat);
  return repeat;
}

describe('submissions with one idempotency key', () => {
  let chat: ScriptedModel;
  let harness: Harness;
  beforeEach(async () => {
    chat = new ScriptedModel([]);
    harness = await openHarness({ chat });
  });
  afterEach(() => harness[Symbol.asyncDispose]());

  it('create one run, however many arrive at once', async () => {
    let admitted = 0;
    const admit = async () => {
      admitted++;
      await turnOfLoop();
      return {};
    };
    const all = await Promise.all(Array.from({ length: 20 }, () => harness.runs.submit(keyed('key-1', { admit }))));
    assert.equal(new Set(all.map(({ run }) => run.id)).size, 1);
    assert.equal(all.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(admitted, 1, 'replays count against no limit');
    const readers = await Promise.all(all.map(({ run }) => readAll(harness.runs, run)));
    for (const bytes of readers) assert.deepEqual(bytes, readers[0]);
    assert.equal((await harness.runs.list(question().caller, 'responses', { limit: 10 })).runs.length, 1);
  });

  it('are no repeats of what another user submitted: names of version 1 did not tell users apart', async () => {
    const submission = keyed('key-1');
    const { run } = await harness.runs.submit(submission);
    const { repeat, caller } = submission;
    assert.ok(repeat);
    assert.equal((await harness.runs.findRepeated(repeat, caller))?.id, run.id);
    assert.equal(await harness.runs.findRepeated(repeat, { ...caller, user: 'bob' }), undefined);
  });

  it('create one run on several instances of one store', async () => {
    const store = await memoryStore();
    {
      await using one = await openHarness({ chat, store });
      await using two = await openHarness({ chat, store });
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).runs.submit(keyed('key-1'))),
      );
      assert.equal(new Set(all.map(({ run }) => run.id)).size, 1);
      assert.equal(all.filter(({ replayed }) => !replayed).length, 1);
      await readAll(one.runs, (await one.runs.submit(keyed('key-1'))).run);
    }
    await store.close();
  });

  it('replay the same bytes after the run has ended', async () => {
    const { run } = await harness.runs.submit(keyed('key-1'));
    const bytes = await readAll(harness.runs, run);
    const again = await harness.runs.submit(keyed('key-1'));
    assert.equal(again.replayed, true);
    assert.deepEqual(await readAll(harness.runs, again.run), bytes);
  });

  it('are refused if their body differs', async () => {
    await harness.runs.submit(keyed('key-1'));
    await assert.rejects(harness.runs.submit(keyed('key-1', { fingerprint: 'another body' })), {
      code: 'idempotency_key_reused',
    });
  });

  it('create one run and refuse the other body if two bodies arrive at once', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => harness.runs.submit(keyed('key-1', { fingerprint: `body ${n % 2}` }))),
    );
    const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value.run.id] : []));
    const refused = all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    assert.equal(made.length, 10);
    assert.equal(new Set(made).size, 1);
    assert.deepEqual(new Set(refused), new Set(['idempotency_key_reused']));
  });

  it('release the key if they are refused', async () => {
    const admit = async () => {
      throw new GatewayError('rate_limit_exceeded', 'Too many requests.');
    };
    await assert.rejects(harness.runs.submit(keyed('key-1', { admit })), { code: 'rate_limit_exceeded' });
    const { replayed } = await harness.runs.submit(keyed('key-1', { fingerprint: 'another body' }));
    assert.equal(replayed, false);
  });

  it('create one run for those that waited if the first is refused', async () => {
    let first = true;
    let admitted = 0;
    const admit = async () => {
      const refused = first;
      first = false;
      for (let i = 0; i < 10; i++) await turnOfLoop();
      if (refused) throw new GatewayError('concurrency_limit_exceeded', 'Too many runs.');
      admitted++;
      return {};
    };
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => harness.runs.submit(keyed('key-1', { admit }))),
    );
    const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.equal(made.length, 19);
    assert.equal(new Set(made.map(({ run }) => run.id)).size, 1);
    assert.equal(made.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(admitted, 1);
    const again = await harness.runs.submit(keyed('key-1'));
    assert.equal(again.run.id, made[0]?.run.id, 'the key stands for that run');
  });

  it('release the key if the first could not be stored', async () => {
    const store = await memoryStore();
    let away = true;
    const failing = wrapStore(store, {
      create: async (run) => {
        if (away) throw new GatewayError('store_unavailable', 'The store is away.');
        return await store.create(run);
      },
    });
    {
      await using other = await openHarness({ chat, store: failing });
      await assert.rejects(other.runs.submit(keyed('key-1')), { code: 'store_unavailable' });
      away = false;
      const { replayed } = await other.runs.submit(keyed('key-1'));
      assert.equal(replayed, false);
    }
    await store.close();
  });

  it('create separate runs for different keys', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, (_, n) => harness.runs.submit(keyed(`key-${n}`))));
    assert.equal(new Set(all.map(({ run }) => run.id)).size, 10);
  });
});

describe('a submission retried by an SDK', () => {
  const stuck = () => new ScriptedModel(() => ({ gate: new Promise(() => {}) }));

  it('returns the first run, while it is open and after its end', async () => {
    await using harness = await openHarness({ chat: new ScriptedModel([]) });
    let admitted = 0;
    const admit = async () => {
      admitted++;
      return {};
    };
    const { run } = await harness.runs.submit(attempt(false, { admit }));
    const open = await harness.runs.submit(attempt(true, { admit }));
    const bytes = await readAll(harness.runs, run);
    const ended = await harness.runs.submit(attempt(true, { admit }));
    assert.deepEqual([open.run.id, ended.run.id], [run.id, run.id]);
    assert.deepEqual([open.replayed, ended.replayed], [true, true]);
    assert.equal(admitted, 1, 'replays count against no limit');
    assert.deepEqual(await readAll(harness.runs, ended.run), bytes);
  });

  it('returns the same run after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'retries-'));
    const open = () => openStore({ ...testConfig().store, url: `file:${folder}` }, { log: silentLogger });
    let store = await open();
    const first = await openHarness({ chat: stuck(), store });
    const { run } = await first.runs.submit(attempt(false));
    await first[Symbol.asyncDispose]();
    await store.close();
    store = await open();
    {
      await using second = await openHarness({ chat: new ScriptedModel([]), store });
      const again = await second.runs.submit(attempt(true));
      assert.equal(again.run.id, run.id);
      await readAll(second.runs, again.run);
    }
    await store.close();
    await rm(folder, { recursive: true });
  });

  it('waits for a first attempt that is still being stored', async () => {
    const inner = await memoryStore();
    const held = Promise.withResolvers<void>();
    const slow = wrapStore(inner, {
      create: async (run) => {
        await held.promise;
        return await inner.create(run);
      },
    });
    {
      await using harness = await openHarness({ chat: new ScriptedModel([]), store: slow });
      const both = [harness.runs.submit(attempt(false)), harness.runs.submit(attempt(true))];
      await turnOfLoop();
      held.resolve();
      const [first, again] = await Promise.all(both);
      assert.equal(again?.run.id, first?.run.id);
      assert.equal(again?.replayed, true);
    }
    await inner.close();
  });

  it('is one run even if the first attempt reaches the store after the retry', async () => {
    const inner = await memoryStore();
    const held = Promise.withResolvers<void>();
    const late = wrapStore(inner, {
      create: async (run) => {
        await held.promise;
        return await inner.create(run);
      },
    });
    {
      await using one = await openHarness({ chat: new ScriptedModel([]), store: late });
      await using two = await openHarness({ chat: new ScriptedModel([]), store: inner });
      const first = one.runs.submit(attempt(true));
      const again = await two.runs.submit(attempt(true));
      held.resolve();
      assert.equal((await first).run.id, again.run.id);
    }
    await inner.close();
  });

  it('is a run of its own if the run that the store knows is another user’s', async () => {
    const inner = await memoryStore();
    // Keys of version 1 named the API key and the body, but not the user.
    const eves = { caller: { user: 'eve', keyId: 'key-ann' } };
    let holder: KeyHolder | undefined;
    const store = wrapStore(inner, { findKey: async () => holder });
    {
      await using harness = await openHarness({ chat: new ScriptedModel([]), store });
      const { run } = await harness.runs.submit(attempt(false, eves));
      holder = { kind: 'retry', fingerprint: 'body 1', runId: run.id, run };
      assert.equal((await harness.runs.findRepeated(repeatOf(attempt(true)), CALLER))?.id, undefined);
      assert.equal((await harness.runs.findRepeated(repeatOf(attempt(true)), eves.caller))?.id, run.id);
    }
    await inner.close();
  });

  it('is not confused with equal requests that are not marked as retries', async () => {
    await using harness = await openHarness({ chat: stuck() });
    const twins = [];
    for (let n = 0; n < 6; n++) twins.push((await harness.runs.submit(attempt(false))).run.id);
    assert.equal(new Set(twins).size, 6);
    const again = await harness.runs.submit(attempt(true));
    assert.equal(again.replayed, true);
    assert.ok(twins.includes(again.run.id));
  });

  it('costs one call of the store, however often the same body is sent', async () => {
    const inner = await memoryStore();
    let asked = 0;
    const store = wrapStore(inner, {
      create: (run) => {
        asked += 1;
        return inner.create(run);
      },
    });
    {
      await using harness = await openHarness({ chat: new ScriptedModel([]), store });
      const runs = [];
      for (let n = 0; n < 10; n++) runs.push((await harness.runs.submit(attempt(false))).run);
      assert.equal(asked, 10);
      for (const run of runs) await harness.runs.delete(run);
      const next = await harness.runs.submit(attempt(false));
      assert.equal((await harness.runs.submit(attempt(true))).run.id, next.run.id, 'what was deleted is forgotten');
    }
    await inner.close();
  });

  it('creates a new run if the first was deleted, while an idempotency key stays used', async () => {
    await using harness = await openHarness({ chat: stuck() });
    const retried = await harness.runs.submit(attempt(false));
    await harness.runs.delete(retried.run);
    assert.equal((await harness.runs.submit(attempt(true))).replayed, false);
    const keyedRun = await harness.runs.submit(keyed('key-1'));
    await harness.runs.delete(keyedRun.run);
    await assert.rejects(harness.runs.submit(keyed('key-1')), { code: 'not_found' });
  });
});

describe('a submission', () => {
  it('is refused while too many runs are queued, and releases its key', async () => {
    const chat = new ScriptedModel(() => ({ gate: new Promise(() => {}) }));
    await using harness = await openHarness({
      chat,
      config: testConfig({ runs: { max_concurrent: 1, max_queued: 2 } }),
    });
    const { run } = await harness.runs.submit(question());
    while (harness.executor.active === 0) await turnOfLoop();
    const waiting = [await harness.runs.submit(question()), await harness.runs.submit(keyed('key-1'))];
    await assert.rejects(harness.runs.submit(keyed('key-2')), { code: 'overloaded' });
    // A key of which none waits may add one.
    const bobs = { caller: { user: 'bob', keyId: 'key-bob' } };
    const both = await Promise.allSettled([0, 1].map(() => harness.runs.submit(question(bobs))));
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    for (const { run: queued } of waiting) await harness.runs.cancel(queued);
    for (const each of both) if (each.status === 'fulfilled') await harness.runs.cancel(each.value.run);
    assert.equal((await harness.runs.submit(keyed('key-2'))).replayed, false);
    await harness.runs.cancel(run);
  });

  it('is refused if its API key is removed meanwhile', async () => {
    await using harness = await openHarness({ chat: new ScriptedModel([]), knowsKey: () => false });
    await assert.rejects(harness.runs.submit(question()), { code: 'invalid_api_key' });
  });

  it('is refused during shutdown', async () => {
    await using harness = await openHarness({ chat: new ScriptedModel([]) });
    await harness.stop();
    await assert.rejects(harness.runs.submit(question()), { code: 'shutting_down' });
  });
});
