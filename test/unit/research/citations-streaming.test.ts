import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CitedAnswer, citeJson } from '../../../src/research/answer/cited-answer.ts';
import { citedAnswer, coveredBy, joinCited, readSources } from '../../support/cited-answer.ts';

const URLS = Array.from({ length: 12 }, (_, i) => `https://s${i + 1}.example/page`);
const sources = readSources(...URLS);

/** Pieces of streamed answers, which mean something together and when they are cut. */
const piece = fc.constantFrom(
  'A claim',
  ' [7]',
  '[3, 12]',
  '[2-4]',
  '【5†L1-L2】',
  '[^9]',
  '[source_id: 11]',
  '[99]',
  '[2024]',
  '[0, 1]',
  '[1](',
  'https://s8.example/page',
  '[',
  ']',
  '`',
  '``',
  '```',
  '~~~',
  '\n',
  '\n\n',
  '- ',
  '> ',
  '12. ',
  'h',
  'corpus',
  '://x',
  ' 深度🎉 ',
  '\\',
  '(',
  ')',
);
const answerText = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe('an answer that is renumbered while it streams', () => {
  it('is the same however it is cut into deltas', () => {
    fc.assert(
      fc.property(answerText, fc.integer({ min: 1, max: 9 }), (text, length) => {
        assert.deepEqual(citedAnswer(text, sources, { length }), citedAnswer(text, sources, { length: 10_000 }));
      }),
      { seed: 11, numRuns: 1500 },
    );
  });

  it('numbers markers 1, 2, 3 by first use, each with its source', () => {
    fc.assert(
      fc.property(answerText, (text) => {
        const { annotations, text: read } = citedAnswer(text, sources);
        const numbered = annotations.filter(({ start_index }) => read[start_index] === '[');
        const firstUse = [...new Set(numbered.map(({ index }) => index))];
        assert.deepEqual(
          firstUse,
          firstUse.map((_, at) => at + 1),
        );
        for (const { index, source_id, start_index, end_index, url } of numbered) {
          assert.equal(url, URLS[(source_id ?? 0) - 1]);
          const marker = read.slice(start_index, end_index);
          assert.match(marker, /^\[\d+(, \d+)*\]$/);
          assert.ok(marker.match(/\d+/g)?.includes(String(index)));
        }
      }),
      { seed: 12, numRuns: 1000 },
    );
  });

  it('holds back a marker until it is complete, and nothing else for long', () => {
    const answer = new CitedAnswer(sources);
    assert.equal(answer.push('So it is [').text, 'So it is ');
    assert.equal(answer.push('7').text, '');
    assert.equal(answer.push(']').text, '', 'a "(" would make it a link');
    const { text, annotations } = answer.push('. And [a');
    assert.equal(text, '[1]. And [a');
    assert.deepEqual(
      annotations.map(({ start_index, end_index, index, source_id }) => [start_index, end_index, index, source_id]),
      [[9, 12, 1, 7]],
    );
    assert.equal(answer.push(' link](https://s1.example/').text, ' link]', 'it may lead where it should not');
    assert.equal(answer.push('page) and').text, '(https://s1.example/page) and');
    assert.equal(answer.push(' a `lone').text, ' a ');
    assert.equal(answer.push(' tick [7]\n\n').text, '`lone tick [1]\n\n');
    assert.equal(answer.push('The end [1').text, 'The end ');
    assert.equal(answer.end().text, '[1');
  });

  it('gives a URL the number of its source only if a marker gave it one before', () => {
    const text = 'See https://s4.example/page, then [6][4], https://s4.example/page[2] and https://no.example.';
    const answer = citedAnswer(text, sources);
    assert.equal(
      answer.text,
      'See https://s4.example/page, then [1][2], https://s4.example/page[3] and https://no.example.',
    );
    assert.deepEqual(
      answer.annotations.map(({ index, source_id }) => [index, source_id]),
      [
        [null, 4],
        [1, 6],
        [2, 4],
        [2, 4],
        [3, 2],
        [null, null],
      ],
    );
  });
});

describe('an answer that continues after a crash', () => {
  it('keeps its numbers, wherever it was cut', () => {
    fc.assert(
      fc.property(answerText, fc.nat(), (text, seed) => {
        const first = new CitedAnswer(sources);
        const begun = joinCited([first.push(text.slice(0, seed % (text.length + 1)))]);
        const rest = citedAnswer('\n\nNew [12] and [7].', sources, { begun });
        const numbers = new Map(begun.annotations.map(({ source_id, index }) => [source_id, index]));
        const taken = new Set(numbers.values());
        for (const { source_id, index } of rest.annotations) {
          const before = numbers.get(source_id);
          if (typeof before === 'number') assert.equal(index, before);
          else assert.ok(!taken.has(index), 'a number is given once');
        }
      }),
      { seed: 13, numRuns: 500 },
    );
  });

  it("is shown to the model with the model's own numbers", () => {
    const begun = citedAnswer('One [7], two [3, 7] and 【5†L1】; `x[7]`, [99], https://s2.example/page. ', sources);
    assert.equal(begun.text, 'One [1], two [2, 1] and [3]; `x[7]`, [?], https://s2.example/page. ');
    assert.equal(
      new CitedAnswer(sources, begun).modelText(),
      'One [7], two [3, 7] and [5]; `x[7]`, [?], https://s2.example/page. ',
    );
    const rest = citedAnswer('Again [5], new [2].', sources, { begun });
    assert.equal(rest.text, 'Again [3], new [4].');
    assert.deepEqual(coveredBy({ ...rest, text: begun.text + rest.text }), [
      ['[3]', 5],
      ['[4]', 2],
    ]);
  });

  it('knows whether it was cut inside code', () => {
    const begun = citedAnswer('So [7]:\n\n```js\nconst a = b[1];\n', sources);
    assert.equal(citedAnswer('c[7]\n```\nThen [7].', sources, { begun }).text, 'c[7]\n```\nThen [1].');
  });

  it("keeps the model's numbers if an earlier version began it, and annotates all of it", () => {
    const begun = { text: 'Old [7] and https://s2.example/page, ', annotations: [] };
    const rest = citedAnswer('new [3].', sources, { begun });
    assert.equal(rest.text, 'new [3].');
    assert.deepEqual(
      rest.annotations.map(({ index, source_id, start_index }) => [index, source_id, start_index]),
      [
        [7, 7, 4],
        [2, 2, 12],
        [3, 3, 41],
      ],
    );
    assert.equal(new CitedAnswer(sources, begun).modelText(), begun.text);
  });
});

describe('an answer that is a JSON value', () => {
  it('cites only in its strings, with numbers that run through all of it', async () => {
    const { text, annotations } = await citeJson(
      '{"a [7]": "So [7].", "list": [3], "b": ["Or [3, 7]", "[99]"]}',
      sources,
    );
    assert.equal(text, '{"a [7]": "So [1].", "list": [3], "b": ["Or [2, 1]", "[?]"]}');
    assert.deepEqual(
      annotations.map(({ start_index, end_index, source_id }) => [text.slice(start_index, end_index), source_id]),
      [
        ['[1]', 7],
        ['[2, 1]', 3],
        ['[2, 1]', 7],
      ],
    );
  });
});
