import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { publicId } from '../../../src/base/ids.ts';
import type { RunRecord, Runs } from '../../../src/runs/runs.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { CALLER, type Harness, openHarness, question, runToEnd, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** What reads of a run ask of the store. */
const READS = ['get', 'list', 'read', 'readLast', 'readTranscript'] as const;

/** A store in which something else can happen before the n-th read. */
function interrupted(inner: RunStore) {
  let reads = 0;
  let at = 0;
  let meanwhile = async () => {};
  const replaced = Object.fromEntries(
    READS.map((name) => [
      name,
      async (...args: unknown[]) => {
        if (++reads === at) await meanwhile();
        return await Reflect.apply(inner[name], inner, args);
      },
    ]),
  );
  return {
    store: wrapStore(inner, replaced),
    before(n: number, what: () => Promise<void>) {
      reads = 0;
      at = n;
      meanwhile = what;
    },
    get reads() {
      return reads;
    },
  };
}

/** Reads of an ended run, as endpoints make them, with their results as text. */
const ASKED: Record<string, (runs: Runs, run: RunRecord) => Promise<string>> = {
  'a response': async (runs, run) => JSON.stringify(await runs.response(await found(runs, run))),
  'a response as text': async (runs, run) => String(await runs.responseJson(await found(runs, run))),
  'a task': async (runs, run) => await runs.taskJson(await runs.find(CALLER, 'async', publicId('async', run.id))),
  'the history for a follow-up': async (runs, run) =>
    run.kind === 'proxy' ? '' : JSON.stringify(await runs.history(CALLER, publicId('responses', run.id))),
  'the rest of the list': async (runs, run) => {
    const after = publicId(run.api, run.id);
    const api = run.api === 'async' ? 'async' : 'responses';
    return JSON.stringify((await runs.list(CALLER, api, { limit: 10, after })).runs.map(({ id }) => id));
  },
};

function found(runs: Runs, run: RunRecord): Promise<RunRecord> {
  const api = run.kind === 'proxy' ? 'async' : 'responses';
  return runs.find(CALLER, api, publicId(api, run.id));
}

/** An older pair of runs, so that lists go on, and then one of research and one of a proxy model. */
async function makeRuns(harness: Harness): Promise<RunRecord[]> {
  const made: RunRecord[] = [];
  for (const _ of ['older', 'newer']) {
    const research = await runToEnd(harness, question());
    const { run } = await harness.runs.submit(
      question({ api: 'async', request: { kind: 'proxy', body: '{"n":12345678901234567890}' } }),
    );
    await harness.runs.waitForEnd(run, { signal: AbortSignal.timeout(patience(10)) });
    made.push(research.run, await harness.runs.find(CALLER, 'async', publicId('async', run.id)));
  }
  return made.slice(2);
}

function unknown(thrown: unknown): boolean {
  return thrown instanceof GatewayError && ['not_found', 'invalid_parameter'].includes(thrown.code);
}

describe('a read of an ended run that takes several calls of the store', () => {
  async function openWorld() {
    const chat = new ScriptedModel((request) =>
      isAnswerTurn(request)
        ? { text: ['It is known [1].'] }
        : request.messages.some(({ role }) => role === 'tool')
          ? { text: ['Ready.'] }
          : { calls: [{ name: 'lookup', arguments: { q: 'a' } }] },
    );
    const source = { url: 'https://example.org/a', title: 'A page', snippet: 'Known.', kind: 'read' } as const;
    const lookup = testTool('lookup', () => ({ result: '{"source_id":1,"content":"Known."}', sources: [source] }));
    const inner = await memoryStore();
    const store = interrupted(inner);
    const harness = await openHarness({ chat, tools: [lookup], store: store.store });
    return { inner, store, harness };
  }

  for (const [name, ask] of Object.entries(ASKED)) {
    it(`returns ${name} whole or as not found if the run is deleted meanwhile`, async () => {
      for (let n = 1, more = true; more; n++) {
        const { inner, store, harness } = await openWorld();
        more = false;
        for (const run of await makeRuns(harness)) {
          store.before(0, async () => {});
          const whole = await ask(harness.runs, run);
          // A fresh instance, because texts and logs stay in memory once they were read.
          const fresh = await openHarness({ chat: new ScriptedModel([]), store: store.store });
          store.before(n, async () => void (await inner.delete(run.id)));
          const outcome = await ask(fresh.runs, run).catch((thrown: unknown) => thrown);
          if (store.reads >= n) more = true;
          assert.ok(outcome === whole || unknown(outcome), `before read ${n}: ${outcome}`);
          await fresh.stop();
        }
        await harness.stop();
        await inner.close();
      }
    });

    it(`returns ${name} unchanged if the log is compressed meanwhile`, async () => {
      for (let n = 1, more = true; more; n++) {
        const { inner, store, harness } = await openWorld();
        more = false;
        for (const run of await makeRuns(harness)) {
          store.before(0, async () => {});
          const whole = await ask(harness.runs, run);
          const fresh = await openHarness({ chat: new ScriptedModel([]), store: store.store });
          store.before(n, async () => void (await inner.compressEnded({ endedForMs: -1, limit: 10 })));
          assert.equal(await ask(fresh.runs, run), whole, `before read ${n}`);
          if (store.reads >= n) more = true;
          await fresh.stop();
        }
        await harness.stop();
        await inner.close();
      }
    });
  }

  it('never reports an existing run as not found', async () => {
    const { inner, harness } = await openWorld();
    const unreadable = wrapStore(inner, { readLast: async () => undefined, read: async () => [] });
    await using blind = await openHarness({ chat: new ScriptedModel([]), store: unreadable });
    for (const run of await makeRuns(harness)) {
      for (const ask of [ASKED['a response'], ASKED['a response as text'], ASKED['a task']]) {
        const outcome = await ask?.(blind.runs, run).catch((thrown: unknown) => thrown);
        assert.ok(outcome instanceof GatewayError && outcome.code === 'store_unavailable', String(outcome));
      }
    }
    const waits = Promise.withResolvers<void>();
    await using slow = await openHarness({ chat: new ScriptedModel([{ gate: waits.promise }]), store: inner });
    const { run } = await slow.runs.submit(question());
    const outcome = await ASKED['a response']?.(blind.runs, run).catch((thrown: unknown) => thrown);
    assert.ok(outcome instanceof GatewayError && outcome.code === 'store_unavailable', String(outcome));
    waits.resolve();
    await slow.runs.waitForEnd(run, { signal: AbortSignal.timeout(patience(10)) });
    await harness.stop();
  });
});
