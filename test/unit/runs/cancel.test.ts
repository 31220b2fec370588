import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { publicId } from '../../../src/base/ids.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { toTaskEntry } from '../../../src/runs/projections/task.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { lookups } from '../../support/research-run.ts';
import {
  type Harness,
  openHarness,
  question,
  readAll,
  runToEnd,
  testConfig,
  testTool,
} from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const lookup = testTool('lookup', async () => {
  await turnOfLoop();
  return { result: '{"found":1}' };
});

/** A run of a few steps. */
const busyModel = () =>
  new ScriptedModel((request) => {
    if (isAnswerTurn(request)) return { text: ['One ', 'two ', 'three.'] };
    const begun = request.messages.some((message) => message.role === 'tool');
    return begun ? { text: ['ready'] } : { reasoning: ['I look.'], calls: lookups('a', 'b') };
  });

/** A model that says something and finishes, whatever happens. */
const thinkingModel = () => new ScriptedModel(() => ({ reasoning: ['I think.'], text: ['Done.'] }));

const stuckModel = () => new ScriptedModel(() => ({ reasoning: [], gate: new Promise(() => {}) }));

async function terminalOf(harness: Harness, run: Parameters<Harness['runs']['response']>[0]) {
  const events = decodeFrames(await readAll(harness.runs, run));
  const ends = events.filter((event) => event.type === 'response.completed' || event.type === 'response.failed');
  assert.equal(ends.length, 1, 'exactly one end');
  const [end] = ends;
  assert.equal(events.at(-1), end, 'nothing after the end');
  assert.ok(end && 'response' in end);
  return end.response;
}

describe('the cancel of a run', () => {
  it('races completion 500 times: each run ends once, and an accepted cancel always wins', async () => {
    const inner = await memoryStore();
    const accepted = new Set<string>();
    const store = wrapStore(inner, {
      async requestCancel(id) {
        const answer = await inner.requestCancel(id);
        if (answer.result === 'accepted') accepted.add(id);
        return answer;
      },
    });
    const ends = { completed: 0, cancelled: 0 };
    {
      await using harness = await openHarness({ chat: busyModel(), tools: [lookup], store });
      const race = async (delay: number) => {
        const { run } = await harness.runs.submit(question());
        for (let i = 0; i < delay; i++) await turnOfLoop();
        const answer = await harness.runs.cancel(run);
        const end = await terminalOf(harness, run);
        assert.equal(answer.status, end.status, 'the answer tells the true end');
        assert.equal(end.status, accepted.has(run.id) ? 'cancelled' : 'completed');
        if (end.status === 'cancelled') {
          ends.cancelled++;
          assert.equal(end.error?.code, 'cancelled');
          assert.ok(end.output.every((item) => !('status' in item) || item.status !== 'in_progress'));
        } else ends.completed++;
      };
      for (let n = 0; n < 500; n += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => race((n + k * 7) % 60)));
    }
    await inner.close();
    assert.equal(ends.completed + ends.cancelled, 500);
    assert.ok(ends.completed > 20 && ends.cancelled > 20, `both ends were seen: ${JSON.stringify(ends)}`);
  });

  it('gives the same answer to many callers at once', async () => {
    await using harness = await openHarness({ chat: stuckModel(), tools: [lookup] });
    const { run } = await harness.runs.submit(question());
    const answers = await Promise.all(Array.from({ length: 20 }, () => harness.runs.cancel(run)));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set(['cancelled']));
    await terminalOf(harness, run);
  });

  it('aborts running tools, fails their calls, and counts them', async () => {
    const aborted = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const hanging = {
      ...lookup,
      call: (_args: object, { signal }: { signal: AbortSignal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        started.resolve();
        return new Promise<never>(() => {});
      },
    };
    await using harness = await openHarness({ chat: busyModel(), tools: [hanging] });
    const { run } = await harness.runs.submit(question());
    await started.promise;
    const answer = await harness.runs.cancel(run);
    await aborted.promise;
    const calls = answer.output.filter((item) => item.type === 'tool_call');
    assert.equal(calls.length, 2);
    for (const call of calls) {
      assert.equal(call.status, 'failed');
      assert.equal(JSON.parse(call.result ?? '').error.code, 'cancelled');
    }
    assert.equal((await terminalOf(harness, run)).usage.num_tool_calls, 2);
  });

  it('counts searches that were sent and whose calls have no result', async () => {
    const sent = Promise.withResolvers<void>();
    const search: Tool = {
      ...lookup,
      call: (_args, { onSearch }) => {
        onSearch?.(3);
        sent.resolve();
        return new Promise(() => {});
      },
    };
    await using harness = await openHarness({ chat: busyModel(), tools: [search] });
    const { run } = await harness.runs.submit(question());
    await sent.promise;
    await harness.runs.cancel(run);
    const { status, usage } = await terminalOf(harness, run);
    assert.deepEqual([status, usage.num_search_queries, usage.estimated], ['cancelled', 6, undefined]);
  });

  it('reaches the instance that drives the run', async () => {
    const store = await memoryStore();
    {
      await using owner = await openHarness({ chat: stuckModel(), tools: [lookup], store });
      const { run } = await owner.runs.submit(question());
      while (owner.executor.active === 0) await turnOfLoop();
      await using other = await openHarness({ chat: stuckModel(), tools: [lookup], store });
      const answer = await other.runs.cancel(run);
      assert.equal(answer.status, 'cancelled');
      while (owner.executor.active > 0) await turnOfLoop();
      await terminalOf(other, run);
    }
    await store.close();
  });

  it('is written by the canceller if the owner is frozen, whose later writes are refused', async () => {
    const inner = await memoryStore();
    // This instance hears of no cancel and its appends wait: it is frozen.
    const thawed = Promise.withResolvers<void>();
    const frozen: RunStore = wrapStore(inner, {
      onChange: () => ({ [Symbol.dispose]() {} }),
      append: async (id, batch) => {
        await thawed.promise;
        return await inner.append(id, batch);
      },
      renew: async () => ({ result: 'ok', cancel: false }),
    });
    {
      await using owner = await openHarness({ chat: thinkingModel(), tools: [lookup], store: frozen });
      const { run } = await owner.runs.submit(question());
      while (owner.executor.active === 0) await turnOfLoop();
      await using other = await openHarness({ chat: stuckModel(), tools: [lookup], store: inner });
      const answer = await other.runs.cancel(run);
      assert.equal(answer.status, 'cancelled');
      const bytes = await readAll(other.runs, run);
      await terminalOf(other, run);
      thawed.resolve();
      while (owner.executor.active > 0) await turnOfLoop();
      assert.deepEqual(await readAll(other.runs, run), bytes, 'what the frozen owner still wanted to write is refused');
    }
    await inner.close();
  });

  it('leaves started_at empty if the run was still queued', async () => {
    const config = testConfig({ runs: { max_concurrent: 1 } });
    await using harness = await openHarness({ chat: stuckModel(), tools: [lookup], config });
    await harness.runs.submit(question());
    while (harness.executor.active === 0) await turnOfLoop();
    const { run } = await harness.runs.submit(question());
    const answer = await harness.runs.cancel(run);
    assert.deepEqual([answer.status, answer.started_at], ['cancelled', null]);
    const ended = await harness.runs.find(run, 'async', `task_${run.id}`);
    assert.equal('started_at' in toTaskEntry(ended), false);
  });

  it('leaves an ended run unchanged', async () => {
    await using harness = await openHarness({ chat: busyModel(), tools: [lookup] });
    const { run, bytes, response } = await runToEnd(harness, question());
    assert.deepEqual(await harness.runs.cancel(run), response);
    assert.deepEqual(await readAll(harness.runs, run), bytes);
  });

  it('shows readers the end if the run is deleted, before it is gone', async () => {
    await using harness = await openHarness({ chat: stuckModel(), tools: [lookup] });
    const { run } = await harness.runs.submit(question());
    const reading = readAll(harness.runs, run);
    await harness.runs.delete(run);
    const last = decodeFrames(await reading).at(-1);
    assert.ok(last?.type === 'response.failed' && last.response.status === 'cancelled');
    await assert.rejects(
      harness.runs.find({ user: 'ann', keyId: 'key-ann' }, 'responses', publicId('responses', run.id)),
      { code: 'not_found' },
    );
  });
});
