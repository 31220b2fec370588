import assert from 'node:assert/strict';
import type { ChatModel, TurnOptions, TurnPart, TurnRequest } from '../../../src/upstream/turn.ts';
import { openHarness, question, runToEnd } from '../../support/run-harness.ts';
import { ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';

/** A model that pushes its deltas after the first into the sink, as providers do. */
class Passing implements ChatModel {
  readonly #model: ScriptedModel;
  pushed = 0;
  refused = 0;

  constructor(model: ScriptedModel) {
    this.#model = model;
  }

  async *turn(request: TurnRequest, options: TurnOptions): AsyncGenerator<TurnPart> {
    let first = true;
    for await (const part of this.#model.turn(request, options)) {
      const isDelta = part.type === 'text' || part.type === 'reasoning';
      if (isDelta && !first && options.sink?.(part)) this.pushed++;
      else {
        if (isDelta && !first) this.refused++;
        yield part;
      }
      first = false;
    }
  }
}

/** The response of a run over this script, without what differs from run to run. */
async function responseOf(chat: ChatModel, request: { maxOutputTokens?: number }) {
  await using harness = await openHarness({ chat });
  const { response } = await runToEnd(harness, question({ research: { toolChoice: 'none', ...request } }));
  const { status, output_text, incomplete_details, usage } = response;
  const reasoning = response.output.flatMap((item) => (item.type === 'reasoning' ? item.content : []));
  return { status, output_text, incomplete_details, usage, reasoning };
}

const LONG = 'A sentence of a long delta, and another one. '.repeat(200);
const SCRIPTS: Readonly<Record<string, { turn: ScriptedTurn; request?: { maxOutputTokens: number } }>> = {
  'thoughts and text': { turn: { reasoning: ['I ', 'think.'], text: ['One ', 'two [1]', ' three ', 'four.'] } },
  'a delta that is read in pieces': { turn: { text: ['Short. ', 'Then. ', LONG, 'End.'] } },
  'an answer that is cut at its length': {
    turn: { text: Array.from({ length: 400 }, (_, n) => `Word number ${n} of many. `) },
    request: { maxOutputTokens: 200 },
  },
  'an answer that repeats itself': { turn: { text: Array.from({ length: 4000 }, () => 'The same again and again. ') } },
};

describe('deltas of a model while the loop waits for them', () => {
  for (const [what, { turn, request = {} }] of Object.entries(SCRIPTS)) {
    it(`give the same response whether they are pushed or iterated: ${what}`, async () => {
      const passing = new Passing(new ScriptedModel([turn]));
      const live = await responseOf(passing, request);
      assert.ok(passing.pushed > 0, 'nothing was pushed');
      assert.deepEqual(live, await responseOf(new ScriptedModel([turn]), request));
    });
  }

  it('are iterated if they are long', async () => {
    const passing = new Passing(new ScriptedModel([{ text: ['Short. ', LONG, 'End.'] }]));
    await responseOf(passing, {});
    assert.equal(passing.refused, 1);
  });
});
