import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lexer } from 'marked';
import { FORMULAS } from '../../../src/protocol/formula/formulas.js';
import { mathOf } from '../../../src/protocol/formula/latex.js';
import type { MarkupNode } from '../../../src/protocol/markup-node.ts';

/** The elements of a formula with their texts: `mfrac(mi:a mi:b)`. */
function shape(source: string, display = false): string | undefined {
  const written = (made: MarkupNode | string): string => {
    if (typeof made === 'string') return made;
    const texts = made.children.every((child) => typeof child === 'string');
    return texts ? `${made.tag}:${made.children.join('')}` : `${made.tag}(${made.children.map(written).join(' ')})`;
  };
  const made = mathOf(source, { display });
  return made?.children.map(written).join(' ');
}

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
  it('become MathML', () => {
    for (const [source, expected] of [
      ['E = mc^2', 'mi:E mo:= mi:m msup(mi:c mn:2)'],
      ['\\frac{a}{b}', 'mfrac(mrow(mi:a) mrow(mi:b))'],
      ["x_1^2 + f'", 'msubsup(mi:x mn:1 mn:2) mo:+ msup(mi:f mo:′)'],
      ['\\sqrt[3]{x}', 'mroot(mrow(mi:x) mn:3)'],
      ['\\alpha \\leq 3.5\\,\\text{kg}', 'mi:α mo:≤ mn:3.5 mspace: mtext:kg'],
      ['\\mathbb{R}^n', 'msup(mrow(mi:ℝ) mi:n)'],
      ['\\frac12^10', 'msup(mfrac(mn:1 mn:2) mn:1) mn:0'],
      ['\\left( a \\right]', 'mrow(mo:( mi:a mo:])'],
      [
        '\\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}',
        'mrow(mo:( mtable(mtr(mtd(mn:1) mtd(mn:0)) mtr(mtd(mn:0) mtd(mn:1))) mo:))',
      ],
      ['a \\% b \\_', 'mi:a mo:% mi:b mo:_'],
    ] as const)
      assert.equal(shape(source), expected, source);
    assert.equal(shape('\\sum_{i=1}^n i', true), 'munderover(mo:∑ mrow(mi:i mo:= mn:1) mi:n) mi:i');
    assert.equal(shape('\\sum_i i'), 'msub(mo:∑ mi:i) mi:i');
    assert.equal(shape('\\int_0^1 x', true), 'msubsup(mo:∫ mn:0 mn:1) mi:x');
  });

  it('are left as written if they cannot be parsed', () => {
    for (const source of [
      '\\href{javascript:x}{y}',
      '\\unknown',
      '{a',
      'a}',
      'x^',
      '\\frac{a}',
      '\\left( a',
      '\\begin{foo}\\end{foo}',
      'a_1_2',
      '{'.repeat(500),
      'x'.repeat(3000),
    ])
      assert.equal(shape(source), undefined, source.slice(0, 40));
    const piece = fc.constantFrom(
      '\\frac',
      '{',
      '}',
      '^',
      '_',
      '\\left(',
      '\\right)',
      '\\begin{cases}',
      '\\end{cases}',
      '&',
      '\\\\',
      'x',
      '\\text{<b>',
      "'",
      '\\sqrt[',
      `${'\\sqrt'.repeat(390)} x`,
      ']',
      '\\',
      '\u0000',
      '𝒳',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => void shape(pieces.join(''), true)),
      { numRuns: 2000 },
    );
  });

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
