import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../src/base/errors.ts';
import { newRunId } from '../../src/base/ids.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import type { ExecutionOutcome } from '../../src/runs/executing/driving/run-driver.ts';
import type { RunRecord } from '../../src/runs/runs.ts';
import { newRun } from '../../src/runs/submitting/new-run.ts';
import type { AppendBatch } from '../../src/store/run-store.ts';
import { eventually } from '../support/eventually.ts';
import { type Harness, type HarnessOptions, question, readAll, testConfig } from '../support/run-harness.ts';
import { ScriptedModel } from '../support/scripted-model.ts';
import { patience } from '../support/time-limit.ts';

const DELTA = Buffer.from('event: response.heartbeat\ndata: {"type":"response.heartbeat","sequence_number":3}\n\n');

/** Runs that cannot be read back, and how they end after five attempts, or at once if they are cancelled. */
const DAMAGES: Record<string, { ends: 'failed' | 'cancelled'; request?: string; batch?: Partial<AppendBatch> }> = {
  'an entry of its transcript': { ends: 'failed', batch: { transcript: ['{"t":"result"'] } },
  'an event of its log': { ends: 'failed', batch: { frames: Buffer.from('event: x\ndata: {"type"\n\n') } },
  'its request': { ends: 'failed', request: '{"input"' },
  'the transcript of a cancelled run': { ends: 'cancelled', batch: { transcript: ['{"t":"result"'] } },
};

/** Two instances over one store, each with an executor of its own. */
export interface ExecutorFixture extends AsyncDisposable {
  open(options: Pick<HarnessOptions, 'chat' | 'config' | 'load' | 'leaves'>): Promise<Harness>;
}

/** The contract of `src/runs/executing/executor.ts`, for any executor: `open` starts with an empty store. */
export function executorContract(name: string, open: () => Promise<ExecutorFixture>): void {
  describe(`executor contract: ${name}`, () => {
    it('drives every submitted run once, on any instance', async () => {
      await using fixture = await open();
      const chat = new ScriptedModel(() => ({ text: ['done'] }));
      await using a = await fixture.open({ chat });
      await using b = await fixture.open({ chat });
      const submitted = await Promise.all(
        Array.from({ length: 40 }, (_, n) => (n % 2 ? a : b).runs.submit(question())),
      );
      for (const { run } of submitted) {
        const log = (await readAll(a.runs, run)).toString();
        assert.equal(log.match(/event: response\.completed/g)?.length, 1);
      }
      assert.equal(chat.requests.length, 40);
    });

    it('drives runs that were stored before it started', async () => {
      await using fixture = await open();
      const chat = new ScriptedModel(() => ({ text: ['done'] }));
      const gate = Promise.withResolvers<void>();
      const first = await fixture.open({ chat: new ScriptedModel(() => ({ gate: gate.promise })) });
      const { run } = await first.runs.submit(question());
      await first.stop();
      await using second = await fixture.open({ chat });
      assert.match((await readAll(second.runs, run)).toString(), /event: response\.completed/);
      await first[Symbol.asyncDispose]();
    });

    it('drives at most max_concurrent runs, and the next one as soon as one ends', async () => {
      await using fixture = await open();
      const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const chat = new ScriptedModel((_request, n) => ({ text: ['done'], ...gated(gates[n]?.promise) }));
      await using a = await fixture.open({ chat, config: testConfig({ runs: { max_concurrent: 2 } }) });
      const runs = [];
      for (let n = 0; n < 3; n++) runs.push((await a.runs.submit(question())).run);
      await eventually('the condition', () => chat.requests.length === 2);
      await delay(300);
      assert.equal(chat.requests.length, 2);
      assert.equal(a.executor.active, 2);
      for (const gate of gates) gate.resolve();
      for (const run of runs) assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
    });

    it('lets chat completions wait here while every place is taken', async () => {
      await using fixture = await open();
      const gate = Promise.withResolvers<void>();
      const chat = new ScriptedModel(() => ({ text: ['done'], ...gated(gate.promise) }));
      await using a = await fixture.open({ chat, config: testConfig({ runs: { max_concurrent: 1 } }) });
      const submit = async (api: 'responses' | 'chat_completions') => (await a.runs.submit(question({ api }))).run;
      const runs = [await submit('responses')];
      await eventually('the condition', () => chat.requests.length === 1);
      for (let n = 0; n < 2; n++) runs.push(await submit('chat_completions'));
      assert.deepEqual([a.executor.active, a.executor.waiting, chat.requests.length], [1, 2, 1]);
      gate.resolve();
      for (const run of runs) assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
    });

    it('alternates between keys, and starts the runs of one key in order', async () => {
      await using fixture = await open();
      const gates = Array.from({ length: 12 }, () => Promise.withResolvers<void>());
      const chat = new ScriptedModel((_request, n) => ({ text: ['done'], ...gated(gates[n]?.promise) }));
      const config = testConfig({ runs: { max_concurrent: 1, max_queued: 1300 } });
      await using a = await fixture.open({ chat, config });
      const submit = async (keyId: string) => (await a.runs.submit(question({ caller: { user: keyId, keyId } }))).run;
      const many = [];
      for (let n = 0; n < 8; n++) many.push(await submit('many'));
      await eventually('the condition', () => chat.requests.length === 1);
      const few = [await submit('few'), await submit('few')];
      const started = async (runs: RunRecord[]) => {
        const records = await Promise.all(runs.map((run) => a.store.get(run.id)));
        return records.filter((record) => record?.startedAt !== null).length;
      };
      const startedCounts = [];
      for (const [n, gate] of gates.slice(0, 5).entries()) {
        gate.resolve();
        await eventually('the condition', () => chat.requests.length === n + 2);
        startedCounts.push([await started(many), await started(few)]);
      }
      // Which key is first depends on the run that was driven; from then on they alternate.
      assert.deepEqual(startedCounts[1], [2, 1]);
      assert.deepEqual(startedCounts[3], [3, 2]);
      assert.deepEqual(startedCounts[4], [4, 2]);
      for (const gate of gates) gate.resolve();
      const times = [];
      for (const run of many) {
        assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
        times.push((await a.store.get(run.id))?.startedAt);
      }
      assert.deepEqual(times, times.toSorted(), 'first come, first served');
    });

    it('accepts one run of a key without queued runs into a full queue, and starts it next', async () => {
      await using fixture = await open();
      const gate = Promise.withResolvers<void>();
      const never = new Promise<void>(() => {});
      // Each of the two instances blocks on its first run; then a few runs end at once; the rest never end.
      const gateOf = (n: number) => (n < 2 ? gate.promise : n < 10 ? undefined : never);
      const chat = new ScriptedModel((_request, n) => ({ text: ['done'], ...gated(gateOf(n)) }));
      const config = testConfig({ runs: { max_concurrent: 1 } });
      await using a = await fixture.open({ chat, config });
      await using b = await fixture.open({ chat, config });
      const submit = (keyId: string, at = a) => at.runs.submit(question({ caller: { user: keyId, keyId } }));
      const many: RunRecord[] = [];
      let refusals = 0;
      // Fill the queues of both instances.
      for (let n = 0; n < 1300; n++) {
        await submit('many', n % 2 ? a : b).then(
          ({ run }) => void many.push(run),
          (thrown: unknown) => {
            assert.ok(thrown instanceof GatewayError && thrown.code === 'overloaded' && thrown.retryAfterMs);
            refusals++;
          },
        );
      }
      await eventually('the condition', () => chat.requests.length > 0);
      assert.ok(refusals > 250 && many.length >= 1000, `${refusals} refused, ${many.length} accepted`);
      const results = await Promise.allSettled([submit('few', b), submit('few', b), submit('few', b)]);
      const few = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.run] : []));
      assert.equal(few.length, 1, 'only the first is accepted');
      await assert.rejects(submit('many'), { code: 'overloaded' });
      const other = (await submit('other', b)).run;
      gate.resolve();
      const logs = await Promise.all([...few, other].map((run) => readAll(b.runs, run)));
      for (const log of logs) assert.match(log.toString(), /event: response\.completed/);
      assert.ok((await b.store.countOpen()).queued > 900, 'most of the first key still wait');
    }).timeout(patience(60));

    it('alternates between waiting chats and queued runs', async () => {
      await using fixture = await open();
      const gates = Array.from({ length: 20 }, () => Promise.withResolvers<void>());
      const chat = new ScriptedModel((_request, n) => ({ text: ['done'], ...gated(gates[n]?.promise) }));
      await using a = await fixture.open({ chat, config: testConfig({ runs: { max_concurrent: 1 } }) });
      const submit = async (keyId: string, api: 'responses' | 'chat_completions') =>
        (await a.runs.submit(question({ api, caller: { user: keyId, keyId } }))).run;
      const queued: RunRecord[] = [];
      for (let n = 0; n < 6; n++) queued.push(await submit('many', 'responses'));
      await eventually('the condition', () => chat.requests.length === 1);
      const chats: RunRecord[] = [];
      for (let n = 0; n < 4; n++) chats.push(await submit('many', 'chat_completions'));
      const other = await submit('few', 'chat_completions');
      const ended = async (run: RunRecord) => (await a.store.get(run.id))?.endedAt != null;
      const countEnded = async () => (await Promise.all([...queued, ...chats].map(ended))).filter(Boolean).length;
      for (let n = 0; n < gates.length && !(await ended(other)); n++) {
        gates[n]?.resolve();
        await eventually('the condition', () => chat.requests.length > n + 1);
      }
      // The run under way, then at most one from the queue, one of the other key's chats and one more from the queue.
      assert.ok((await countEnded()) <= 4, 'the only chat of a key does not wait for all runs of the other');
      for (const gate of gates) gate.resolve();
      for (const run of [...queued, ...chats]) {
        assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
      }
    });

    it('starts no run while the event loop lags, however often runs are offered', async () => {
      await using fixture = await open();
      const gate = Promise.withResolvers<void>();
      const chat = new ScriptedModel((_request, n) => ({ text: ['done'], ...(n === 0 ? gated(gate.promise) : {}) }));
      const load = { utilization: 1, lagMs: 0 };
      await using a = await fixture.open({ chat, load });
      const runs = [(await a.runs.submit(question())).run];
      await eventually('the condition', () => chat.requests.length === 1);
      load.lagMs = 500;
      // A run that was admitted before the lag may still start.
      await delay(250);
      for (let n = 0; n < 4; n++) runs.push((await a.runs.submit(question())).run);
      // Longer than a deferred run takes to be offered again.
      await delay(3500);
      assert.equal(a.executor.active, 1);
      assert.equal(chat.requests.length, 1);
      load.lagMs = 0;
      gate.resolve();
      for (const run of runs) assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
    });

    it('stops a run that is cancelled on another instance', async () => {
      await using fixture = await open();
      const never = Promise.withResolvers<void>();
      const chat = new ScriptedModel(() => ({ gate: never.promise }));
      await using a = await fixture.open({ chat });
      const { run } = await a.runs.submit(question());
      await eventually('the condition', () => chat.requests.length === 1);
      await using b = await fixture.open({ chat });
      const response = await b.runs.cancel(run);
      assert.equal(response.status, 'cancelled');
      await eventually('the condition', () => a.executor.active === 0);
    });

    it('releases its runs when it stops, so that others need not wait for the lease', async () => {
      await using fixture = await open();
      const never = Promise.withResolvers<void>();
      const stuck = new ScriptedModel(() => ({ reasoning: ['a thought'], gate: never.promise }));
      const a = await fixture.open({ chat: stuck });
      const { run } = await a.runs.submit(question());
      await eventually('the condition', () => stuck.requests.length === 1);
      await a.executor.stop({ graceMs: 0 });
      const probe = await a.store.claim(run.id, { leaseMs: 60_000, force: false });
      assert.ok(probe, 'any instance can claim it');
      await a.store.release(run.id, probe);
      const chat = new ScriptedModel(() => ({ text: ['done'] }));
      await using b = await fixture.open({ chat });
      assert.match((await readAll(b.runs, run)).toString(), /event: response\.completed/);
      await a[Symbol.asyncDispose]();
    });

    it('gives chats most of the grace period when it stops, as no other instance can take them over', async () => {
      await using fixture = await open();
      const gate = Promise.withResolvers<void>();
      const chat = new ScriptedModel(() => ({ text: ['an answer'], gate: gate.promise }));
      await using a = await fixture.open({ chat });
      const { run } = await a.runs.submit(question({ api: 'chat_completions' }));
      await eventually('the condition', () => chat.requests.length === 1);
      const graceMs = patience(1);
      const stopped = a.executor.stop({ graceMs });
      await delay(0.4 * graceMs);
      gate.resolve();
      await stopped;
      assert.equal((await a.store.get(run.id))?.status, 'completed');
    });

    it('leaves a run that another instance holds, and drives it once it is released', async () => {
      await using fixture = await open();
      await using first = await fixture.open({ chat: new ScriptedModel(() => ({ text: ['never asked'] })) });
      await first.executor.stop({ graceMs: 0 });
      const { run } = await first.runs.submit(question());
      const held = await first.store.claim(run.id, { leaseMs: 60_000, force: true });
      assert.ok(held);
      const chat = new ScriptedModel(() => ({ text: ['done'] }));
      await using second = await fixture.open({ chat });
      second.executor.wake(run.id);
      await delay(200);
      assert.equal(chat.requests.length, 0);
      await first.store.release(run.id, held);
      assert.match((await readAll(second.runs, run)).toString(), /event: response\.completed/);
    });

    for (const [what, { ends, ...damage }] of Object.entries(DAMAGES)) {
      it(`ends a run as ${ends} if ${what} cannot be read`, async () => {
        await using fixture = await open();
        await using a = await fixture.open({ chat: new ScriptedModel(() => ({ text: ['never asked'] })) });
        await a.executor.stop({ graceMs: 0 });
        const request = damage.request ?? JSON.stringify({ input: [], request: question().request });
        const { run } = newRun(newRunId(), question(), { now: Date.now(), retentionMs: 60_000, request });
        await a.store.create(run);
        const attempts = ends === 'failed' ? 4 : 0;
        for (let n = 0; n < attempts; n++) await a.store.claim(run.id, { leaseMs: 60_000, force: true });
        const { token = '' } = (await a.store.claim(run.id, { leaseMs: 0, force: true })) ?? {};
        await a.store.append(run.id, { token, first: 3, count: 1, frames: DELTA, ...damage.batch });
        if (ends === 'cancelled') await a.store.requestCancel(run.id);
        const record = (await a.store.get(run.id)) ?? assert.fail();
        const live = readAll(a.runs, record, record.last);
        const left = Promise.withResolvers<ExecutionOutcome>();
        await using b = await fixture.open({
          chat: new ScriptedModel(() => ({ text: ['never asked'] })),
          leaves: left.resolve,
        });
        const [event, ...others] = decodeFrames(await live);
        assert.equal(event?.sequence_number, 4);
        assert.ok(event?.type === 'response.failed' && others.length === 0);
        const error = ends === 'failed' ? 'run_crashed' : 'cancelled';
        assert.equal(event.response.error?.code, error);
        const outcome = await left.promise;
        assert.deepEqual([outcome.result, outcome.ended], ['ended', { status: ends, used: undefined, error }]);
        const ended = (await b.store.get(run.id)) ?? assert.fail();
        assert.equal(ended.status, ends);
        assert.deepEqual(await b.runs.response(ended), event.response);
        assert.equal(event.response.id, `resp_${run.id}`);
      });
    }
  });
}

function gated(gate: Promise<void> | undefined) {
  return gate ? { gate } : {};
}
