import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';

const WORDS = fileURLToPath(new URL('../../../src/console/page/words.js', import.meta.url));
const { directionOf, unmarked, wordEnd, wordStart } = await import(WORDS);
const { line } = await import(fileURLToPath(new URL('../../../src/console/page/format.js', import.meta.url)));

describe('text helpers of the console', () => {
  it('cut passages at whole words, and never inside a character', () => {
    const text = 'The median heat pump was replaced after 17 years.';
    assert.equal(text.slice(wordStart(text, 6)), 'heat pump was replaced after 17 years.');
    assert.equal(text.slice(wordStart(text, 4)), 'median heat pump was replaced after 17 years.');
    assert.equal(text.slice(0, wordEnd(text, 13)), 'The median');
    assert.equal(text.slice(0, wordEnd(text, 10)), 'The median');
    assert.equal(wordStart(text, -5), 0);
    assert.equal(wordEnd(text, 1000), text.length);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(60), (any, at) => {
        assert.ok(any.slice(wordStart(any, at)).isWellFormed());
        assert.ok(any.slice(0, wordEnd(any, at)).isWellFormed());
        assert.ok(line(any, at + 1).isWellFormed());
      }),
    );
  });

  it('strip the marks of Markdown', () => {
    assert.equal(unmarked('## Plan\n1. **Find** `x` in [a page](https://a.example)'), 'Plan\nFind x in a page');
    assert.equal(unmarked('3 * 4 is snake_case and *so*'), '3 * 4 is snake_case and so');
  });

  it('give a text the direction of most of its letters', () => {
    assert.equal(directionOf('| API | النوع والسنوات | التكلفة |'), 'rtl');
    assert.equal(directionOf('| a model | العربية |'), 'rtl');
    assert.equal(directionOf('the word العربية in English'), 'ltr');
    assert.equal(directionOf('12 %'), 'ltr');
  });
});
