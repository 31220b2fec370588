import { collapseSpaces } from '../../../../base/text.ts';
import { elementsBelow, findElement, type HtmlElement, type HtmlNode, textOf } from '../html/tree.ts';
import { brace, joinLatex, latexText, scriptBase } from './mathml.ts';

const MAX_DEPTH = 60;
/** The longest text of a formula, in characters. */
const MAX_LENGTH = 2000;

/** Reconstructs a formula that KaTeX or MathJax drew without keeping its source, from the places of its letters. */
export function drawnLatex(rendered: HtmlElement): string {
  const isDrawing = (element: HtmlElement) => element.name === 'mjx-math' || element.hasClass('katex-html');
  const drawing = findElement(rendered, isDrawing);
  if (!drawing || findElement(drawing, isDrawing)) return '';
  return textOf(drawing).length <= MAX_LENGTH ? readNode(drawing, 0).trim() : '';
}

function readNode(node: HtmlNode, depth: number): string {
  if (typeof node === 'string') return letters(node);
  if (depth > MAX_DEPTH) return '';
  const inside = (parent: HtmlElement) => joinLatex(parent.children.map((child) => readNode(child, depth + 1))).trim();
  return node.name.startsWith('mjx-') ? readMathJax(node, inside) : readKatex(node, inside);
}

type Inside = (element: HtmlElement) => string;

function readKatex(node: HtmlElement, inside: Inside): string {
  const names = node.attribute('class').split(/\s+/);
  if (names.includes('pstrut') || names.includes('strut') || names.includes('vlist-s')) return '';
  const rows = () => rowsOf(node).map(inside);
  if (names.includes('mfrac')) {
    const [below = '', ...above] = rows().filter((row) => row !== '');
    return `\\frac{${above.at(-1) ?? ''}}{${below}}`;
  }
  if (names.includes('msupsub'))
    return scripts(rows(), findElement(node, (node) => node.hasClass('vlist-t2')) !== undefined);
  if (names.includes('sqrt')) return `\\sqrt{${inside(node)}}`;
  if (names.includes('op-limits')) {
    const [below = '', operator = '', above] = rows();
    return `${scriptBase(operator)}_${brace(below)}${above ? `^${brace(above)}` : ''}`;
  }
  return names.includes('mspace') ? ' ' : inside(node);
}

function readMathJax(node: HtmlElement, inside: Inside): string {
  const part = (name: string) => {
    const found = findElement(node, (node) => node.name === name);
    return found ? inside(found) : '';
  };
  switch (node.name) {
    case 'mjx-c': {
      const code = /mjx-c([\dA-F]{2,5})\b/.exec(node.attribute('class'))?.[1];
      return letters(textOf(node) || (code ? String.fromCodePoint(Number.parseInt(code, 16)) : ''));
    }
    case 'mjx-mfrac':
      return `\\frac{${part('mjx-num')}}{${part('mjx-den')}}`;
    case 'mjx-msqrt':
      return `\\sqrt{${part('mjx-box')}}`;
    case 'mjx-msub':
    case 'mjx-msup':
    case 'mjx-msubsup': {
      const [below, ...scripts] = node.elements;
      const raised = scripts
        .flatMap((script) => script.elements)
        .map(inside)
        .filter((node) => node !== '');
      const sign = node.name === 'mjx-msub' ? '_' : '^';
      const [first = '', second] = raised;
      const text = scriptBase(below ? inside(below) : '');
      return second === undefined ? `${text}${sign}${brace(first)}` : `${text}_${brace(second)}^${brace(first)}`;
    }
    case 'mjx-assistive-mml':
    case 'mjx-speech':
    case 'mjx-surd':
      return '';
    default:
      return inside(node);
  }
}

/** Replaces mathematical letters with ordinary ones, and symbols with their names. */
function letters(text: string): string {
  return latexText(collapseSpaces(text).replace(/[\u{1d400}-\u{1d7ff}]/gu, (sign) => sign.normalize('NFKC')));
}

/** The rows of a drawing, the lowest first. */
function rowsOf(node: HtmlElement): HtmlElement[] {
  return findElement(node, (node) => node.hasClass('vlist'))?.elements ?? [];
}

function scripts(rows: readonly string[], isBelow: boolean): string {
  const [first = '', second] = rows;
  if (second !== undefined) return `_${brace(first)}^${brace(second)}`;
  return `${isBelow ? '_' : '^'}${brace(first)}`;
}

/** Elements that typeset a formula in plain HTML. */
const PLAIN = new Set('em i sub sup span strong b br'.split(' '));

/**
 * The formula in an element with the class `math`: its source, or its letters with superscripts and subscripts. Empty if
 * it has delimiters of its own, or contains more than a formula.
 */
export function typesetLatex(element: HtmlElement): string {
  const inside = elementsBelow(element);
  if (inside.some((node) => node.name === 'div' || node.name === 'p' || node.hasClass('math'))) return '';
  const text = textOf(element).trim();
  if (text === '' || text.length > MAX_LENGTH || /^\s*(?:\$|\\[([])/.test(text)) return '';
  const isMarked = element.hasClass('inline') || element.hasClass('display');
  if (inside.length === 0) return isMarked || text.length < 4 || /[\\^_]/.test(text) ? text : '';
  if (inside.some(({ name }) => !PLAIN.has(name))) return '';
  return readTypeset(element, 0).trim();
}

function readTypeset(node: HtmlNode, depth: number): string {
  if (typeof node === 'string') return letters(node);
  if (depth > MAX_DEPTH) return '';
  const inner = joinLatex(node.children.map((child) => readTypeset(child, depth + 1)));
  if (node.name === 'sup') return `^${brace(inner.trim())}`;
  if (node.name === 'sub') return `_${brace(inner.trim())}`;
  return node.name === 'strong' || node.name === 'b' ? `\\mathbf{${inner}}` : inner;
}
