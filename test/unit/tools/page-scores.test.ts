import assert from 'node:assert/strict';
import { scorePage, scoreSet } from '../../../bench/eval/pages/page-scores.ts';
import { plainText } from '../../../bench/eval/pages/plain-text.ts';

describe('the scores of the page evaluation', () => {
  it('count four-word shingles of texts, with equal weight per page', () => {
    const truth = { kind: 'text', text: 'one two three four five six' } as const;
    assert.deepEqual(scorePage(truth, 'one two three four five six'), { right: 1, extra: 0, missing: 0 });
    assert.deepEqual(scorePage(truth, 'one, two: three four'), { right: 1 / 3, extra: 0, missing: 2 / 3 });
    const half = scoreSet([truth, truth], [scorePage(truth, truth.text), scorePage(truth, '')]);
    assert.deepEqual(half, { precision: 1, recall: 0.5, f1: 2 / 3 });
  });

  it('count pieces that must and must not be present', () => {
    const truth = { kind: 'pieces', wanted: ['a b', 'c'], unwanted: ['menu'] } as const;
    const score = scorePage(truth, 'x a\n b menu');
    assert.deepEqual(score, { right: 1, extra: 1, missing: 1 });
    assert.deepEqual(scoreSet([truth], [score]), { precision: 0.5, recall: 0.5, f1: 0.5 });
  });

  it('compare Markdown by its visible text', () => {
    const markdown =
      '## A **bold** title\n\n- See [the log](https://example.org/a_(b)) of *today*\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```js\nx[0](1)\n```\n\n![alt](https://example.org/i.png)\n';
    assert.deepEqual(plainText(markdown).split(/\s+/).filter(Boolean), [
      'A',
      'bold',
      'title',
      'See',
      'the',
      'log',
      'of',
      'today',
      'a',
      'b',
      '1',
      '2',
      'x[0](1)',
    ]);
  });
});
