import assert from 'node:assert/strict';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import type { Usage } from '../../../src/protocol/response.ts';
import type { ResearchRequest } from '../../../src/research/run/request.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import type { TurnRequest } from '../../../src/upstream/turn.ts';
import { eventually } from '../../support/eventually.ts';
import { lookups } from '../../support/research-run.ts';
import { openHarness, question, readAll, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';
import { patience } from '../../support/time-limit.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const FOREVER: ScriptedTurn = { gate: new Promise(() => {}) };
const PROMPT = 4000;
const usage = { inputTokens: PROMPT, outputTokens: 5 };
const tool = () => testTool('lookup', async ({ q }) => ({ result: `{"found":"${q}"}` }));

const hasResults = ({ messages }: TurnRequest) => messages.some(({ role }) => role === 'tool');
/** One round of calls, then the answer. */
const oneRound = (request: TurnRequest): ScriptedTurn => {
  if (isAnswerTurn(request)) return { text: ['The answer.'], usage };
  return hasResults(request) ? { text: ['Ready.'], usage } : { calls: lookups('a'), usage };
};

/** An entry as versions wrote it that noted neither times nor that a run was handed over. */
function asFormerly(text: string): string {
  const { times, handedOver, ...entry } = JSON.parse(text);
  return JSON.stringify(entry);
}

/** A run that is taken from its process once `isAtPoint` requests hang, and is finished by another process. */
async function takenOver(
  store: RunStore,
  options: {
    hangs(request: TurnRequest): boolean;
    count?: number;
    how: 'killed' | 'handed over' | 'handed over by an earlier version';
    research?: Partial<ResearchRequest>;
  },
): Promise<{ usage: Usage; turns: number }> {
  const { hangs, count = 1, how, research = {} } = options;
  let hanging = 0;
  let turns = 0;
  let dead = false;
  const chat = new ScriptedModel((request) => {
    if (hangs(request)) {
      hanging++;
      return FOREVER;
    }
    turns++;
    return oneRound(request);
  });
  // What a dead process still writes is lost.
  const mortal = wrapStore(store, {
    append: async (id, batch) => {
      if (dead) return await new Promise(() => {});
      const { transcript = [] } = batch;
      const former = { ...batch, transcript: transcript.map(asFormerly) };
      return await store.append(id, how === 'handed over by an earlier version' ? former : batch);
    },
  });
  const first = await openHarness({ chat, tools: [tool()], store: mortal });
  const { run } = await first.runs.submit(question({ research }));
  await eventually('the turns that hang', () => hanging === count);
  if (how !== 'killed') await first.executor.stop({ graceMs: 0 });
  else {
    dead = true;
    await store.claim(run.id, { leaseMs: 0, force: true });
  }
  const next = new ScriptedModel((request) => {
    turns++;
    return oneRound(request);
  });
  await using second = await openHarness({ chat: next, tools: [tool()], store });
  const last = decodeFrames(await readAll(second.runs, run)).at(-1);
  assert.ok(last?.type === 'response.completed', `${last?.type}`);
  void first[Symbol.asyncDispose]();
  return { usage: last.response.usage, turns };
}

describe('a turn of which nothing was visible when its process died', function () {
  this.timeout(patience(30));
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  for (const [which, hangs] of [
    ['a research turn', hasResults],
    ['the answer', isAnswerTurn],
  ] as const) {
    it(`is charged its prompt: ${which}`, async () => {
      const { usage: used, turns } = await takenOver(store, { hangs, how: 'killed' });
      assert.equal(used.input_tokens, (turns + 1) * PROMPT);
      assert.equal(used.estimated, true);
    });
  }

  it('is charged its prompt: the first turn', async () => {
    const { usage: used, turns } = await takenOver(store, { hangs: () => true, how: 'killed' });
    assert.ok(used.input_tokens > turns * PROMPT + 900, `${used.input_tokens}`);
  });

  it('is charged its prompt: the turns of lanes', async () => {
    const { usage: used, turns } = await takenOver(store, {
      hangs: hasResults,
      count: 3,
      how: 'killed',
      research: { attempts: 3 },
    });
    assert.equal(used.input_tokens, (turns + 3) * PROMPT);
  });

  it('is not charged where a run is handed over between two turns', async () => {
    const { usage: used, turns } = await takenOver(store, { hangs: hasResults, how: 'handed over' });
    assert.equal(used.input_tokens, turns * PROMPT);
  });

  it('is not charged where an earlier version drove the run, which may have handed it over', async () => {
    const how = 'handed over by an earlier version';
    const { usage: used, turns } = await takenOver(store, { hangs: hasResults, how });
    assert.equal(used.input_tokens, turns * PROMPT);
  });
});
