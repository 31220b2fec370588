import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';

const WORDS = fileURLToPath(new URL('../../../src/console/page/words.js', import.meta.url));
const { directionOf, unmarked, wordEnd, wordStart } = await import(WORDS);

describe('words of the console', () => {
  it('a passage begins and ends with whole words, and with whole letters where there are no blanks', () => {
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
      }),
    );
  });

  it('Markdown in a line is read without its marks', () => {
    assert.equal(unmarked('## Plan\n1. **Find** `x` in [a page](https://a.example)'), 'Plan\nFind x in a page');
    assert.equal(unmarked('3 * 4 is snake_case and *so*'), '3 * 4 is snake_case and so');
  });

  it('a text goes where most of its letters go', () => {
    assert.equal(directionOf('| API | النوع والسنوات | التكلفة |'), 'rtl');
    assert.equal(directionOf('| a model | العربية |'), 'rtl');
    assert.equal(directionOf('the word العربية in English'), 'ltr');
    assert.equal(directionOf('12 %'), 'ltr');
  });
});
