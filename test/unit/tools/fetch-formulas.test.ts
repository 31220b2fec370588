import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html.ts';

const prose =
  'The formula of this paragraph is explained in the sentences that stand around it, which are long enough.';
const page = (formula: string) =>
  `<!doctype html><html><head><title>Formulas</title></head><body><main><h1>Formulas</h1><p>${prose}</p><p>It is ${formula} here. ${prose}</p><p>${prose} And more of it.</p></main></body></html>`;
const math = (inner: string, display = '') =>
  `<math xmlns="http://www.w3.org/1998/Math/MathML"${display}>${inner}</math>`;

/** What renderers and authors put into pages, and the LaTeX that it stands for. */
const FORMULAS: [name: string, html: string, latex: string][] = [
  ['MathML of powers', math('<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn>'), '$x^2+1$'],
  ['a fraction', math('<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>'), '$\\frac{a+b}{2}$'],
  [
    'roots',
    math('<msqrt><mi>x</mi></msqrt><mo>≤</mo><mroot><mi>y</mi><mn>3</mn></mroot>'),
    '$\\sqrt{x}\\le\\sqrt[3]{y}$',
  ],
  [
    'a sum with limits',
    math(
      '<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>',
    ),
    '$\\sum_{i=1}^nx_i$',
  ],
  ['Greek letters', math('<mi>α</mi><mo>&#x2208;</mo><mi>Ω</mi>'), '$\\alpha\\in\\Omega$'],
  ['letters behind names', math('<mi>π</mi><mi>r</mi>'), '$\\pi r$'],
  ['a function', math('<mi>sin</mi><mo>&#x2061;</mo><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>'), '$\\sin(x)$'],
  ['accents', math('<mover><mi>x</mi><mo>ˆ</mo></mover>'), '$\\hat{x}$'],
  [
    'a binomial',
    math('<mo>(</mo><mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac><mo>)</mo>'),
    '$(\\binom{n}{k})$',
  ],
  [
    'a matrix',
    math(
      '<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr></mtable>',
    ),
    '$\\begin{matrix} 1 & 0 \\\\ 0 & 1 \\end{matrix}$',
  ],
  [
    'MathML with its source',
    math(
      '<semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">E = mc^2</annotation></semantics>',
    ),
    '$E = mc^2$',
  ],
  [
    'KaTeX',
    '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>c</mi></mrow><annotation encoding="application/x-tex">c = \\pm\\sqrt{a^2}</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span class="base">c=±a2</span></span></span>',
    '$c = \\pm\\sqrt{a^2}$',
  ],
  [
    'KaTeX on a line of its own',
    '<span class="katex-display"><span class="katex"><span class="katex-mathml"><math display="block"><semantics><mrow></mrow><annotation encoding="application/x-tex">\\int_0^1 x</annotation></semantics></math></span></span></span>',
    '$$\\int_0^1 x$$',
  ],
  ['MathJax 2', '<span class="MathJax_Preview"></span><script type="math/tex">a_1 < b_2</script>', '$a_1 < b_2$'],
  ['MathJax 2, displayed', '<script type="math/tex; mode=display">\\oint f</script>', '$$\\oint f$$'],
  [
    'MathJax 3',
    '<mjx-container class="MathJax" jax="CHTML"><mjx-math aria-hidden="true"><mjx-mi>x</mjx-mi></mjx-math><mjx-assistive-mml><math><msup><mi>x</mi><mi>k</mi></msup></math></mjx-assistive-mml></mjx-container>',
    '$x^k$',
  ],
  ['MathJax sources', '\\(a^2 + b^2\\)', '\\(a^2 + b^2\\)'],
  [
    'MediaWiki',
    '<span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math alttext="{\\displaystyle e^{i\\pi }}"><semantics><mrow><mi>e</mi></mrow><annotation encoding="application/x-tex">{\\displaystyle e^{i\\pi }}</annotation></semantics></math></span><img src="x.svg" class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\\displaystyle e^{i\\pi }}"></span>',
    '$e^{i\\pi }$',
  ],
  ['WordPress', '<img src="https://s0.wp.com/latex.php?latex=x" alt="\\zeta(s)" class="latex">', '$\\zeta(s)$'],
  ['LaTeXML', '<math class="ltx_Math" alttext="\\mathcal{O}(n)"><mi>O</mi></math>', '$\\mathcal{O}(n)$'],
  ['a namespace', '<m:math><m:msup><m:mi>x</m:mi><m:mn>3</m:mn></m:msup></m:math>', '$x^3$'],
];

describe('fetch_url_content: formulas', () => {
  for (const [name, html, latex] of FORMULAS) {
    it(`become LaTeX: ${name}`, () => {
      const { content } = readHtml(page(html), 'https://example.org/');
      assert.match(content, /It is\s/);
      const [, formula = ''] = /It is\s+([\s\S]*?)\s+here\./.exec(content) ?? [];
      assert.equal(formula, latex);
    });
  }

  it('do not loop or recurse without end', () => {
    const { content } = readHtml(page(math(`${'<mrow>'.repeat(300)}<mi>x</mi>`)), 'https://example.org/');
    assert.match(content, /It is/);
  });
});
