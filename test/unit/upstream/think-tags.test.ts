import assert from 'node:assert/strict';
import { decodeTurn } from '../../support/decode-turn.ts';

const frames = (...pieces: string[]) =>
  pieces.map((content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`;

describe('a closing think tag without an opening one', () => {
  it('removes the text before it from the message, even if already delivered', () => {
    const [first = '', second = ''] = frames('Let me think.', '\n</think>\n\nDone.');
    const bytes = Buffer.from(first + second + END);
    const { text, turn } = decodeTurn(bytes, { cuts: [Buffer.byteLength(first)] });
    assert.equal(text, 'Let me think.Done.');
    assert.equal(turn.text, 'Done.');
  });

  it('turns undelivered text before it into reasoning', () => {
    const { reasoning, text } = decodeTurn(Buffer.from(frames('Let me think.\n', '</think>\n\nDone.').join('') + END));
    assert.deepEqual([reasoning, text], ['Let me think.\n', 'Done.']);
  });
});

describe('a closing think tag after the reasoning', () => {
  const ANSWER = 'The tag </think> ends it.';
  const thought = { choices: [{ index: 0, delta: { reasoning_content: 'I think.' } }] };
  for (const [what, before, said] of [
    ['in a field of its own', `data: ${JSON.stringify(thought)}\n\n`, ANSWER],
    ['between tags', '', `<think>I think.</think>${ANSWER}`],
    ['without an opening tag', '', `I think.</think>${ANSWER}`],
    ['that was closed twice', '', `<think>I think.</think>\n</think>${ANSWER}`],
  ] as const) {
    it(`${what} is text, however it is cut`, () => {
      for (const pieces of [[said], [...said]]) {
        const { reasoning, turn } = decodeTurn(Buffer.from(before + frames(...pieces).join('') + END));
        assert.match(reasoning + turn.text, /I think\./);
        assert.equal(turn.text, ANSWER);
      }
    });
  }
});

describe('text of a model that begins with reasoning', () => {
  for (const [said, reasoning, answer] of [
    ['I think.</think>Done.', 'I think.', 'Done.'],
    ['<think>I think.</think>Done.', 'I think.', 'Done.'],
    ['A <think> tag opens it.</think>Done.', 'A <think> tag opens it.', 'Done.'],
    ['A <think> tag opens it.', 'A <think> tag opens it.', 'A <think> tag opens it.'],
  ] as const) {
    it(`is read alike, however it is cut: ${said}`, () => {
      for (const pieces of [[said], [...said], [said.slice(0, 4), said.slice(4)]]) {
        const { turn, ...whole } = decodeTurn(Buffer.from(frames(...pieces).join('') + END), { startsThinking: true });
        assert.deepEqual([whole.reasoning, whole.text, turn.text], [reasoning, answer, answer]);
      }
    });
  }
});
