import { type DomElement, type DomNode, isElement, TEXT } from '../html/dom.ts';
import { base, characters, group, join } from './mathml.ts';

const MAX_DEPTH = 60;
/** The longest text of a formula, in characters. */
const LONGEST = 2000;

/** A formula that KaTeX or MathJax drew without keeping its source: places of letters, from which it is read. */
export function drawnLatex(made: DomElement): string {
  const drawing = made.querySelector('.katex-html, mjx-math');
  if (drawing?.querySelector('.katex-html, mjx-math')) return '';
  return drawing && drawing.textContent.length <= LONGEST ? drawn(drawing, 0).trim() : '';
}

function drawn(node: DomNode, depth: number): string {
  if (node.nodeType === TEXT) return letters(node.textContent);
  if (!isElement(node) || depth > MAX_DEPTH) return '';
  const inside = (of: DomElement) => join([...of.childNodes].map((child) => drawn(child, depth + 1))).trim();
  return node.tagName.startsWith('MJX-') ? drawnByMathJax(node, inside) : drawnByKatex(node, inside);
}

type Inside = (element: DomElement) => string;

function drawnByKatex(node: DomElement, inside: Inside): string {
  const names = node.className.split(/\s+/);
  if (names.includes('pstrut') || names.includes('strut') || names.includes('vlist-s')) return '';
  const rows = () => rowsOf(node).map(inside);
  if (names.includes('mfrac')) {
    const [below = '', ...above] = rows().filter((row) => row !== '');
    return `\\frac{${above.at(-1) ?? ''}}{${below}}`;
  }
  if (names.includes('msupsub')) return scripts(rows(), node.querySelector('.vlist-t2') !== null);
  if (names.includes('sqrt')) return `\\sqrt{${inside(node)}}`;
  if (names.includes('op-limits')) {
    const [below = '', operator = '', above] = rows();
    return `${base(operator)}_${group(below)}${above ? `^${group(above)}` : ''}`;
  }
  return names.includes('mspace') ? ' ' : inside(node);
}

function drawnByMathJax(node: DomElement, inside: Inside): string {
  const part = (selector: string) => {
    const found = node.querySelector(selector);
    return found ? inside(found) : '';
  };
  switch (node.tagName) {
    case 'MJX-C': {
      const code = /mjx-c([\dA-F]{2,5})\b/.exec(node.className)?.[1];
      return letters(node.textContent || (code ? String.fromCodePoint(Number.parseInt(code, 16)) : ''));
    }
    case 'MJX-MFRAC':
      return `\\frac{${part('mjx-num')}}{${part('mjx-den')}}`;
    case 'MJX-MSQRT':
      return `\\sqrt{${part('mjx-box')}}`;
    case 'MJX-MSUB':
    case 'MJX-MSUP':
    case 'MJX-MSUBSUP': {
      const [below, ...scripts] = [...node.children];
      const raised = scripts
        .flatMap((script) => [...script.children])
        .map(inside)
        .filter((each) => each !== '');
      const sign = node.tagName === 'MJX-MSUB' ? '_' : '^';
      const [first = '', second] = raised;
      const text = base(below ? inside(below) : '');
      return second === undefined ? `${text}${sign}${group(first)}` : `${text}_${group(second)}^${group(first)}`;
    }
    case 'MJX-ASSISTIVE-MML':
    case 'MJX-SPEECH':
    case 'MJX-SURD':
      return '';
    default:
      return inside(node);
  }
}

/** Letters of formulas have signs of their own. */
function letters(text: string): string {
  return characters(text.replace(/\s+/g, ' ').replace(/[\u{1d400}-\u{1d7ff}]/gu, (sign) => sign.normalize('NFKC')));
}

/** What stands above each other in a drawing, the lowest first. */
function rowsOf(node: DomElement): DomElement[] {
  return [...(node.querySelector('.vlist')?.children ?? [])];
}

function scripts(rows: readonly string[], isBelow: boolean): string {
  const [first = '', second] = rows;
  if (second !== undefined) return `_${group(first)}^${group(second)}`;
  return `${isBelow ? '_' : '^'}${group(first)}`;
}

/** Elements that set a formula in plain HTML. */
const PLAIN = new Set('EM I SUB SUP SPAN STRONG B BR'.split(' '));

/**
 * A formula in an element with the class `math`: its source, or its letters with those raised and lowered. Empty where it
 * says itself where it begins and ends, or where it is more than a formula.
 */
export function typesetLatex(element: DomElement): string {
  // Before its text is looked at: one may stand in another one, many times.
  if (element.querySelector('div, p, .math') !== null) return '';
  const text = element.textContent.trim();
  if (text === '' || text.length > LONGEST || /^\s*(?:\$|\\[([])/.test(text)) return '';
  const inside = [...element.querySelectorAll('*')];
  const isMarked = /(?:^|\s)(?:inline|display)(?:\s|$)/.test(element.className);
  if (inside.length === 0) return isMarked || text.length < 4 || /[\\^_]/.test(text) ? text : '';
  if (inside.some(({ tagName }) => !PLAIN.has(tagName))) return '';
  return typeset(element, 0).trim();
}

function typeset(node: DomNode, depth: number): string {
  if (node.nodeType === TEXT) return letters(node.textContent);
  if (!isElement(node) || depth > MAX_DEPTH) return '';
  const inner = join([...node.childNodes].map((child) => typeset(child, depth + 1)));
  if (node.tagName === 'SUP') return `^${group(inner.trim())}`;
  if (node.tagName === 'SUB') return `_${group(inner.trim())}`;
  return node.tagName === 'STRONG' || node.tagName === 'B' ? `\\mathbf{${inner}}` : inner;
}
