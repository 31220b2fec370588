import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import { Executor } from '../../../src/runs/executing/executor.ts';
import { followLog } from '../../../src/runs/reading/follow.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import { readHeld } from '../../../src/runs/stored/stored-request.ts';
import type { Submission } from '../../../src/runs/submission.ts';
import type { AppendBatch, RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, ending, events, frames } from '../../contract/run-store-fixture.ts';
import { openHarness, question, readAll, runToEnd, testConfig, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const holds = (text: string) => (batch: AppendBatch) => Buffer.from(batch.frames).includes(text);
const startsACall = holds('"type":"tool_call"');

/** A store whose `append` can be made to wait or replaced. */
async function storeWith(
  append: (inner: RunStore, ...args: Parameters<RunStore['append']>) => ReturnType<RunStore['append']>,
) {
  const inner = await memoryStore();
  return wrapStore(inner, { append: (id, batch) => append(inner, id, batch) });
}

describe('the limits held by a run', () => {
  it('are reported when a queued run starts, not for one that started at once', async () => {
    const gate = Promise.withResolvers<void>();
    const chat = new ScriptedModel(() => ({ gate: gate.promise, text: ['done'] }));
    const reported: RunRecord[] = [];
    const waits: boolean[] = [];
    const admit: Submission['admit'] = async (_, options) => {
      waits.push(options.waits);
      return { place: true };
    };
    const begins = async (run: RunRecord) => void reported.push(run);
    await using harness = await openHarness({ chat, begins, config: testConfig({ runs: { max_concurrent: 1 } }) });
    const { run: first } = await harness.runs.submit(question({ admit }));
    const { run: second } = await harness.runs.submit(question({ admit }));
    gate.resolve();
    await readAll(harness.runs, first);
    await readAll(harness.runs, second);
    assert.deepEqual(waits, [false, true]);
    assert.deepEqual(
      reported.map((run) => [run.id, readHeld(run)]),
      [[second.id, { place: true }]],
    );
  });
});

describe('a run whose clock is set back', () => {
  it('does not end before it started', async () => {
    const clock = { ms: Date.now(), now: () => clock.ms };
    const chat = new ScriptedModel(() => {
      clock.ms -= 3_600_000;
      return { text: ['done'] };
    });
    await using harness = await openHarness({ chat, clock });
    const { run } = await harness.runs.submit(question());
    await readAll(harness.runs, run);
    const { started_at, completed_at } = await harness.runs.response(run);
    assert.equal(completed_at, started_at);
  });
});

describe('a tool call', () => {
  it('waits until the log has recorded it', async () => {
    const appending = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const store = await storeWith(async (inner, id, batch) => {
      if (startsACall(batch) && batch.end === undefined) {
        appending.resolve();
        await goOn.promise;
      }
      return await inner.append(id, batch);
    });
    let called = 0;
    const lookup = testTool('lookup', () => {
      called++;
      return { result: '{}' };
    });
    const chat = new ScriptedModel((request, n) =>
      isAnswerTurn(request) || n > 0 ? { text: ['done'] } : { calls: [{ name: 'lookup', arguments: { q: 'a' } }] },
    );
    await using harness = await openHarness({ chat, store, tools: [lookup] });
    const ended = runToEnd(harness, question());
    await appending.promise;
    for (let n = 0; n < 200; n++) await turnOfLoop();
    assert.equal(called, 0, 'the call waits for the log');
    goOn.resolve();
    assert.equal((await ended).response.status, 'completed');
    assert.equal(called, 1);
    await store.close();
  });
});

describe('a reader that gets no notifications', () => {
  it('reads the store again, and gets everything', async () => {
    const inner = await memoryStore();
    const subscribed = Promise.withResolvers<void>();
    const store = wrapStore(inner, {
      subscribe: async () => {
        subscribed.resolve();
        return { [Symbol.dispose]: () => {} };
      },
    });
    const { run, token } = await claimedRun(inner);
    const reading = Array.fromAsync(followLog(store, run.id, { after: 2, signal: AbortSignal.timeout(60_000) }));
    await subscribed.promise;
    // After the read that follows the subscription.
    for (let n = 0; n < 50; n++) await turnOfLoop();
    await inner.append(run.id, events(token, 3, 9));
    await inner.append(run.id, ending(token, 10, 'completed'));
    const batches = await reading;
    assert.deepEqual(Buffer.concat(batches.map((batch) => batch.frames)), frames(3, 10));
    await inner.close();
  });
});

describe('a completion refused because of an accepted cancel', () => {
  for (const [what, text] of [
    ['several deltas', ['The ', 'answer.']],
    ['one delta', []],
  ] as const) {
    it(`is rolled back and written as cancelled, with every item closed once (${what})`, async () => {
      const refused: AppendBatch[] = [];
      const store = await storeWith(async (inner, id, batch) => {
        // The cancel comes while the last append is on its way.
        if (batch.end?.status === 'completed') assert.equal((await inner.requestCancel(id)).result, 'accepted');
        const result = await inner.append(id, batch);
        if (result.result === 'cancelled') refused.push(batch);
        return result;
      });
      const chat = new ScriptedModel(() => ({ reasoning: ['Let me see.'], text: [...text, 'x'] }));
      let claims = 0;
      const counted = wrapStore(store, {
        create: async (run) => {
          if (run.claim) claims++;
          return await store.create(run);
        },
        claimNext: async (options) => {
          const claim = await store.claimNext(options);
          if (claim) claims++;
          return claim;
        },
      });
      await using harness = await openHarness({ chat, store: counted });
      const { run } = await harness.runs.submit(question());
      const written = decodeFrames(await readAll(harness.runs, run));
      assert.equal(refused.length, 1, 'the completed end was refused');
      assert.equal(claims, 1, 'whoever was refused wrote the end, nobody had to take the run up again');
      assert.deepEqual(
        written.map((event) => event.sequence_number),
        written.map((_, index) => index + 1),
      );
      const last = written.at(-1);
      assert.ok(last?.type === 'response.failed');
      assert.equal(last.response.status, 'cancelled');
      assert.ok(!written.some((event) => event.type === 'response.completed'));
      const added = written.filter((event) => event.type === 'response.output_item.added');
      const done = written.filter((event) => event.type === 'response.output_item.done');
      assert.ok(added.some(({ item }) => item.type === 'message'));
      assert.deepEqual(
        done.map(({ output_index }) => output_index).sort(),
        added.map(({ output_index }) => output_index).sort(),
      );
      const message = last.response.output.find((item) => item.type === 'message');
      assert.ok(message?.type === 'message');
      assert.equal(message.status, 'incomplete');
      assert.equal(answerPart(message)?.text, [...text, 'x'].join(''));
      assert.equal((await harness.runs.response(run)).status, 'cancelled');
      await store.close();
    });
  }
});

describe('a claim that may have been lost', () => {
  it('is renewed: a run taken over by another instance stops, one still held continues', async () => {
    const inner = await memoryStore();
    const renewed: string[] = [];
    const store = wrapStore(inner, {
      renew: async (id, options) => {
        renewed.push(id);
        return await inner.renew(id, options);
      },
    });
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const never = Promise.withResolvers<void>();
    const chat = new ScriptedModel((_request, n) => {
      started[n]?.resolve();
      return { gate: never.promise };
    });
    const driving: Promise<unknown>[] = [];
    /** Drives what it is woken for, room or not. */
    class EagerExecutor extends Executor {
      async start() {}
      override takeRoom() {
        return undefined;
      }
      wake(id: string) {
        const claimed = this.claim(id, { force: false });
        driving.push(claimed.then((claim) => claim && this.drive(claim)));
      }
      async stop(how: { graceMs: number }) {
        await this.handOver(how);
      }
    }
    let active: EagerExecutor | undefined;
    await using harness = await openHarness({
      chat,
      store,
      executor: (options) => {
        active = new EagerExecutor(options);
        return active;
      },
    });
    const lost = (await harness.runs.submit(question())).run;
    const held = (await harness.runs.submit(question())).run;
    await Promise.all(started.map(({ promise }) => promise));
    assert.ok(await inner.claim(lost.id, { leaseMs: 5000, force: true }));
    assert.ok(active);
    await active.leaseOf(lost.id)?.renew();
    await active.leaseOf(held.id)?.renew();
    assert.ok(renewed.includes(lost.id) && renewed.includes(held.id), 'the store was asked');
    await driving[0];
    assert.equal(active.active, 1);
    assert.ok(active.leaseOf(held.id));
  });
});
