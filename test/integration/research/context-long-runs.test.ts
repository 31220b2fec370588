import assert from 'node:assert/strict';
import { type Handbook, handbook } from '../../support/handbook.ts';
import { CONTEXT, longRun, QUESTION, readOrSearch } from '../../support/long-run.ts';
import { accountOf } from '../../support/prefix-account.ts';
import type { TurnScript } from '../../support/scripted-provider.ts';
import { patience } from '../../support/time-limit.ts';

/** Fewer turns for the variants, but enough for several compactions. */
const SHORTER = 50;
const QUESTION_CJK = '手册每一章的访问代码是什么？';

function assertTold(told: ReadonlyMap<number, string>, book: Handbook, chapters: readonly number[]) {
  for (const n of chapters) assert.equal(told.get(n), book.code(n), `chapter ${n}; told were ${[...told.keys()]}`);
}

describe('a long run in a context of 32 000 tokens', function () {
  // Runs take hundreds of turns.
  this.timeout(patience(30));
  const book = handbook({ chapters: 300, length: 5000 });
  const shorter = handbook({ chapters: SHORTER, length: 5000 });

  it('reports all findings of 300 turns, counts every token, and mostly resends cached prefixes', async () => {
    const { response, narrow, told } = await longRun({ book, turns: 300 });
    assert.equal(response.status, 'completed');
    assert.equal(response.incomplete_details, null);
    assertTold(told, book, [1, 2, 149, 150, 151, 299, 300]);
    assert.equal(told.size, 300);
    assert.equal(response.usage.num_tool_calls, 300);
    assert.equal(response.usage.input_tokens, narrow.counted.input);
    assert.equal(response.usage.output_tokens, narrow.counted.output);
    assert.equal(response.usage.estimated, undefined);
    assert.equal(narrow.refused, 0);
    assert.ok(narrow.largest > CONTEXT * 0.4, `the context is used, up to ${narrow.largest} tokens`);
    const account = accountOf(narrow.seen.map(({ messages }) => messages));
    assert.ok(account.shared >= 0.85, JSON.stringify(account));
    assert.ok(account.billed <= 1_200_000, JSON.stringify(account));
    assert.ok(account.rewrites <= 60, JSON.stringify(account));
  });

  it('works if the provider reports no usage and words each length error differently', async () => {
    const { response, narrow, told } = await longRun({ book: shorter, turns: SHORTER, provider: { usage: false } });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 2, 24, 25, 26, 49, 50]);
    assert.equal(response.usage.estimated, true);
    assert.ok(narrow.refused <= 6, `${narrow.refused} requests were refused for their length`);
    const ratio = response.usage.input_tokens / narrow.counted.input;
    assert.ok(ratio > 0.6 && ratio < 1.6, `estimated ${ratio} of what was counted`);
  });

  it('works if the configured context is four times the real one', async () => {
    const { response, narrow, told } = await longRun({
      book: shorter,
      turns: SHORTER,
      model: { context_length: CONTEXT * 4 },
      provider: { cutsOutput: true },
    });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 2, 24, 25, 26, 49, 50]);
    assert.equal(response.usage.input_tokens, narrow.counted.input);
    assert.ok(narrow.refused <= 10, `${narrow.refused} requests were refused for their length`);
  });

  it('works with several pages of 20 000 characters in each turn', async () => {
    const large = handbook({ chapters: 75, length: 20_000 });
    const { response, told } = await longRun({
      book: large,
      turns: 15,
      calls: (n) => ({
        toolCalls: [0, 1, 2, 3, 4].map((i) => ({
          id: `call_${n}_${i}`,
          name: 'fetch_url_content',
          arguments: { url: `https://handbook.example/chapter-${(n - 1) * 5 + i + 1}`, goal: 'the access code' },
        })),
      }),
    });
    assert.equal(response.status, 'completed');
    assert.equal(response.usage.num_tool_calls, 75);
    assertTold(told, large, [1, 2, 37, 38, 74, 75]);
  });

  it('works with a model that writes a lot before each call', async () => {
    const talk = (n: number) =>
      Array.from({ length: 40 }, (_, i) => `I weigh what page ${n * 40 + i} may still add to the picture.`).join(' ');
    const { response, told } = await longRun({
      book: shorter,
      turns: SHORTER,
      calls: (n) => ({ ...readOrSearch(n), text: talk(n) }),
    });
    assert.equal(response.status, 'completed');
    assertTold(told, book, [1, 25, 50]);
  });

  it('works in Chinese', async () => {
    const chinese = handbook({ chapters: SHORTER, length: 3000, script: 'cjk' });
    const { response, told } = await longRun({ book: chinese, turns: SHORTER, ask: QUESTION_CJK });
    assert.equal(response.status, 'completed');
    assertTold(told, chinese, [1, 25, 50]);
    assert.ok(told.size >= (SHORTER * 2) / 3, `the answer tells ${told.size} of ${SHORTER} facts`);
  });
});

describe('a page larger than the whole context', function () {
  // Runs take hundreds of turns.
  this.timeout(patience(30));
  for (const [name, script, ask, length] of [
    ['is read in pieces by a model', 'latin', QUESTION, 250_000],
    ['is read in pieces in Chinese too', 'cjk', QUESTION_CJK, 60_000],
  ] as const) {
    it(name, async () => {
      const book = handbook({ chapters: 3, length, script });
      const { response, narrow, told } = await longRun({ book, turns: 3, ask, calls: (n) => fetchChapter(n) });
      assert.equal(response.status, 'completed');
      assertTold(told, book, [1, 2, 3]);
      assert.ok(narrow.seen.filter((request) => request.reading).length > 10);
      assert.equal(response.usage.input_tokens, narrow.counted.input, 'what reading costs is counted');
      assert.equal(response.usage.output_tokens, narrow.counted.output);
      assert.equal(response.usage.num_tool_calls, 3, 'reading is part of one call');
    });
  }
});

function fetchChapter(n: number): TurnScript {
  const args = { url: `https://handbook.example/chapter-${n}`, goal: 'the access code' };
  return { toolCalls: [{ name: 'fetch_url_content', arguments: args }] };
}
