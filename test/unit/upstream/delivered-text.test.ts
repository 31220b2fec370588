import assert from 'node:assert/strict';
import { deliveredWeight } from '../../../src/upstream/decoding/delivered-text.ts';
import { tokenWeight } from '../../../src/upstream/decoding/estimate.ts';

describe('deliveredWeight', () => {
  const stream = (deltas: readonly object[]) =>
    deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`).join('');
  const weightOf = (deltas: readonly object[]) =>
    deliveredWeight(stream(deltas), { api: 'chat_completions', streamed: true });
  const CHAT = { api: 'chat_completions', streamed: false };
  const once = weightOf([{ content: 'word ' }]);

  it('counts a text once that is sent under several names', () => {
    assert.equal(weightOf([{ reasoning: 'word ', reasoning_content: 'word ', text: 'word ' }]), once);
  });

  it('counts a text as often as it repeats, under however many names', () => {
    for (const delta of [{ content: 'word ' }, { content: 'word ', text: 'word ' }]) {
      assert.equal(weightOf(Array.from({ length: 20 }, () => delta)), 20 * once);
    }
  });

  it('counts reasoning in every field of providers, and audio transcripts', () => {
    for (const delta of [
      { reasoning_content: 'word ' },
      { reasoning: 'word ' },
      { thinking: 'word ' },
      { reasoning_text: 'word ' },
      { reasoning_details: [{ type: 'reasoning.text', text: 'word ' }] },
      { reasoning_details: [{ type: 'reasoning.summary', summary: 'word ' }] },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'word ' }] }] },
      { audio: { id: 'a', data: 'AAAA'.repeat(100), transcript: 'word ' } },
    ]) {
      assert.equal(weightOf([delta]), once, JSON.stringify(delta));
    }
  });

  it('counts a text that begins with a colon', () => {
    assert.equal(weightOf([{ content: ':word ' }]), deliveredWeight('{"text":"a:word "}', CHAT) - tokenWeight('a'));
  });

  describe('for arguments given as an object', () => {
    const input = { query: 'word '.repeat(100), deep: { text: 'a } " b' } };
    const written = deliveredWeight(JSON.stringify({ arguments: JSON.stringify(input) }), CHAT);
    const call = { function: { name: '', arguments: input } };
    const use = { type: 'tool_use', name: 'f', input };
    const cases: readonly [string, string, object][] = [
      ['chat completions', 'chat_completions', { choices: [{ message: { tool_calls: [call] } }] }],
      ['Messages', 'messages', { content: [use] }],
      ['Responses', 'responses', { output: [{ type: 'function_call', arguments: input }] }],
    ];
    for (const [name, api, answer] of cases) {
      it(`is the weight of their JSON in ${name}`, () => {
        const weight = deliveredWeight(JSON.stringify(answer), { api, streamed: false });
        assert.ok(Math.abs(weight - written) < 5 && weight > 100, `${weight}, not ${written}`);
      });
    }

    it('is zero for the start of a call', () => {
      const begun = JSON.stringify({ content_block: { type: 'tool_use', input: {} } });
      assert.equal(deliveredWeight(begun, { api: 'messages', streamed: true }), 0);
    });
  });
});
