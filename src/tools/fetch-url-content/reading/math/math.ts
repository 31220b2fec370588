import { toSingleLine } from '../../../../base/text.ts';
import { closest, findElement, HtmlElement, lineOf, parseHtml, textOf, textStart } from '../html/tree.ts';
import { texOfAddress } from './formula-images.ts';
import { latexOf } from './mathml.ts';
import { drawnLatex, typesetLatex } from './typeset-formulas.ts';

/** The longest formula, in characters. */
const MAX_LENGTH = 5000;

/** The name of an element whose text is a finished formula, `$...$` or `$$...$$`. */
export const FORMULA = 'finished-formula';

/**
 * Replaces every formula with LaTeX: the source that KaTeX, MathJax, MediaWiki and LaTeXML keep beside what they
 * draw, or a translation of MathML or of the drawing. Without it, formulas vanish or fall apart into their letters.
 */
export function convertFormulas(parent: HtmlElement): void {
  const children: HtmlElement['children'] = [];
  for (const [at, child] of parent.children.entries()) {
    if (typeof child === 'string') {
      children.push(child);
      continue;
    }
    // The outermost element of a renderer is replaced, so that the drawing goes together with its source.
    if (DRAWN.test(child.attribute('class')) && isBeforeSource(parent.children, at)) continue;
    const formula = formulaElement(child, formulaIn(child));
    if (formula) children.push(formula);
    else if (child.name === 'table' && EQUATION_TABLE.test(child.attribute('class'))) {
      const table = new HtmlElement('div', {}, parent);
      table.children = equations(child, table);
      children.push(table);
    } else {
      convertFormulas(child);
      // Pandoc, Discourse and others leave the formula to a script that was not run, or set it with italics.
      const isTypeset = (child.name === 'span' || child.name === 'div') && child.hasClass('math');
      children.push((isTypeset && formulaElement(child, typesetLatex(child))) || child);
    }
  }
  parent.children = children;
}

/** Classes of the elements that renderers wrap formulas in, and attributes with their source. */
const RENDERED =
  /(?:^|\s)(?:mwe-math-element|katex-display|katex|MathJax_Display|MathJax_SVG_Display|MathJax|MathJax_SVG|MathJax_CHTML|mjx-chtml|math-container|temml)(?:\s|$)/;
const SOURCES = ['data-latex', 'data-tex', 'data-formula-source', 'data-math-source', 'data-math'];

/** Drawings of MathJax 2, which stand before the script with the source. */
const DRAWN =
  /(?:^|\s)(?:MathJax_Preview|MathJax_Display|MathJax_SVG_Display|MathJax|MathJax_SVG|MathJax_CHTML|mjx-chtml|MathJax_PHTML|MathJax_PlainSource)(?:\s|$)/;

/** Tables that only number and align equations: LaTeXML. */
const EQUATION_TABLE = /(?:^|\s)ltx_(?:equation|eqn_table|equationgroup)(?:\s|$)/;

const MATH_IMAGE =
  /(?:^|\s)(?:mwe-math|tex|latex|math|ltx_Math|equation|ql-img|quicklatex|formulaInl|formulaDsp|asciimath|wirisformula)(?![a-z])/i;

const DISPLAYED =
  /(?:^|\s)(?:katex-display|MathJax_Display|MathJax_SVG_Display|mwe-math-element-block|ql-img-displayed-equation|formulaDsp|math-display|ltx_equation|displaymath|disp-formula|math-block)(?:\s|$)/;

/** The LaTeX that an element as a whole represents; else empty. */
function formulaIn(element: HtmlElement): string {
  switch (element.name) {
    case 'math':
      return sourceOf(element) || latexOf(element);
    case 'tex-math':
      return withoutPreamble(textOf(element));
    case 'img':
      return imageSource(element);
  }
  const isRendered =
    element.name === 'mjx-container' ||
    RENDERED.test(element.attribute('class')) ||
    SOURCES.some((name) => holdsSource(element, name));
  if (!isRendered) return '';
  return sourceOf(element) || latexOf(mathIn(element)) || drawnLatex(element);
}

/** How much longer than its source the drawing of a formula is at most, in characters; an element with more is a part of the page. */
const MAX_DRAWING = 200;
const DRAWN_PER_LETTER = 10;

/** Whether an attribute is the source of the formula that the element draws, not a setting such as `data-math="true"`. */
function holdsSource(element: HtmlElement, name: string): boolean {
  const source = element.attributes[name];
  if (source === undefined) return false;
  const limit = MAX_DRAWING + DRAWN_PER_LETTER * source.length;
  return textStart(element, limit).length < limit;
}

function formulaElement(element: HtmlElement, latex: string): HtmlElement | undefined {
  const source = tidy(latex);
  if (source === '' || source.length > MAX_LENGTH) return undefined;
  const formula = new HtmlElement(FORMULA, {}, element.parent);
  formula.children = [isDisplay(element) ? `$$${source}$$` : `$${source}$`];
  return formula;
}

function mathIn(element: HtmlElement): HtmlElement | undefined {
  return findElement(element, ({ name }) => name === 'math');
}

/** Whether the source of a drawing follows it, perhaps after other drawings. */
function isBeforeSource(siblings: HtmlElement['children'], at: number): boolean {
  const following = siblings.slice(at + 1, at + 8).filter((candidate) => typeof candidate !== 'string');
  const next = following.slice(0, 3).find((candidate) => !/MathJax|mjx/i.test(candidate.attribute('class')));
  return next?.attributes['data-formula-script'] !== undefined;
}

/** One formula for each row of a table of equations, with its number and texts as paragraphs. */
function equations(table: HtmlElement, parent: HtmlElement): HtmlElement[] {
  const lines: HtmlElement[] = [];
  const add = (name: string, text: string) => {
    const line = new HtmlElement(name, {}, parent);
    line.children = [text];
    lines.push(line);
  };
  const visit = (element: HtmlElement) => {
    const isText = /(?:^|\s)ltx_(?:tag_equation|tag_equationgroup|text)(?:\s|$)/.test(element.attribute('class'));
    if (isText) add('p', lineOf(element));
    else if (element.name !== 'tr') for (const child of element.elements) visit(child);
    else {
      const latex = mathElementsIn(element).map((math) => tidy(sourceOf(math) || latexOf(math)));
      if (latex.length > 0) add(FORMULA, `$$${latex.join(' ')}$$`);
      for (const cell of element.elements.filter((candidate) => !mathIn(candidate))) visit(cell);
    }
  };
  visit(table);
  return lines;
}

function mathElementsIn(element: HtmlElement): HtmlElement[] {
  return element.elements.flatMap((child) => (child.name === 'math' ? [child] : mathElementsIn(child)));
}

function imageSource(image: HtmlElement): string {
  const drawn = mathInAttribute(image);
  if (drawn !== '') return drawn;
  const address = image.attribute('src') || image.attribute('data-src');
  const alt = image.attribute('alt').trim();
  const names = `${image.attribute('class')} ${image.parent?.attribute('class')}`.slice(0, 1000);
  const isFormula =
    MATH_IMAGE.test(names) ||
    /^\$.+\$$|^\\[([].+\\[)\]]$|\\(?:frac|sum|int|sqrt|mathbb|mathrm|mathbf|alpha|beta|left|begin|displaystyle|operatorname)\b/.test(
      alt.slice(0, MAX_LENGTH),
    );
  // A description in words is worth less than the source in the address.
  const inAddress = texOfAddress(address);
  if (alt !== '' && isFormula && (inAddress === '' || /[\\^_=]/.test(alt))) return withoutMarks(alt);
  return inAddress;
}

function withoutMarks(text: string): string {
  return text.replace(/^(?:\$+|\\[([])|(?:\$+|\\[)\]])$/g, '').trim();
}

/** The formula of a complete TeX document, as journals write it, without the preamble. */
function withoutPreamble(text: string): string {
  const source = text.slice(0, MAX_LENGTH * 2);
  const start = source.indexOf('\\begin{document}');
  const end = source.lastIndexOf('\\end{document}');
  return withoutMarks((start === -1 || end < start ? source : source.slice(start + 16, end)).trim());
}

/** Translates MathML in an attribute, as MathJax 2 keeps it, and WIRIS editors, which write `«` for `<`. */
function mathInAttribute(element: HtmlElement): string {
  const alt = element.attribute('alt');
  const encoded = element.attributes['data-mathml'] ?? (alt.startsWith('«math') ? alt : '');
  if (encoded === '' || encoded.length > MAX_LENGTH * 4) return '';
  const markup = encoded.replaceAll('«', '<').replaceAll('»', '>').replaceAll('¨', '"').replaceAll('§', '&');
  const page = parseHtml(markup);
  return page ? latexOf(mathIn(page.body)) : '';
}

function isDisplay(element: HtmlElement): boolean {
  const math = element.name === 'math' ? element : mathIn(element);
  return (
    math?.attribute('display') === 'block' ||
    element.attribute('display') === 'true' ||
    (element.name === 'div' && element.hasClass('math')) ||
    element.hasClass('display') ||
    closest(element, ({ name, attributes }) => name === 'disp-formula' || DISPLAYED.test(attributes.class ?? '')) !==
      undefined
  );
}

/** The TeX source of a formula from wherever its renderer keeps it. */
function sourceOf(element: HtmlElement): string {
  const annotation = findElement(
    element,
    ({ name, attributes }) => name === 'annotation' && /tex$/i.test(attributes.encoding ?? ''),
  );
  const inside = (name: string) => findElement(element, ({ attributes }) => attributes[name] !== undefined);
  const image = findElement(element, ({ name, attributes }) => name === 'img' && attributes.alt !== undefined);
  const sources = [
    annotation && textOf(annotation),
    ...[...SOURCES, 'alttext'].map((name) => element.attributes[name]),
    inside('data-latex')?.attribute('data-latex'),
    mathIn(element)?.attribute('alttext'),
    mathInAttribute(element),
    image?.attribute('alt'),
  ];
  return sources.find((candidate) => candidate !== undefined && candidate.trim() !== '') ?? '';
}

function tidy(latex: string): string {
  const line = toSingleLine(latex);
  const inner = /^\{\\(?:displaystyle|textstyle) (.*)\}$/.exec(line)?.[1] ?? line;
  return inner.trim();
}
