import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { Lexer, type Token } from 'marked';
import { FORMULAS } from '../../../src/protocol/formula/formulas.js';

const file = fileURLToPath(new URL('../../../src/console/page/report/worker/same-start.js', import.meta.url));
const { sameStart } = await import(file);

const lex = (text: string): Token[] =>
  JSON.parse(JSON.stringify([...new Lexer({ gfm: true, extensions: FORMULAS }).lex(text)]));

const PIECES = [
  '# Head\n',
  'A paragraph with **bold**.\n',
  'more of it\n',
  '\n',
  '- item\n',
  '  - inner\n',
  '  continued\n',
  '1. first\n',
  '> quoted\n',
  '```js\n',
  '```\n',
  'let a = 1;\n',
  '    indented\n',
  '| a | b |\n',
  '|---|---|\n',
  '| 1 | 2 |\n',
  '===\n',
  '---\n',
  '<div>\n',
  '</div>\n',
  '* * *\n',
  'text without an end',
  '\t- tab\n',
  '中文段落。\n',
  'x^2 $y$\n',
];

describe('sameStart', () => {
  it('lets growing Markdown be read piece by piece with the same result as at once', () => {
    const pieces = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 24 });
    fc.assert(
      fc.property(pieces, (parts) => {
        let text = '';
        let tokens: Token[] = [];
        for (const part of parts) {
          text += part;
          const { keep, length } = sameStart(tokens, text);
          tokens = [...tokens.slice(0, keep), ...lex(text.slice(length))];
        }
        assert.deepEqual(tokens, lex(text));
      }),
      { numRuns: 1500 },
    );
  });

  it('leaves only the end of a long text to be read again', () => {
    const text = 'A paragraph of the report.\n\n'.repeat(500);
    const { length } = sameStart(lex(text), `${text}And more.`);
    assert.ok(length > text.length - 100);
  });
});
