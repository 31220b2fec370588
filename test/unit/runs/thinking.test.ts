import assert from 'node:assert/strict';
import { openHarness, question, runToEnd, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';

const lookup = testTool('lookup', () => ({ result: '{}' }));

describe('a model that thinks without end', () => {
  it('fills the log up to a limit, says so once, and still answers', async () => {
    // Different all the time, so that nothing looks like a repetition.
    const thoughts = (turn: number) =>
      Array.from({ length: 1500 }, (_, n) => `${turn}.${n} ${'xyz'[n % 3]?.repeat(1000)} `);
    let turn = 0;
    const chat = new ScriptedModel((request) =>
      isAnswerTurn(request) || turn > 4
        ? { text: ['The answer.'] }
        : { reasoning: thoughts(turn++), calls: [{ name: 'lookup', arguments: { q: String(turn) } }] },
    );
    await using harness = await openHarness({ chat, tools: [lookup] });
    const { response, bytes } = await runToEnd(harness, question());
    assert.equal(response.status, 'completed');
    const told = response.output.map((item) => (item.type === 'reasoning' ? (item.content[0]?.text ?? '') : ''));
    const length = told.reduce((sum, text) => sum + text.length, 0);
    assert.ok(length > 4e6 && length < 4.3e6, `${length} characters of thoughts`);
    assert.equal(told.join('').match(/Further thoughts are left out/g)?.length, 1);
    // Each delta once, its whole text when its item is done, and once more in the terminal event.
    assert.ok(bytes.length < 24e6, `${bytes.length} bytes of log`);
    assert.equal(response.output_text, 'The answer.');
  });
});
