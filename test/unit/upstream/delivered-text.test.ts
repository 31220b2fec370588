import assert from 'node:assert/strict';
import { deliveredWeight } from '../../../src/upstream/decoding/delivered-text.ts';

describe('the estimate of what was delivered', () => {
  const stream = (deltas: readonly object[]) =>
    deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`).join('');
  const weightOf = (deltas: readonly object[]) =>
    deliveredWeight(stream(deltas), { api: 'chat_completions', streamed: true });
  const once = weightOf([{ content: 'word ' }]);

  it('counts a text once that is told under several names', () => {
    assert.equal(weightOf([{ reasoning: 'word ', reasoning_content: 'word ', text: 'word ' }]), once);
  });

  it('counts a text as often as a model repeats it, under however many names', () => {
    for (const delta of [{ content: 'word ' }, { content: 'word ', text: 'word ' }]) {
      assert.equal(weightOf(Array.from({ length: 20 }, () => delta)), 20 * once);
    }
  });
});
