import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createContext } from '../../../src/research/context/context.ts';
import { notesIn } from '../../../src/research/context/model-notes.ts';
import { recordsOf } from '../../../src/research/context/result-records.ts';
import { loadPrompts } from '../../../src/research/prompts/load-prompts.ts';
import { budgetOf } from '../../../src/research/run/budget.ts';
import { applyEntry, type ContextRun } from '../../../src/research/run/run.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import type { TranscriptEntry } from '../../../src/research/run/transcript.ts';
import { createFence } from '../../../src/research/text/fence.ts';
import { parseTranscript } from '../../../src/runs/stored/stored-transcript.ts';
import type { TurnMessage } from '../../../src/upstream/turn.ts';
import { handbook } from '../../support/handbook.ts';
import { longRun } from '../../support/long-run.ts';
import { accountOf } from '../../support/prefix-account.ts';
import { MODEL, question, testConfig, testTool } from '../../support/run-harness.ts';
import { patience } from '../../support/time-limit.ts';

describe('the requests of a long run', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  it('repeat the request before as their prefix, nearly all of 60 turns in a wide context', async () => {
    const book = handbook({ chapters: 60, length: 5000 });
    const { response, narrow, told } = await longRun({ book, turns: 60, context: 128_000 });
    assert.equal(response.status, 'completed');
    assert.equal(told.size, 60);
    const account = accountOf(narrow.seen.map(({ messages }) => messages));
    assert.ok(account.shared >= 0.93, JSON.stringify(account));
    assert.ok(account.anew <= 125_000, JSON.stringify(account));
    assert.ok(account.largest <= 64_000, 'no request fills more than half of the window');
    assert.ok(account.rewrites <= 2, JSON.stringify(account));
  });

  it('always contain the tools, with tool_choice: none for the answer', async () => {
    const book = handbook({ chapters: 2, length: 500 });
    const { narrow } = await longRun({ book, turns: 2 });
    const bodies = narrow.provider.requests.map(({ body }) => body);
    const tools = bodies.map((body) => JSON.stringify(body.tools));
    assert.equal(new Set(tools).size, 1);
    assert.deepEqual(
      bodies.map((body) => body.tool_choice),
      [undefined, undefined, undefined, 'none'],
    );
  });
});

const SYLLABLES = ['ka', 'lo', 'mi', 'ru', 'te', 'vo', 'sha', 'pen', 'dor', 'gli'];

/** One step of a random run. */
interface RandomTurn {
  /** The lengths of the results, in characters, one for each call. */
  results: number[];
  said: number;
  note: boolean;
  /** The tokens that the provider counts, as a multiple of the estimate. */
  counted: number;
  told: boolean;
  refused: boolean;
  /** The instance dies before the request of this turn is sent. */
  crash: boolean;
}

const randomTurn: fc.Arbitrary<RandomTurn> = fc.record({
  results: fc.array(fc.integer({ min: 0, max: 6000 }), { maxLength: 3 }),
  said: fc.integer({ min: 0, max: 400 }),
  note: fc.boolean(),
  counted: fc.double({ min: 0.8, max: 1.3, noNaN: true }),
  told: fc.boolean(),
  refused: fc.integer({ min: 0, max: 40 }).map((n) => n === 0),
  crash: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
});

function words(length: number, seed: number): string {
  let text = '';
  for (let i = seed; text.length < length; i++) {
    const word = `${SYLLABLES[i % 10]}${SYLLABLES[(i * 7 + seed) % 10]}${SYLLABLES[(i * 3) % 10]}`;
    text += `${word}${i % 9 === 8 ? `, ${i}. ` : ' '}`;
  }
  return text;
}

/** Plays these turns without the research loop; returns every request and the final state. */
async function play(turns: readonly RandomTurn[], options: { context: number; compactAt: number; keep: number }) {
  const config = testConfig({
    model: { context_length: options.context, max_completion_tokens: 800 },
    research: { compact_at: options.compactAt, keep_tool_results: options.keep },
  });
  const model = config.models[MODEL];
  const { request } = question();
  assert.ok(model?.kind === 'research' && request.kind === 'research');
  const parts: Omit<ContextRun, 'state'> = {
    request,
    model,
    budget: budgetOf(model, 'high', { maxMinutes: 10 }),
    tools: new Map([['lookup', testTool('lookup', () => ({ result: '' }))]]),
    prompts: loadPrompts(),
    fence: createFence('8f14e45f-ceea-467f-a9f6-2f1e8d6a7b10'),
    startedAt: Date.UTC(2031, 4, 6),
  };
  let state = ResearchState.of([]);
  let context = createContext({ ...parts, state });
  const requests: { messages: TurnMessage[]; made: boolean }[] = [];
  const add = (entry: TranscriptEntry) => void applyEntry(state, entry);
  for (const [n, turn] of turns.entries()) {
    const revive = async () => {
      // The store returns text.
      const stored = await parseTranscript(state.entries.map((entry) => JSON.stringify(entry)));
      state = ResearchState.of(stored);
      context = createContext({ ...parts, state });
    };
    if (turn.crash) await revive();
    const room = await context.makeRoom([]);
    if (room) add(room);
    const sent = context.messages([]);
    requests.push({ messages: sent.messages, made: room !== undefined });
    // An instance that takes the run over after the request was sent would send the same request.
    await revive();
    assert.equal(await context.makeRoom([]), undefined, 'room is made once');
    assert.deepEqual(context.messages([]).messages, sent.messages);
    if (turn.refused) {
      context.window.refused(sent.estimate, 100);
      add({ t: 'spent', usage: usageOf(0), tooLarge: sent.estimate, asked: 100 });
      continue;
    }
    const input = Math.round(sent.estimate * turn.counted);
    context.window.learn(sent.estimate, input);
    const calls = turn.results.map((_, i) => ({
      id: `call_${n}_${i}`,
      call: state.calls.size + i,
      name: 'lookup',
      arguments: JSON.stringify({ q: `${n} ${i}` }),
    }));
    const content = `${words(turn.said, n)}${turn.note ? ` The value of lamp ${n} is ${n * 13} [${n + 1}].` : ''}`;
    add({
      t: 'turn',
      message: {
        role: 'assistant',
        content,
        tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
      },
      usage: usageOf(input),
      calls,
      cut: false,
      invented: false,
      estimate: sent.estimate,
      elapsedMs: n,
      notes: notesIn({ text: content, reasoning: '' }, { turn: n + 1, about: context.about }),
      ...(state.turns === 0 ? { opening: context.opening } : {}),
    });
    for (const [i, call] of calls.entries()) {
      const result = JSON.stringify({
        title: `T ${n}`,
        content: words(turn.results[i] ?? 0, n * 3 + i),
        source_id: n + 1,
      });
      const entry = {
        t: 'result' as const,
        call: call.call,
        status: 'completed' as const,
        result,
        sources: [],
        queries: 0,
      };
      add({ ...entry, records: await recordsOf(call, entry, { about: context.about, turn: state.turns }) });
    }
    if (turn.told) add({ t: 'note', guard: 'cut', text: `Go on, ${n}.` });
  }
  return { requests, state };
}

function usageOf(inputTokens: number) {
  return { inputTokens, cachedTokens: 0, outputTokens: 5, reasoningTokens: 0, estimated: false };
}

describe('the requests of any run', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  it('extend the request before unless room is made, also across crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(randomTurn, { minLength: 2, maxLength: 30 }),
        fc.record({
          context: fc.constantFrom(4000, 8000, 32_000, 128_000),
          compactAt: fc.constantFrom(0.1, 0.42, 0.9),
          keep: fc.integer({ min: 1, max: 6 }),
        }),
        async (turns, options) => {
          const { requests, state } = await play(turns, options);
          for (const [index, { messages, made }] of requests.entries()) {
            const before = requests[index - 1]?.messages ?? [];
            if (!made) assert.deepEqual(messages.slice(0, before.length), before, `request ${index}`);
          }
          const compactions = state.entries.filter((entry) => entry.t === 'compaction');
          assert.ok(compactions.length <= requests.length);
          assert.equal(compactions.length, requests.filter(({ made }) => made).length);
          // Findings that were written once are in every later request, until all are written anew.
          let written: string[] = [];
          let next = 0;
          for (const { messages, made } of requests) {
            const entry = made ? compactions[next++] : undefined;
            if (entry?.anew) written = [];
            if (entry && entry.findings !== '') written.push(entry.findings);
            const sent = messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
            for (const findings of written) assert.ok(sent.includes(findings));
          }
        },
      ),
      { numRuns: 80 },
    );
  });
});
