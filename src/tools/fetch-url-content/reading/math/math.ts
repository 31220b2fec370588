import { type DomDocument, type DomElement, parseHtmlDocument } from '../html/dom.ts';
import { texOfAddress } from './formula-images.ts';
import { latexOf } from './mathml.ts';
import { drawnLatex, typesetLatex } from './typeset-formulas.ts';

/** The longest formula, in characters. */
const MAX_LENGTH = 5000;

/** Marks an element whose text is a finished formula, `$...$` or `$$...$$`. */
export const FORMULA = 'data-formula';

/**
 * Puts LaTeX in the place of every formula: the source that KaTeX, MathJax, MediaWiki and LaTeXML keep beside what they
 * draw, or a translation of MathML or of what is drawn. Without it, formulas vanish or fall apart into their letters.
 */
export function convertFormulas(root: DomElement, document: DomDocument): void {
  const put = (element: DomElement, latex: string, isDisplay: boolean) => {
    const source = tidy(latex);
    if (source === '' || source.length > MAX_LENGTH) return;
    const formula = document.createElement('code');
    formula.setAttribute(FORMULA, '');
    formula.textContent = isDisplay ? `$$${source}$$` : `$${source}$`;
    element.replaceWith(formula);
  };
  for (const drawing of [...root.querySelectorAll(DRAWN)]) {
    if (root.contains(drawing) && isBeforeSource(drawing)) drawing.remove();
  }
  for (const lines of [...root.querySelectorAll(EQUATION_TABLES)])
    if (root.contains(lines)) unwrapEquations(lines, put);
  // The whole of what a renderer made, so that its drawing goes with its source.
  for (const made of [...root.querySelectorAll(RENDERED)]) {
    if (!root.contains(made) || made.querySelector(`[${FORMULA}]`)) continue;
    const latex = sourceOf(made) || latexOf(made.querySelector('math')) || drawnLatex(made);
    if (latex !== '') put(made, latex, isDisplay(made));
  }
  for (const math of [...root.querySelectorAll('math')]) {
    if (root.contains(math)) put(math, sourceOf(math) || latexOf(math), isDisplay(math));
  }
  for (const source of [...root.querySelectorAll('tex-math')]) {
    put(source, withoutPreamble(source.textContent), source.closest('disp-formula, .disp-formula') !== null);
  }
  // Pandoc, Discourse and others leave the formula to a script that was not run, or set it with italics.
  for (const element of [...root.querySelectorAll('span.math, div.math')]) {
    if (!root.contains(element)) continue;
    const latex = typesetLatex(element);
    if (latex !== '') put(element, latex, element.tagName === 'DIV' || isDisplay(element));
  }
  for (const image of [...root.querySelectorAll('img')]) {
    const latex = imageSource(image);
    if (latex !== '') put(image, latex, isDisplay(image));
  }
}

/** What renderers wrap formulas in. The outer ones first. */
const RENDERED =
  '.mwe-math-element, .katex-display, .katex, mjx-container, .MathJax_Display, .MathJax_SVG_Display, .MathJax, ' +
  '.MathJax_SVG, .MathJax_CHTML, .mjx-chtml, .math-container, script[type^="math/"], [data-latex], [data-tex], ' +
  '[data-formula-source], [data-math-source]';

/** What MathJax 2 draws before the script that holds the source. */
const DRAWN =
  '.MathJax_Preview, .MathJax_Display, .MathJax_SVG_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML, .mjx-chtml, .MathJax_PHTML, .MathJax_PlainSource';
/** Marks what was such a script. */
export const FORMULA_SCRIPT = 'data-formula-script';

/** Tables that only number and align equations: LaTeXML. */
const EQUATION_TABLES = 'table.ltx_equation, table.ltx_eqn_table, table.ltx_equationgroup';

const MATH_IMAGE =
  /(?:^|\s)(?:mwe-math|tex|latex|math|ltx_Math|equation|ql-img|quicklatex|formulaInl|formulaDsp|asciimath)/i;

/** Whether the source of a drawing follows it, maybe behind other drawings. */
function isBeforeSource(drawing: DomElement): boolean {
  let next = drawing.nextElementSibling;
  for (let steps = 0; next !== null && steps < 3; steps += 1) {
    if (next.hasAttribute(FORMULA_SCRIPT)) return true;
    if (!/MathJax|mjx/i.test(next.className)) return false;
    next = next.nextElementSibling;
  }
  return false;
}

/** One formula for each line of a table of equations, with the number that stands beside it. */
function unwrapEquations(table: DomElement, put: (element: DomElement, latex: string, isDisplay: boolean) => void) {
  for (const row of [...table.querySelectorAll('tr')]) {
    const parts = [...row.querySelectorAll('math')];
    const [first, ...rest] = parts;
    if (first === undefined || first.closest('tr') !== row) continue;
    const latex = parts.map((math) => tidy(sourceOf(math) || latexOf(math))).join(' ');
    for (const part of rest) part.remove();
    put(first, latex, true);
  }
  const texts = [...table.querySelectorAll(`[${FORMULA}], .ltx_tag_equation, .ltx_tag_equationgroup, .ltx_text`)];
  if (texts.length > 0) table.replaceWith(...texts);
}

function imageSource(image: DomElement): string {
  const drawn = mathInAttribute(image);
  if (drawn !== '') return drawn;
  const address = image.getAttribute('src') ?? image.getAttribute('data-src') ?? '';
  const alt = (image.getAttribute('alt') ?? '').trim();
  const names = `${image.className} ${image.parentElement?.className ?? ''}`.slice(0, 1000);
  const isFormula =
    MATH_IMAGE.test(names) ||
    /^\$.+\$$|^\\[([].+\\[)\]]$|\\(?:frac|sum|int|sqrt|mathbb|mathrm|mathbf|alpha|beta|left|begin|displaystyle|operatorname)\b/.test(
      alt.slice(0, MAX_LENGTH),
    );
  // An image that is described in words beside an address with the source says less.
  const inAddress = texOfAddress(address);
  if (alt !== '' && isFormula && (inAddress === '' || /[\\^_=]/.test(alt))) return withoutMarks(alt);
  return inAddress;
}

function withoutMarks(text: string): string {
  return text.replace(/^(?:\$+|\\[([])|(?:\$+|\\[)\]])$/g, '').trim();
}

/** The formula of a document of its own, as journals write it: the preamble says nothing. */
function withoutPreamble(text: string): string {
  const source = text.slice(0, MAX_LENGTH * 2);
  const start = source.indexOf('\\begin{document}');
  const end = source.lastIndexOf('\\end{document}');
  return withoutMarks((start === -1 || end < start ? source : source.slice(start + 16, end)).trim());
}

/** MathML in an attribute: MathJax 2, and editors of schools that write `«` for `<`. */
function mathInAttribute(element: DomElement): string {
  const alt = element.getAttribute('alt') ?? '';
  const given = element.getAttribute('data-mathml') ?? (alt.startsWith('«math') ? alt : '');
  if (given === '' || given.length > MAX_LENGTH * 4) return '';
  const markup = given.replaceAll('«', '<').replaceAll('»', '>').replaceAll('¨', '"').replaceAll('§', '&');
  return latexOf(parseHtmlDocument(`<html><body>${markup}</body></html>`).querySelector('math'));
}

function isDisplay(element: DomElement): boolean {
  const math = element.tagName === 'MATH' ? element : element.querySelector('math');
  const type = element.getAttribute('type') ?? '';
  return (
    math?.getAttribute('display') === 'block' ||
    element.getAttribute('display') === 'true' ||
    /mode=display/.test(type) ||
    /(?:^|\s)(?:katex-display|MathJax_Display|MathJax_SVG_Display|mwe-math-element-block|display|ql-img-displayed-equation|formulaDsp)(?:\s|$)/.test(
      element.className,
    ) ||
    element.closest(
      '.katex-display, .MathJax_Display, .MathJax_SVG_Display, .math-display, .ltx_equation, .displaymath',
    ) !== null
  );
}

/** The TeX that stands beside a formula, in one of the places where renderers keep it. */
function sourceOf(element: DomElement): string {
  const kept = [
    element.querySelector(
      'annotation[encoding="application/x-tex"], annotation[encoding="TeX"], annotation[encoding="LaTeX"]',
    )?.textContent,
    element.tagName === 'SCRIPT' ? element.textContent : undefined,
    ...['data-latex', 'data-tex', 'data-formula-source', 'data-math-source', 'alttext'].map((name) =>
      element.getAttribute(name),
    ),
    element.querySelector('[data-latex]')?.getAttribute('data-latex'),
    element.querySelector('math')?.getAttribute('alttext'),
    mathInAttribute(element),
    element
      .querySelector('img.mwe-math-fallback-image-inline, img.mwe-math-fallback-image-display, img[alt]')
      ?.getAttribute('alt'),
  ];
  return kept.find((each) => typeof each === 'string' && each.trim() !== '') ?? '';
}

function tidy(latex: string): string {
  const line = latex.replace(/\s+/g, ' ').trim();
  const inner = /^\{\\(?:displaystyle|textstyle) (.*)\}$/.exec(line)?.[1] ?? line;
  return inner.trim();
}
