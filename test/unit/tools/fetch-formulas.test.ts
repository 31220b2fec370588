import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const prose =
  'The formula of this paragraph is explained in the sentences that stand around it, which are long enough.';
const page = (formula: string) =>
  `<!doctype html><html><head><title>Formulas</title></head><body><main><h1>Formulas</h1><p>${prose}</p><p>It is ${formula} here. ${prose}</p><p>${prose} And more of it.</p></main></body></html>`;
const math = (inner: string, display = '') =>
  `<math xmlns="http://www.w3.org/1998/Math/MathML"${display}>${inner}</math>`;

/** What renderers and authors put into pages, and the LaTeX it represents. */
const FORMULAS: [name: string, html: string, latex: string][] = [
  ['powers', math('<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn>'), '$x^2+1$'],
  ['a fraction', math('<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>'), '$\\frac{a+b}{2}$'],
  [
    'scripts on both sides',
    math('<mi>y</mi><mmultiscripts><mi>U</mi><mi>i</mi><none/><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>'),
    '$y{}_{92}^{238}U_i$',
  ],
  ['a power of a power', math('<mn>2</mn><msup><msup><mi>x</mi><mn>10</mn></msup><mn>3</mn></msup>'), '$2{x^{10}}^3$'],
  [
    'fences',
    math('<mfenced open="{" close="}" separators="; ,"><mi>a</mi><mi>b</mi><mi>c</mi><mi>d</mi></mfenced>'),
    '$\\{a; b, c, d\\}$',
  ],
  [
    'signs that LaTeX reserves',
    math('<mi>max_n</mi><mo>\\</mo><mi>B</mi><mtext>50% {x}</mtext>'),
    '$max\\_n\\backslash B\\text{50\\% \\{x\\}}$',
  ],
  ['a prefix', '<math:math><math:msup><math:mi>x</math:mi><math:mn>2</math:mn></math:msup></math:math>', '$x^2$'],
  [
    'roots',
    math('<msqrt><mi>x</mi></msqrt><mo>≤</mo><mroot><mi>y</mi><mn>3</mn></mroot>'),
    '$\\sqrt{x}\\leq\\sqrt[3]{y}$',
  ],
  [
    'a sum with limits',
    math(
      '<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>',
    ),
    '$\\sum_{i=1}^nx_i$',
  ],
  ['Greek letters', math('<mi>α</mi><mo>&#x2208;</mo><mi>Ω</mi>'), '$\\alpha\\in\\Omega$'],
  ['letters after named symbols', math('<mi>π</mi><mi>r</mi>'), '$\\pi r$'],
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
    'KaTeX, displayed',
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
  ['MathJax sources', '\\(a^2 + b^2\\)', '$a^2 + b^2$'],
  [
    'MediaWiki',
    '<span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math alttext="{\\displaystyle e^{i\\pi }}"><semantics><mrow><mi>e</mi></mrow><annotation encoding="application/x-tex">{\\displaystyle e^{i\\pi }}</annotation></semantics></math></span><img src="x.svg" class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\\displaystyle e^{i\\pi }}"></span>',
    '$e^{i\\pi }$',
  ],
  ['WordPress', '<img src="https://s0.wp.com/latex.php?latex=x" alt="\\zeta(s)" class="latex">', '$\\zeta(s)$'],
  ['LaTeXML', '<math class="ltx_Math" alttext="\\mathcal{O}(n)"><mi>O</mi></math>', '$\\mathcal{O}(n)$'],
  [
    'MathJax 2 drawn before its source',
    '<span class="MathJax_Preview" style="color: inherit;">[math]</span><span class="MathJax" id="MathJax-Element-1-Frame"><nobr><span class="math"><span class="mi">a</span><span class="mo">=</span></span></nobr><span class="MJX_Assistive_MathML"><math><mi>a</mi></math></span></span><script type="math/tex" id="MathJax-Element-1">a = b^2</script>',
    '$a = b^2$',
  ],
  [
    'MathJax 2 with a MathML source',
    '<span class="math"><span class="MathJax_Preview"></span><span class="MathJax_SVG" data-mathml="&lt;math&gt;&lt;mi&gt;q&lt;/mi&gt;&lt;/math&gt;" role="presentation"><svg><path d="M1 1"></path></svg><span class="MJX_Assistive_MathML"><math><msub><mi>p</mi><mn>0</mn></msub></math></span></span><script type="math/mml"><math><msub><mi>p</mi><mn>0</mn></msub></math></script></span>',
    '$p_0$',
  ],
  [
    'MathJax 2, only drawn',
    '<span class="MathJax_SVG" data-mathml="&lt;math&gt;&lt;msup&gt;&lt;mi&gt;n&lt;/mi&gt;&lt;mn&gt;3&lt;/mn&gt;&lt;/msup&gt;&lt;/math&gt;"><svg></svg></span>',
    '$n^3$',
  ],
  [
    'MathJax 4',
    '<mjx-container class="MathJax" jax="CHTML"><mjx-math data-latex="\\vec{J}=J" aria-hidden="true"><mjx-mi data-latex="J"><mjx-c>𝐽</mjx-c></mjx-mi></mjx-math><mjx-speech aria-label="J, math" role="img"></mjx-speech></mjx-container>',
    '$\\vec{J}=J$',
  ],
  [
    'MathJax 4 as SVG',
    '<mjx-container class="MathJax" jax="SVG" display="true"><svg xmlns="http://www.w3.org/2000/svg"><g data-mml-node="math" data-latex="\\cos(x) &amp;= 1"><g data-mml-node="mi" data-latex="x"><path d="M1"></path></g></g></svg></mjx-container>',
    '$$\\cos(x) &= 1$$',
  ],
  [
    'MathJax 3, only drawn',
    '<mjx-container class="MathJax" jax="CHTML"><mjx-math class="MJX-TEX"><mjx-msup><mjx-mi class="mjx-i"><mjx-c class="mjx-c1D465 TEX-I"></mjx-c></mjx-mi><mjx-script style="vertical-align: 0.363em;"><mjx-mn class="mjx-n"><mjx-c class="mjx-c32"></mjx-c></mjx-mn></mjx-script></mjx-msup><mjx-mo class="mjx-n"><mjx-c class="mjx-c2264"></mjx-c></mjx-mo><mjx-mfrac><mjx-frac><mjx-num><mjx-nstrut></mjx-nstrut><mjx-mn><mjx-c class="mjx-c31"></mjx-c></mjx-mn></mjx-num><mjx-dbox><mjx-dtable><mjx-line></mjx-line><mjx-row><mjx-den><mjx-dstrut></mjx-dstrut><mjx-mi><mjx-c class="mjx-c1D458 TEX-I"></mjx-c></mjx-mi></mjx-den></mjx-row></mjx-dtable></mjx-dbox></mjx-frac></mjx-mfrac></mjx-math></mjx-container>',
    '$x^2\\leq\\frac{1}{k}$',
  ],
  [
    'KaTeX, only drawn',
    '<span class="katex"><span class="katex-html" aria-hidden="true"><span class="base"><span class="strut"></span><span class="mord mathnormal">x</span><span class="mspace"></span><span class="mrel">=</span><span class="mspace"></span></span><span class="base"><span class="mord"><span class="mord mathnormal">a</span><span class="msupsub"><span class="vlist-t"><span class="vlist-r"><span class="vlist"><span><span class="pstrut"></span><span class="mord mtight">2</span></span></span></span></span></span></span><span class="mbin">+</span><span class="mord"><span class="mord mathnormal">b</span><span class="msupsub"><span class="vlist-t vlist-t2"><span class="vlist-r"><span class="vlist"><span><span class="pstrut"></span><span class="mord mtight">0</span></span></span><span class="vlist-s">\u200b</span></span><span class="vlist-r"><span class="vlist"><span></span></span></span></span></span></span></span></span></span>',
    '$x =a^2+b_0$',
  ],
  [
    'a data-math-source attribute',
    '<span role="math" aria-label="x" data-math-source="x = \\sqrt{y}"><span class="katex"><span class="katex-html" aria-hidden="true"><span class="mord">x</span></span></span></span>',
    '$x = \\sqrt{y}$',
  ],
  ['Pandoc for KaTeX', '<span class="math inline">\\hat{y}_i = x^\\top w</span>', '$\\hat{y}_i = x^\\top w$'],
  [
    'Pandoc in plain HTML',
    '<span class="math inline"><em>x</em><sub><em>i</em></sub><sup>2</sup> ≥ 0</span>',
    '$x_i^2 \\geq 0$',
  ],
  ['Sphinx', '<span class="math notranslate nohighlight">\\(\\sum_i x_i\\)</span>', '$\\sum_i x_i$'],
  ['Sphinx as images', '<img class="math" src="_images/math/1.png" alt="k_1 + k_2"/>', '$k_1 + k_2$'],
  ['Stack Exchange', '<span class="math-container">$\\mathbb{P}(A_i) < 1$</span>', '$\\mathbb{P}(A_i) < 1$'],
  ['Discourse', '<span class="math">f_n \\to f</span>', '$f_n \\to f$'],
  [
    'QuickLaTeX',
    '<img src="/ql-cache/quicklatex.com-1_l3.svg" class="ql-img-inline-formula quicklatex-auto-format" alt="&#92;&#79;&#109;&#101;&#103;&#97;&#61;&#86;" title="Rendered by QuickLaTeX.com">',
    '$\\Omega=V$',
  ],
  ['CodeCogs', '<img src="https://latex.codecogs.com/svg.image?\\inline&space;\\frac{a}{b}" alt="">', '$\\frac{a}{b}$'],
  ['Zhihu', '<img src="https://www.zhihu.com/equation?tex=E%3Dmc%5E2" alt="[公式]" eeimg="1">', '$E=mc^2$'],
  [
    'WordPress without alt text',
    '<img src="https://s0.wp.com/latex.php?latex=%5Czeta%28s%29&bg=ffffff&fg=000" alt="">',
    '$\\zeta(s)$',
  ],
  ['Google Charts', '<img src="https://chart.googleapis.com/chart?cht=tx&chl=x%5E2%2B1">', '$x^2+1$'],
  ['Doxygen', '<img class="formulaInl" alt="$ O(n \\log n) $" src="form_0.png">', '$O(n \\log n)$'],
  ['LaTeX2HTML', '<img width="10" alt="$\\displaystyle x_0$" src="img1.png">', '$\\displaystyle x_0$'],
  [
    'WIRIS',
    '<img class="Wirisformula" alt="x squared" data-mathml="«math xmlns=¨http://www.w3.org/1998/Math/MathML¨»«msup»«mi»§#952;«/mi»«mn»2«/mn»«/msup»«/math»">',
    '$\\theta^2$',
  ],
  [
    'tex-math of journals',
    '<inline-formula><tex-math id="M1">\\documentclass[12pt]{minimal} \\usepackage{amsmath} \\begin{document}$$\\beta = 0.5$$\\end{document}</tex-math></inline-formula>',
    '$\\beta = 0.5$',
  ],
  ['GitHub', '<math-renderer class="js-inline-math">$a_1 * b_1 * c$</math-renderer>', '$a_1 * b_1 * c$'],
  ['MathML with a namespace prefix', '<m:math><m:msup><m:mi>x</m:mi><m:mn>3</m:mn></m:msup></m:math>', '$x^3$'],
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

  it('of LaTeXML are lines of their own, with their numbers', () => {
    const row = (maths: string, number: string) =>
      `<tr class="ltx_equation ltx_eqn_row"><td class="ltx_eqn_cell ltx_eqn_center_padleft"></td>${maths}<td class="ltx_eqn_cell ltx_eqn_eqno"><span class="ltx_tag ltx_tag_equation">(${number})</span></td></tr>`;
    const cell = (tex: string) =>
      `<td class="ltx_eqn_cell"><math class="ltx_Math" alttext="${tex}" display="block"><mi>x</mi></math></td>`;
    const html = `before.</p><table class="ltx_equationgroup ltx_eqn_align ltx_eqn_table"><tbody>${row(cell('a') + cell('=b+c'), '1')}${row(cell('d') + cell('=e'), '2')}</tbody></table>
      <table class="ltx_equation ltx_eqn_table"><tbody>${row(cell('P_{Q}(n)=1'), '3')}</tbody></table><p>And`;
    const { content } = readHtml(page(html), 'https://example.org/');
    const lines = content.split('\n').filter((line) => line.includes('$$') || /^\(\d\)$/.test(line));
    assert.deepEqual(lines, ['$$a =b+c$$', '(1)', '$$d =e$$', '(2)', '$$P_{Q}(n)=1$$', '(3)']);
    assert.doesNotMatch(content, /\|/);
  });

  it('stay in loose text of the body', () => {
    const drawn = (display: string) =>
      `<mjx-container><mjx-assistive-mml>${math('<mi>a</mi><mo>≠</mo><mn>0</mn>', display)}</mjx-assistive-mml></mjx-container>`;
    const loose = `<p>When</p>${drawn('')}, there are two solutions to ${drawn('')} and they are ${drawn(' display="block"')}`;
    const parts = ['First', 'Second', 'Third'].map((title) => `<h2>${title}</h2><p></p>${drawn(' display="block"')}`);
    const { content } = readHtml(
      `<html><body><h1>Formulas</h1>${loose}${parts.join('')}</body></html>`,
      'https://example.org/',
    );
    assert.match(content, /When\n\n\$a\\neq0\$, there are two solutions to \$a\\neq0\$ and they are\n\n\$\$a/);
  });

  it('are not read from ordinary words with the class math', () => {
    const { content } = readHtml(page('<div class="math">Mathematics department</div>'), 'https://example.org/');
    assert.match(content, /^Mathematics department$/m);
  });

  it('do not break the page if nested 300 deep', () => {
    const { content } = readHtml(page(math(`${'<mrow>'.repeat(300)}<mi>x</mi>`)), 'https://example.org/');
    assert.match(content, /It is/);
  });
});
