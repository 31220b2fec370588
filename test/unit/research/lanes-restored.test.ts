import assert from 'node:assert/strict';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { parseTranscript } from '../../../src/runs/stored/stored-transcript.ts';
import type { AppendBatch, RunStore } from '../../../src/store/run-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { assertItemsInOrder } from '../../support/lane-items.ts';
import { attemptOf, laneModel, turnsIn } from '../../support/lane-model.ts';
import { Random } from '../../support/random.ts';
import { lookups } from '../../support/research-run.ts';
import { openHarness, question, readAll } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn, TURN_USAGE } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const PARTS = ['depth', 'age', 'width'];
const TURN_TOKENS = TURN_USAGE.inputTokens + TURN_USAGE.outputTokens;

/** Waits for a random number of turns of the event loop. */
async function wait(random: Random): Promise<void> {
  for (let ticks = random.below(4); ticks > 0; ticks--) await new Promise((resolve) => setImmediate(resolve));
}

/** A tool that finds a page of its own for each word, and one that all of them find. */
function finder(random: Random, found: string[]): Tool {
  return {
    name: 'lookup',
    description: 'Looks up.',
    parameters: { type: 'object' },
    timeoutMs: 10_000,
    async call({ q }) {
      await wait(random);
      found.push(String(q));
      const urls = random.chance(0.5)
        ? [`https://pages.example/${q}`, 'https://pages.example/shared']
        : ['https://pages.example/shared', `https://pages.example/${q}`];
      return {
        sources: urls.map((url) => ({ url, title: url, snippet: `On ${q}.`, kind: 'listed' })),
        result: (idOf) => ({
          results: urls.map((url) => ({ source_id: idOf(url), url, snippet: `All about ${q} is known.` })),
        }),
      };
    },
  };
}

/** All attempts look up the same words, each in its own order. */
function attempts(request: TurnRequest): ScriptedTurn {
  const own = attemptOf(request);
  if (isAnswerTurn(request)) return { text: ['All of it is known.'] };
  const word = own === undefined ? undefined : [...PARTS.slice(own - 1), ...PARTS.slice(0, own - 1)][turnsIn(request)];
  return word === undefined
    ? { text: ['Depth, age and width are known.'] }
    : { reasoning: [`Now ${word}.`], calls: lookups(word, `${word}-${own}`) };
}

const KINDS = {
  lanes: { respond: laneModel(PARTS, { times: 2 }), turns: 1 + 3 * 3 + 1, calls: 6 },
  attempts: { respond: attempts, turns: 3 * 4 + 1, calls: 18 },
};

/** The store of a process that dies in its `n`th append, before it is made or after it. */
function dying(store: RunStore, { n, made }: { n: number; made: boolean }) {
  const died = Promise.withResolvers<void>();
  const buried = Promise.withResolvers<void>();
  let count = 0;
  const append = async (id: string, batch: AppendBatch) => {
    if (++count < n) return await store.append(id, batch);
    if (count === n && made) await store.append(id, batch);
    died.resolve();
    await buried.promise;
    return await store.append(id, batch);
  };
  return { store: wrapStore(store, { append }), died: died.promise, bury: () => buried.resolve() };
}

/** A run that is cut in its `n`th append and taken over; undefined if it ended before that. */
async function cutRun(kind: keyof typeof KINDS, options: { n: number; made: boolean; seed: number }) {
  const { respond } = KINDS[kind];
  const random = new Random(options.seed);
  const store = await memoryStore();
  const parts = (seen: { asked: TurnRequest[]; found: string[] }) => {
    const chat = new ScriptedModel((request) => {
      seen.asked.push(request);
      return { ...respond(request), gate: wait(random) };
    });
    return { chat, tools: [finder(random, seen.found)] };
  };
  const first = dying(store, options);
  const process = await openHarness({ ...parts({ asked: [], found: [] }), store: first.store });
  const { run } = await process.runs.submit(question({ research: { [kind]: 3 } }));
  const ended = readAll(process.runs, run).then(() => 'ended');
  if ((await Promise.race([first.died, ended])) === 'ended') {
    await process[Symbol.asyncDispose]();
    return undefined;
  }
  const stored = await parseTranscript(await store.readTranscript(run.id));
  await store.claim(run.id, { leaseMs: 0, force: true });
  first.bury();
  const seen: { asked: TurnRequest[]; found: string[] } = { asked: [], found: [] };
  await using next = await openHarness({ ...parts(seen), store });
  const events = decodeFrames(await readAll(next.runs, run));
  const entries = await parseTranscript(await store.readTranscript(run.id));
  // A process that finds that it has lost its run takes its time to stop.
  return { stored, entries, events, ...seen, stopped: process[Symbol.asyncDispose]() };
}

for (const kind of ['lanes', 'attempts'] as const) {
  describe(`${kind} interrupted by a crash`, function () {
    this.timeout(60_000);
    it('continue from what was stored, wherever they were cut: nothing is requested or looked up twice', async () => {
      const stopped: PromiseLike<void>[] = [];
      for (let n = 1; ; n++) {
        const options = { n, made: n % 2 === 0, seed: n };
        const cut = await cutRun(kind, options);
        if (!cut) break;
        stopped.push(cut.stopped);
        const where = JSON.stringify(options);
        const last = cut.events.at(-1);
        assert.ok(last?.type === 'response.completed', where);
        const turns = cut.stored.filter(({ t }) => t === 'turn').length;
        const research = cut.asked.filter((request) => !isAnswerTurn(request)).length;
        assert.equal(research, KINDS[kind].turns - turns, `turns, ${where}`);
        const results = cut.stored.filter((entry) => entry.t === 'result' && !entry.result.includes('"ok"')).length;
        assert.equal(cut.found.length, KINDS[kind].calls - results, `calls, ${where}`);
        const { usage, output } = last.response;
        assert.equal(usage.num_tool_calls, KINDS[kind].calls, where);
        if (!usage.estimated) assert.equal(usage.total_tokens, (KINDS[kind].turns + 1) * TURN_TOKENS, where);
        assertItemsInOrder(cut.events);
        const told = output.flatMap((item) =>
          item.type === 'tool_call' && item.lane ? [`${item.lane} ${item.arguments}`] : [],
        );
        assert.equal(told.length, KINDS[kind].calls, where);
        assert.equal(new Set(told).size, told.length, where);
        // One numbering: whatever a result shows has the same number in the transcript.
        const urls = new Map(
          cut.entries.flatMap((entry) => (entry.t === 'result' ? entry.sources : [])).map(({ id, url }) => [id, url]),
        );
        for (const entry of cut.entries) {
          if (entry.t !== 'result') continue;
          for (const { source_id, url } of JSON.parse(entry.result).results ?? [])
            assert.equal(urls.get(source_id), url, where);
        }
        assert.equal(new Set(urls.values()).size, urls.size, where);
        const findings = JSON.stringify(cut.asked.at(-1)?.messages);
        if (cut.asked.length > 0)
          for (const part of PARTS) assert.match(findings, new RegExp(`All about ${part}`), where);
      }
      assert.ok(stopped.length > 12, `${stopped.length} cuts`);
      await Promise.all(stopped);
    });
  });
}
