import assert from 'node:assert/strict';
import { Lexer } from 'marked';
import { FORMULAS } from '../../../src/protocol/formula/formulas.js';

interface Found {
  type: string;
  raw: string;
  source?: string;
  display?: boolean;
  tokens?: Found[];
  items?: Found[];
}

/** The formulas in a text, displayed ones as `[source]`. */
function formulasIn(text: string): string[] {
  const extensions = FORMULAS;
  const of = (tokens: readonly Found[]): string[] =>
    tokens.flatMap(({ type, source, display, tokens: inner = [], items = [] }) =>
      type === 'formula' ? [display ? `[${source}]` : `${source}`] : of([...inner, ...items]),
    );
  return of(JSON.parse(JSON.stringify(new Lexer({ gfm: true, extensions }).lex(text))));
}

describe('formulas in a report', () => {
  it('are recognised in text; prices, escaped brackets and code are not', () => {
    for (const [text = '', ...expected] of [
      ['So $E = mc^2$ and \\(a_1\\).', 'E = mc^2', 'a_1'],
      ['Text\n$$\nx^2\n$$\nmore', '[x^2]'],
      ['\\[ \\frac{a}{b} \\]', '[\\frac{a}{b}]'],
      ['- item $x$ in a list\n- $$y$$', 'x', '[y]'],
      ['It costs $5 and then $6 more, $7-$8.'],
      ['Between $5 and 6$ only.'],
      ['Escaped \\[1\\] and \\(see there\\).'],
      ['`$x^2$` and\n\n```\n$y^2$\n```'],
      ['$x^2 [\u{e000}0\u{e001}]$'],
    ])
      assert.deepEqual(formulasIn(text), expected, text);
  });
});
