import assert from 'node:assert/strict';
import fc from 'fast-check';
import { runEvent } from '../../../src/protocol/events.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { messageText } from '../../../src/protocol/items.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { applyEvent } from '../../../src/runs/projections/fold.ts';
import { offsetAfter } from '../../../src/store/frames.ts';
import { RUNS, SEED } from '../../support/fuzz.ts';
import { openHarness, question, readAll, runToEnd, testTool } from '../../support/run-harness.ts';
import { cutTurn, isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';

const deltas = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 8 });
const researchTurn: fc.Arbitrary<ScriptedTurn> = fc
  .record({
    reasoning: deltas,
    text: deltas,
    calls: fc.array(
      fc.record({ name: fc.constantFrom('lookup', 'broken', 'unknown'), arguments: fc.record({ q: fc.string() }) }),
      { maxLength: 4 },
    ),
    breaks: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant('cut' as const) },
    ),
  })
  .map(({ breaks, ...turn }) => (breaks ? { ...turn, breaks: cutTurn() } : turn));

const scriptedRun = fc.record({
  turns: fc.array(researchTurn, { maxLength: 5 }),
  answer: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 10 }),
});

const tools = [
  testTool('lookup', (args) => ({
    result: JSON.stringify({ found: args.q ?? null }),
    sources: [{ url: `https://example.org/${String(args.q).length}`, title: 'A page', snippet: '', kind: 'read' }],
  })),
  testTool('broken', () => ({ result: '{"error":{"message":"no","code":"no"}}', failed: true })),
];

describe('the event log of a run', () => {
  it('keeps every promise of the contract for random runs, cuts and readers', async () => {
    await fc.assert(
      fc.asyncProperty(scriptedRun, fc.array(fc.nat({ max: 60 }), { maxLength: 4 }), async (script, cuts) => {
        let turn = 0;
        const chat = new ScriptedModel((request) =>
          isAnswerTurn(request) ? { text: script.answer } : (script.turns[turn++] ?? { text: ['ready'] }),
        );
        await using harness = await openHarness({ chat, tools });
        const { run, bytes, events, response } = await runToEnd(harness, question());

        events.forEach((event, index) => {
          runEvent.parse(event);
          assert.equal(event.sequence_number, index + 1);
        });
        const terminal = events.filter((event) => ['response.completed', 'response.failed'].includes(event.type));
        assert.equal(terminal.length, 1);
        assert.equal(events.at(-1), terminal[0]);

        for (const cut of cuts) {
          const after = Math.min(cut, events.length);
          assert.deepEqual(
            await readAll(harness.runs, run, after),
            Buffer.from(bytes.subarray(offsetAfter(bytes, after))),
          );
        }

        const folded = decodeFrames(bytes).slice(0, -1).reduce<ResponseObject | undefined>(applyEvent, undefined);
        assert.deepEqual(folded?.output, response.output);
        assert.equal(folded?.output_text, response.output_text);

        response.output.forEach((item, index) => {
          const added = events.filter((e) => e.type === 'response.output_item.added' && e.output_index === index);
          const done = events.filter((e) => e.type === 'response.output_item.done' && e.output_index === index);
          assert.equal(added.length, 1);
          assert.equal(done.length, 1);
          if (!('content' in item)) return;
          const text = events
            .filter((e) => 'delta' in e && 'item_id' in e && e.item_id === item.id)
            .map((e) => ('delta' in e ? e.delta : ''))
            .join('');
          assert.equal(text, item.type === 'message' ? messageText(item) : item.content[0]?.text);
        });
        if (response.status === 'completed') assert.equal(response.output_text, script.answer.join(''));
      }),
      { numRuns: Math.ceil(RUNS / 2), seed: SEED, endOnFailure: true },
    );
  });
});
