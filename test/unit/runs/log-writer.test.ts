import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { UnnumberedEvent } from '../../../src/protocol/events.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { AppendTick } from '../../../src/runs/executing/log/append-tick.ts';
import { LogWriter, type LogWriterOptions } from '../../../src/runs/executing/log/log-writer.ts';
import { ClaimLostError, RunLease } from '../../../src/runs/executing/run-lease.ts';
import { ResponseFold } from '../../../src/runs/reading/response-fold.ts';
import type { Claim, RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, newRun, readAll, T0 } from '../../contract/run-store-fixture.ts';
import { faultyStore, memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** How long a store may take for an append before its source waits, in milliseconds. */
const SILENT_MS = 2000;
const END = { status: 'completed', at: T0 + 1000, retainMs: 60_000 } as const;

function delta(text: string, itemId = 'rs_1') {
  return { type: 'response.reasoning_text.delta', itemId, outputIndex: 0, delta: text } as const;
}

const done = (text: string) =>
  ({
    type: 'response.reasoning_text.done',
    item_id: 'rs_1',
    output_index: 0,
    content_index: 0,
    text,
  }) as const;

function open(
  store: RunStore,
  claim: Claim,
  changes: Partial<Pick<LogWriterOptions, 'graceMs' | 'fold' | 'regain'>> = {},
) {
  const lease = new RunLease(claim, { store, log: silentLogger });
  const writer = new LogWriter({
    store,
    lease,
    tick: new AppendTick({ utilization: 0, lagMs: 0 }),
    last: claim.run.last,
    entries: 0,
    graceMs: changes.graceMs ?? 20_000,
    log: silentLogger,
    clock: systemClock,
    ...(changes.fold ? { fold: changes.fold } : {}),
    ...(changes.regain ? { regain: changes.regain } : {}),
  });
  return { writer, lease };
}

/** The texts of the events after the first two. */
async function storedTexts(store: RunStore, id: string): Promise<string[]> {
  return decodeFrames((await readAll(store, id)).bytes)
    .slice(2)
    .map((event) => ('delta' in event ? event.delta : 'text' in event ? event.text : event.type));
}

/** The transcript as it was written, without its times. */
async function storedEntries(store: RunStore, id: string): Promise<object[]> {
  return (await store.readTranscript(id)).map((text) => {
    const { times, ...entry } = JSON.parse(text);
    assert.ok(Array.isArray(times), text);
    return entry;
  });
}

describe('LogWriter', () => {
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  it('joins deltas of one item that arrive together, but not those of different items', async () => {
    const claim = await claimedRun(store);
    const { writer } = open(store, claim);
    for (const text of ['a', 'b', 'c']) writer.pushDelta(delta(text));
    writer.pushDelta(delta('d', 'rs_2'));
    writer.push(done('abc'));
    writer.pushDelta(delta('e'));
    await writer.flush();
    assert.deepEqual(await storedTexts(store, claim.run.id), ['abc', 'd', 'abc', 'e']);
  });

  it('joins deltas of reasoning text and of its summary separately', async () => {
    const claim = await claimedRun(store);
    const { writer } = open(store, claim);
    for (const text of ['a', 'b', 'c']) {
      writer.pushDelta(delta(text));
      writer.pushDelta({ ...delta(text), type: 'response.reasoning_summary_text.delta' });
    }
    await writer.flush();
    const events = decodeFrames((await readAll(store, claim.run.id)).bytes).slice(2);
    assert.deepEqual(
      events.map((event) => [event.type, 'delta' in event && event.delta, 'summary_index' in event]),
      [
        ['response.reasoning_text.delta', 'abc', false],
        ['response.reasoning_summary_text.delta', 'abc', true],
      ],
    );
  });

  it('has one append in flight, and batches what arrives meanwhile', async () => {
    const claim = await claimedRun(store);
    const held = Promise.withResolvers<void>();
    const counts: number[] = [];
    const slow = wrapStore(store, {
      append: async (id, batch) => {
        counts.push(batch.count);
        if (counts.length === 1) await held.promise;
        return await store.append(id, batch);
      },
    });
    const { writer } = open(slow, claim);
    writer.push(done('first'));
    while (counts.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const text of ['second', 'third', 'fourth']) {
      writer.push(done(text));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(counts, [1]);
    held.resolve();
    await writer.flush();
    assert.deepEqual(counts, [1, 3]);
    assert.deepEqual(await storedTexts(store, claim.run.id), ['first', 'second', 'third', 'fourth']);
  });

  it('gets the run back although the store is away for a moment while it does', async () => {
    const claim = await claimedRun(store);
    const refused = wrapStore(store, {
      append: async (id, batch) => (batch.token === claim.token ? { result: 'fenced' } : await store.append(id, batch)),
    });
    let tries = 0;
    const { writer, lease } = open(refused, claim, {
      regain: async () => {
        if (++tries < 3) throw new GatewayError('store_unavailable', 'The store is away.', { retryAfterMs: 1000 });
        const again = await store.claim(claim.run.id, { leaseMs: 60_000, force: true });
        lease.token = again?.token ?? '';
        return again?.run.last;
      },
    });
    writer.pushDelta(delta('one'));
    await writer.flush();
    assert.deepEqual(await storedTexts(store, claim.run.id), ['one']);
  });

  it('repeats an append of unknown outcome with the same bytes, and writes nothing twice', async () => {
    const claim = await claimedRun(store);
    const fates = ['unanswered', 'refused', 'done', 'refused', 'unanswered', 'unanswered', 'done'] as const;
    const faulty = faultyStore(store, (_batch, n) => fates[n] ?? 'done');
    const { writer } = open(faulty.store, claim);
    writer.pushDelta(delta('one'));
    writer.pushTranscript({ n: 1 }, { progress: true });
    await new Promise((resolve) => setImmediate(resolve));
    writer.pushDelta(delta('two'));
    writer.pushTranscript({ n: 2 }, { progress: true });
    await writer.flush();
    const tried = faulty.tries.map(({ batch }) => Buffer.from(batch.frames).toString());
    assert.equal(tried.length, 7);
    assert.equal(new Set(tried.slice(0, 3)).size, 1);
    assert.equal(new Set(tried.slice(3)).size, 1);
    assert.deepEqual(await storedTexts(store, claim.run.id), ['one', 'two']);
    assert.deepEqual(await storedEntries(store, claim.run.id), [{ n: 1 }, { n: 2 }]);
  });

  it('writes a transcript entry without events once, even if its first outcome was unknown', async () => {
    const claim = await claimedRun(store);
    const faulty = faultyStore(store, (_batch, n) => (n % 2 === 0 ? 'unanswered' : 'done'));
    const { writer } = open(faulty.store, claim);
    for (const n of [1, 2, 3]) {
      writer.pushTranscript({ n }, { progress: true });
      await writer.flush();
    }
    assert.deepEqual(await storedEntries(store, claim.run.id), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it('resends what a failover lost, in order', async () => {
    const claim = await claimedRun(store);
    // Answers 2 and 3 are lies: what they acknowledge is lost.
    let n = 0;
    const forgetful = wrapStore(store, {
      append: async (id, batch) => {
        n++;
        if (n === 2 || n === 3) return { result: 'ok', last: batch.first + batch.count - 1, cancel: false };
        return await store.append(id, batch);
      },
    });
    const { writer, lease } = open(forgetful, claim);
    for (const text of ['one', 'two', 'three', 'four', 'five']) {
      writer.push(done(text));
      writer.pushTranscript({ text }, { progress: true });
      await writer.flush();
    }
    assert.deepEqual(await storedTexts(store, claim.run.id), ['one', 'two', 'three', 'four', 'five']);
    assert.equal((await store.readTranscript(claim.run.id)).length, 5);
    assert.equal(lease.signal.aborted, false);
  });

  it('gives the run up if more was lost than it can resend', async () => {
    const claim = await claimedRun(store);
    let lying = true;
    const forgetful = wrapStore(store, {
      append: async (id, batch) => {
        if (lying) return { result: 'ok', last: batch.first + batch.count - 1, cancel: false };
        return await store.append(id, batch);
      },
    });
    const { writer, lease } = open(forgetful, claim);
    for (let n = 0; n < 40; n++) {
      writer.push(done('x'.repeat(100_000)));
      await writer.flush();
    }
    lying = false;
    writer.push(done('the last'));
    await assert.rejects(async () => {
      await writer.flush();
      await writer.flush();
    }, ClaimLostError);
    assert.ok(lease.signal.reason instanceof ClaimLostError);
    assert.equal((await store.get(claim.run.id))?.last, 2, 'nothing with a gap before it was written');
  });

  it('gives the run up once another owner has claimed it', async () => {
    const claim = await claimedRun(store);
    const { writer, lease } = open(store, claim);
    await store.claim(claim.run.id, { leaseMs: 1000, force: true });
    writer.push(done('late'));
    await writer.flush().catch(() => {});
    await assert.rejects(writer.flush(), ClaimLostError);
    assert.ok(lease.signal.reason instanceof ClaimLostError);
    assert.equal((await store.get(claim.run.id))?.last, 2);
  });

  it('gives the run up if the store is away for longer than its grace period', async () => {
    const claim = await claimedRun(store);
    const faulty = faultyStore(store, () => 'refused');
    const { writer, lease } = open(faulty.store, claim, { graceMs: 100 });
    writer.push(done('lost'));
    await writer.flush().catch(() => {});
    await assert.rejects(writer.flush(), ClaimLostError);
    assert.ok(lease.signal.reason instanceof ClaimLostError);
    assert.ok(faulty.tries.length >= 2);
  });

  it('is congested while too much waits, and ready once that is stored', async () => {
    const claim = await claimedRun(store);
    const held = Promise.withResolvers<void>();
    const slow = wrapStore(store, {
      append: async (id, batch) => {
        await held.promise;
        return await store.append(id, batch);
      },
    });
    const { writer } = open(slow, claim);
    writer.push(done('first'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(writer.congested, false);
    writer.pushDelta(delta('x'.repeat(1_100_000)));
    assert.equal(writer.congested, true);
    let ready = false;
    const waiting = writer.ready().then(() => {
      ready = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ready, false);
    held.resolve();
    await waiting;
    assert.equal(writer.congested, false);
  });

  it('is congested if the store does not answer, however little waits', async () => {
    const claim = await claimedRun(store);
    const held = Promise.withResolvers<void>();
    const appending = Promise.withResolvers<void>();
    const silent = wrapStore(store, {
      append: async (id, batch) => {
        appending.resolve();
        await held.promise;
        return await store.append(id, batch);
      },
    });
    const { writer } = open(silent, claim);
    let now = Math.ceil(performance.now());
    const clock = mock.method(performance, 'now', () => now);
    try {
      writer.push(done('first'));
      await appending.promise;
      now += SILENT_MS;
      assert.equal(writer.congested, false);
      now += 1;
      assert.equal(writer.congested, true);
      held.resolve();
      await writer.flush();
      now += 10 * SILENT_MS;
      assert.equal(writer.congested, false, 'a store without an append is not silent');
    } finally {
      clock.mock.restore();
    }
  });

  it('adds events to the response only once they are stored', async () => {
    const claim = await claimedRun(store);
    const fold = new ResponseFold();
    const added: unknown[] = [];
    mock.method(fold, 'add', (event: UnnumberedEvent) => added.push(event.type));
    mock.method(fold, 'addText', (_: number, { delta }: { delta: string }) => added.push(delta));
    const { writer } = open(store, claim, { fold });
    writer.pushDelta(delta('some'));
    writer.push(done('some'));
    assert.deepEqual(added, []);
    await writer.flush();
    assert.deepEqual(added, ['some', 'response.reasoning_text.done']);
    await store.requestCancel(claim.run.id);
    assert.equal(await writer.end(done('refused'), END), 'cancelled');
    assert.equal(added.length, 2);
    assert.equal(await writer.end(done('end'), { ...END, status: 'cancelled' }), 'ended');
    assert.equal(added.length, 3);
  });

  it('learns of an accepted cancel with the next append', async () => {
    const claim = await claimedRun(store);
    const { writer, lease } = open(store, claim);
    await store.requestCancel(claim.run.id);
    writer.push(done('one more'));
    await writer.flush();
    assert.equal(lease.cancelled, true);
  });

  it('cannot complete a run with an accepted cancel, and then ends it as cancelled', async () => {
    const claim = await claimedRun(store, newRun());
    const { writer } = open(store, claim);
    writer.pushDelta(delta('some'));
    await writer.flush();
    await store.requestCancel(claim.run.id);
    const last = done('instead of a terminal event');
    assert.equal(await writer.end(last, END), 'cancelled');
    assert.equal(await writer.end(last, { ...END, status: 'cancelled' }), 'ended');
    const run = await store.get(claim.run.id);
    assert.equal(run?.status, 'cancelled');
    assert.equal(run.last, 4, 'the refused end left nothing behind');
  });

  it('writes what came before a refused end, but nothing of that end', async () => {
    const claim = await claimedRun(store, newRun());
    const { writer } = open(store, claim);
    await store.requestCancel(claim.run.id);
    writer.pushDelta(delta('some'));
    writer.pushTranscript({ t: 'step' }, { progress: true });
    writer.beginEnd();
    writer.push(done('what the end closes'));
    assert.equal(await writer.end(done('a terminal event'), END), 'cancelled');
    assert.equal((await store.get(claim.run.id))?.last, 3);
    assert.deepEqual(await storedEntries(store, claim.run.id), [{ t: 'step' }]);
    writer.beginEnd();
    assert.equal(await writer.end(done('end'), { ...END, status: 'cancelled' }), 'ended');
    assert.deepEqual(await storedTexts(store, claim.run.id), ['some', 'end']);
  });

  it('ends a run although its last append was not answered', async () => {
    const claim = await claimedRun(store);
    const faulty = faultyStore(store, (_batch, n) => (n < 2 ? 'unanswered' : 'done'));
    const { writer } = open(faulty.store, claim);
    assert.equal(await writer.end(done('end'), END), 'ended');
    assert.equal((await store.get(claim.run.id))?.status, 'completed');
  });

  it('does not lose a run whose renewal fails while its end is being acknowledged', async () => {
    const claim = await claimedRun(store);
    const held = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    const slow = wrapStore(store, {
      async append(id, batch) {
        const answer = await store.append(id, batch);
        stored.resolve();
        await held.promise;
        return answer;
      },
    });
    const { writer, lease } = open(slow, claim);
    lease.recheck = () => writer.recheck();
    const ending = writer.end(done('end'), END);
    await stored.promise;
    const renewed = lease.renew();
    held.resolve();
    assert.equal(await ending, 'ended');
    await renewed;
    assert.equal(lease.signal.aborted, false, 'the run was ended, not lost');
  });
});
