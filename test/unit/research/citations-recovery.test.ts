import assert from 'node:assert/strict';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import type { ChatModel, TurnRequest } from '../../../src/upstream/turn.ts';
import { lookup, lookups, runResearch } from '../../support/research-run.ts';
import { openHarness, question, readAll } from '../../support/run-harness.ts';
import { cutTurn, isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore } from '../../support/wrapped-store.ts';

/** The beginning of its own answer that the model sees when it is asked to continue. */
function begunIn(request: TurnRequest | undefined): string | undefined {
  const message = request?.messages.findLast(({ role }) => role === 'assistant');
  return typeof message?.content === 'string' ? message.content : undefined;
}

const research = (request: TurnRequest) =>
  request.messages.some(({ role }) => role === 'tool') ? { text: ['Ready.'] } : { calls: lookups('a', 'b', 'c') };

describe('citation numbers of a cut answer', () => {
  it("stay the model's own for the model and renumbered for the reader, even if a marker is cut", async () => {
    const { asked, message, response } = await runResearch({
      turns: [{ calls: lookups('a', 'b', 'c') }],
      answers: [{ text: ['It is so [3], and', ' so [3, '], breaks: cutTurn() }, { text: ['1]. And [2].'] }],
    });
    assert.equal(begunIn(asked.answer[1]), 'It is so [3], and so [3, ');
    assert.equal(response.output_text, 'It is so [1], and so [1, 2]. And [3].');
    assert.deepEqual(
      answerPart(message)?.annotations.map(({ index, source_id }) => [index, source_id]),
      [
        [1, 3],
        [1, 3],
        [2, 1],
        [3, 2],
      ],
    );
  });

  it('continue on another instance, which reads them from the log', async () => {
    const store = await memoryStore();
    const said = Promise.withResolvers<void>();
    const first: ChatModel = {
      async *turn(request, { signal }) {
        if (!isAnswerTurn(request)) {
          yield* new ScriptedModel(research).turn(request, { signal });
          return;
        }
        for (const delta of ['One [3], two [1', ', 3], none [99], `c[1]` and [']) yield { type: 'text', delta };
        said.resolve();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    await using dying = await openHarness({ chat: first, tools: [lookup()], store });
    const { run } = await dying.runs.submit(question());
    await said.promise;
    const seen: string[] = [];
    for await (const { frames } of dying.runs.follow(run, { after: 0, signal: AbortSignal.timeout(60_000) })) {
      for (const event of decodeFrames(frames)) if (event.type === 'response.output_text.delta') seen.push(event.delta);
      if (seen.join('').endsWith('and ')) break;
    }
    await store.claim(run.id, { leaseMs: 0, force: true });

    const second = new ScriptedModel(() => ({ text: ['[2], [1] again.'] }));
    await using next = await openHarness({ chat: second, tools: [lookup()], store });
    const events = decodeFrames(await readAll(next.runs, run));
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.equal(begunIn(second.requests[0]), 'One [3], two [1, 3], none [?], `c[1]` and ');
    const text = 'One [1], two [2, 1], none [?], `c[1]` and [3], [2] again.';
    assert.equal(last.response.output_text, text);
    const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    assert.equal(deltas.join(''), text);
    const added = events.flatMap((event) => (event.type === 'response.output_text.annotation.added' ? [event] : []));
    assert.deepEqual(
      added.map(({ annotation_index }) => annotation_index),
      [0, 1, 2, 3, 4],
    );
    const annotations = added.map(({ annotation }) => annotation);
    const message = last.response.output.findLast((item) => item.type === 'message');
    assert.deepEqual(answerPart(message)?.annotations, annotations);
    assert.deepEqual(
      annotations.map(({ start_index, end_index, source_id }) => [text.slice(start_index, end_index), source_id]),
      [
        ['[1]', 3],
        ['[2, 1]', 1],
        ['[2, 1]', 3],
        ['[3]', 2],
        ['[2]', 1],
      ],
    );
  });
});
