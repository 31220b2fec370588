import { joinSpaces, onOneLine } from '../../../../base/text.ts';
import { beginningOf, type HtmlElement, type HtmlNode, lineOf, textOf } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { subscript, superscript } from './scripts.ts';
import { isShown } from './shown.ts';

/** What is known around a piece of text. */
export interface Around {
  /** What relative links start from. */
  url: string;
  /** Marks of emphasis that are set already, or that mean nothing here. */
  marks?: string;
}

/** Marks of emphasis by their elements. */
const MARKS = new Map(Object.entries({ strong: '**', b: '**', em: '*', i: '*', del: '~~', s: '~~', strike: '~~' }));

/** Text in a line of Markdown: links, emphasis, code, formulas, images. Line breaks stay, blocks are set apart by blanks. */
function inlineMarkdown(node: HtmlNode, around: Around): string {
  if (typeof node === 'string') return withFormulas(joinSpaces(node));
  if (!isShown(node)) return '';
  const inner = (more: Partial<Around> = {}) => inlineChildren(node, { ...around, ...more });
  const mark = MARKS.get(node.name);
  if (mark !== undefined) return marked(mark, inner, around);
  switch (node.name) {
    case 'br':
      return '\n';
    case 'a':
      return link(node, inner(), around.url);
    case 'img':
      return image(node, around.url);
    case 'code':
    case 'tt':
      return codeSpan(textOf(node));
    case FORMULA:
      return textOf(node);
    case 'sup':
      return script(node, inner(), superscript);
    case 'sub':
      return script(node, inner(), subscript);
    case 'q':
      return `“${inner()}”`;
    case 'input':
      return node.attributes.checked === undefined ? '[ ] ' : '[x] ';
    default:
      return isApart(node) || node.name === 'label' || node.name === 'button' ? ` ${inner()} ` : inner();
  }
}

/** Formulas that a script would have drawn, in the marks of the others. */
function withFormulas(text: string): string {
  if (!text.includes('\\(') && !text.includes('\\[')) return text;
  return text
    .replace(/\\\(((?:[^\\\n]|\\[^()\n]){1,500})\\\)/g, (_, formula: string) => `$${formula.trim()}$`)
    .replace(/\\\[((?:[^\\\n]|\\[^[\]\n]){1,1000})\\\]/g, (_, formula: string) => `$$${formula.trim()}$$`);
}

export function inlineChildren({ children }: HtmlElement, around: Around): string {
  return inlineNodes(children, around);
}

export function inlineNodes(nodes: readonly HtmlNode[], around: Around): string {
  let text = '';
  for (const [at, node] of nodes.entries()) text += inlineNode(node, nodes[at - 1], around);
  return text;
}

/** A node behind another one in its line. */
export function inlineNode(node: HtmlNode, before: HtmlNode | undefined, around: Around): string {
  const text = inlineMarkdown(node, around);
  return isBehindNumber(node, before) ? ` ${text}` : text;
}

/** In characters. */
const LONGEST_NUMBER = 8;

/** Whether an element is the text of a clause whose number stands in the element before it: styles set them apart. */
function isBehindNumber(node: HtmlNode, before: HtmlNode | undefined): boolean {
  if (typeof node === 'string' || typeof before !== 'object' || node.name !== 'span' || before.name !== 'span')
    return false;
  const number = beginningOf(before, LONGEST_NUMBER + 1);
  if (number.length > LONGEST_NUMBER || !/^(?:\(?\w{1,4}[.)]|\d+(?:\.\d+)*)$/.test(number)) return false;
  return /^[“"\p{L}]..../u.test(beginningOf(node, 6));
}

/** An element as one line of Markdown. */
export function lineMarkdown(element: HtmlElement, around: Around): string {
  return onOneLine(inlineChildren(element, around));
}

/** An address as it leads from this page; nothing where it leads nowhere else. */
export function fullAddress(href: string, base: string): string {
  const given = href.trim();
  const target = given === '' || given.startsWith('#') ? null : URL.parse(given, base);
  return target !== null && /^(?:https?|mailto|ftp|corpus):$/.test(target.protocol) ? target.href : '';
}

/** Addresses stay as they are: what is copied from here must be the address that was seen. */
export function linkTo(text: string, address: string): string {
  const isSafe = !/[\s<>]/.test(address) && address.split('(').length === address.split(')').length;
  return `[${text}](${isSafe ? address : `<${address.replaceAll(' ', '%20')}>`})`;
}

function link(element: HtmlElement, inner: string, base: string): string {
  const text = onOneLine(inner);
  if (/^(?:[#¶§🔗⚓]|\ufe0e|\ufe0f)*$/u.test(text)) return text === '' && inner !== '' ? ' ' : '';
  const address = fullAddress(element.attribute('href'), base);
  if (address === '') return isNoteNumber(text, element) ? `[${text}]` : inner;
  return `${/^\s/.test(inner) ? ' ' : ''}${linkTo(text, address)}${/\s$/.test(inner) ? ' ' : ''}`;
}

/** Whether a link leads to the note of its number, on its page, or back from it. */
function isNoteNumber(text: string, { attributes }: HtmlElement): boolean {
  return /^\d{1,3}$/.test(text) && /^#\S*(?:note|fn|ref|cite)/i.test(attributes.href ?? '');
}

/** An image with its description. One without is left out: it says nothing. */
function image(element: HtmlElement, base: string): string {
  const alt = onOneLine(element.attribute('alt').replace(/[[\]]+/g, ' '));
  if (alt === '' || isShownBesides(element)) return '';
  const given = sourceOf(element);
  const source = given === undefined ? null : URL.parse(given, base);
  if (!source || !/^https?:$/.test(source.protocol)) return alt;
  return `!${linkTo(alt, source.href)}`;
}

/** Where an image comes from, also one that a script puts into its place once it is seen. */
function sourceOf({ attributes }: HtmlElement): string | undefined {
  const { src, ...others } = attributes;
  const lazy = Object.entries(others).flatMap(([name, value]) => (/^data-(?:[\w-]*-)?src$/.test(name) ? [value] : []));
  return [src ?? '', ...lazy].find((each) => /^(?!data:|\s*$)/.test(each));
}

/** Whether an image stands for another: the one before a `<noscript>` for the one in it, or the other way round. */
function isShownBesides(element: HtmlElement): boolean {
  const { parent } = element;
  const isAside = parent?.name === 'noscript';
  const siblings = (isAside ? parent.parent : parent)?.elements ?? [];
  const other = siblings[siblings.indexOf(isAside ? parent : element) + (isAside ? -1 : 1)];
  if (isAside) return other?.name === 'img' && sourceOf(other) !== undefined;
  const isPlaceholder = other?.name === 'noscript' && sourceOf(element) === undefined;
  return isPlaceholder && other.elements.some(({ name }) => name === 'img');
}

function codeSpan(text: string): string {
  const code = onOneLine(text);
  if (code === '') return '';
  const longest = Math.max(0, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${code}\`` : `${fence} ${code} ${fence}`;
}

/** Text between marks; blanks stand outside of them. */
function marked(mark: string, inner: (more: Partial<Around>) => string, { marks = '' }: Around): string {
  if (marks.includes(` ${mark} `) || marks === NO_MARKS) return inner({});
  const text = inner({ marks: `${marks} ${mark} ` });
  const bare = text.trim();
  if (bare === '' || bare.includes('\n\n')) return text;
  const start = text.indexOf(bare);
  return `${text.slice(0, start)}${mark}${bare}${mark}${text.slice(start + bare.length)}`;
}

/** Where marks of emphasis mean nothing: in a heading. */
export const NO_MARKS = 'none';

/** `mc²` is not `mc2`. Numbers of notes stand in brackets, endings of words as they are: 1st. */
function script(element: HtmlElement, inner: string, set: (text: string) => string): string {
  const text = lineOf(element);
  const isNote = element.elements.some(({ name, attributes }) => name === 'a' && attributes.href?.includes('#'));
  if (isNote && /^[\p{L}\p{N}*†‡]{1,4}$/u.test(text)) return `[${text}]`;
  if (text.startsWith('[')) return text;
  return text === onOneLine(inner) ? set(text) : inner;
}

const APART = new Set(
  'address article aside blockquote dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
);

/** Whether an element stands on lines of its own. */
export function isApart({ name }: HtmlElement): boolean {
  return APART.has(name);
}
