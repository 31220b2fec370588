import { collapseSpaces, toSingleLine } from '../../../../base/text.ts';
import { type HtmlElement, type HtmlNode, lineOf, textOf, textStart } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { symbolText } from '../symbol-fonts.ts';
import { hasReadableText } from './readable-text.ts';
import { subscript, superscript } from './scripts.ts';

/** What the writer knows about the surroundings of a node. */
export interface InlineContext {
  /** The base of relative links. */
  url: string;
  /** The open marks of emphasis, each between spaces; `NO_MARKS` where emphasis means nothing. */
  marks?: string;
}

/** Marks of emphasis by element. */
const MARKS = new Map(Object.entries({ strong: '**', b: '**', em: '*', i: '*', del: '~~', s: '~~', strike: '~~' }));

/** Writes a node as inline Markdown: links, emphasis, code, formulas, images. Line breaks stay; spaces separate blocks. */
function inlineMarkdown(node: HtmlNode, context: InlineContext): string {
  if (typeof node === 'string') return escapeLinks(withFormulas(collapseSpaces(node)));
  if (!hasReadableText(node)) return '';
  const inner = (more: Partial<InlineContext> = {}) => inlineChildren(node, { ...context, ...more });
  const mark = MARKS.get(node.name);
  if (mark !== undefined) return wrap(mark, inner, context);
  switch (node.name) {
    case 'br':
      return '\n';
    case 'a':
      return link(node, inner(), context.url);
    case 'img':
      return image(node, context.url);
    case 'code':
    case 'tt':
      return codeSpan(textOf(node));
    case FORMULA:
      return textOf(node);
    case 'sup':
      return script(node, inner(), superscript);
    case 'sub':
      return script(node, inner(), subscript);
    case 'font':
      return /^\s*symbol\s*$/i.test(node.attribute('face')) ? symbolText(textOf(node)) : inner();
    case 'q':
      return `“${inner()}”`;
    case 'input':
      return node.attributes.checked === undefined ? '[ ] ' : '[x] ';
    default:
      return isBlockElement(node) || node.name === 'label' || node.name === 'button' ? ` ${inner()} ` : inner();
  }
}

/** Marks TeX that the page leaves to a script with dollar signs, as all other formulas are. */
function withFormulas(text: string): string {
  if (!text.includes('\\(') && !text.includes('\\[')) return text;
  return text
    .replace(/\\\(((?:[^\\\n]|\\[^()\n]){1,500})\\\)/g, (_, formula: string) => `$${formula.trim()}$`)
    .replace(/\\\[((?:[^\\\n]|\\[^[\]\n]){1,1000})\\\]/g, (_, formula: string) => `$$${formula.trim()}$$`);
}

export function inlineChildren({ children }: HtmlElement, context: InlineContext): string {
  return inlineNodes(children, context);
}

export function inlineNodes(nodes: readonly HtmlNode[], context: InlineContext): string {
  let text = '';
  for (const [at, node] of nodes.entries()) text += inlineNode(node, nodes[at - 1], context);
  return text;
}

/** Writes a node that follows another one in its line. */
export function inlineNode(node: HtmlNode, before: HtmlNode | undefined, context: InlineContext): string {
  const text = inlineMarkdown(node, context);
  return followsNumber(node, before) ? ` ${text}` : text;
}

/** The longest number of a clause, in characters. */
const MAX_NUMBER_LENGTH = 8;

/** Whether an element is the text of a clause with its number in the element before it; only styles separate the two. */
function followsNumber(node: HtmlNode, before: HtmlNode | undefined): boolean {
  if (typeof node === 'string' || typeof before !== 'object' || node.name !== 'span' || before.name !== 'span')
    return false;
  const number = textStart(before, MAX_NUMBER_LENGTH + 1);
  if (number.length > MAX_NUMBER_LENGTH || !/^(?:\(?\w{1,4}[.)]|\d+(?:\.\d+)*)$/.test(number)) return false;
  return /^[“"\p{L}]..../u.test(textStart(node, 6));
}

export function lineMarkdown(element: HtmlElement, context: InlineContext): string {
  return toSingleLine(inlineChildren(element, context));
}

/** Resolves a link; empty if it leads to no other page. */
export function fullAddress(href: string, base: string): string {
  const reference = href.trim();
  const target = reference === '' || reference.startsWith('#') ? null : URL.parse(reference, base);
  return target !== null && /^(?:https?|mailto|ftp|corpus):$/.test(target.protocol) ? target.href : '';
}

/** Escapes what would be a Markdown link in a text that has none, so that no text changes where a link leads. */
export function escapeLinks(text: string): string {
  return text.replaceAll('](', ']\\(');
}

/** Writes a link. Its address is only encoded where it would end, so that a copy of it is the real address. */
export function linkTo(text: string, address: string): string {
  const target = address.replace(/[\s<>]/g, encodeURIComponent);
  return `[${text}](${target.split('(').length === target.split(')').length ? target : `<${target}>`})`;
}

function link(element: HtmlElement, inner: string, base: string): string {
  const text = toSingleLine(inner);
  if (/^(?:[#¶§🔗⚓]|\ufe0e|\ufe0f)*$/u.test(text)) return text === '' && inner !== '' ? ' ' : '';
  const address = fullAddress(element.attribute('href'), base);
  if (address === '') return isNoteNumber(text, element) ? `[${text}]` : inner;
  return `${/^\s/.test(inner) ? ' ' : ''}${linkTo(text, address)}${/\s$/.test(inner) ? ' ' : ''}`;
}

/** Whether a link leads to the footnote with its number or back from it. */
function isNoteNumber(text: string, { attributes }: HtmlElement): boolean {
  return /^\d{1,3}$/.test(text) && /^#\S*(?:note|fn|ref|cite)/i.test(attributes.href ?? '');
}

/** Writes an image with its description; an image without one is left out. */
function image(element: HtmlElement, base: string): string {
  const alt = toSingleLine(element.attribute('alt').replace(/[[\]]+/g, ' '));
  if (alt === '' || isDuplicate(element)) return '';
  const reference = sourceOf(element);
  const source = reference === undefined ? null : URL.parse(reference, base);
  if (!source || !/^https?:$/.test(source.protocol)) return alt;
  return `!${linkTo(alt, source.href)}`;
}

/** The source of an image, which lazy loading may keep in another attribute. */
function sourceOf({ attributes }: HtmlElement): string | undefined {
  const { src, ...others } = attributes;
  const lazy = Object.entries(others).flatMap(([name, value]) => (/^data-(?:[\w-]*-)?src$/.test(name) ? [value] : []));
  return [src ?? '', ...lazy].find((address) => /^(?!data:|\s*$)/.test(address));
}

/** Whether another image replaces this one: a lazy image and its copy in `<noscript>` are one image. */
function isDuplicate(element: HtmlElement): boolean {
  const { parent } = element;
  const isFallback = parent?.name === 'noscript';
  const siblings = (isFallback ? parent.parent : parent)?.elements ?? [];
  const other = siblings[siblings.indexOf(isFallback ? parent : element) + (isFallback ? -1 : 1)];
  if (isFallback) return other?.name === 'img' && sourceOf(other) !== undefined;
  const isPlaceholder = other?.name === 'noscript' && sourceOf(element) === undefined;
  return isPlaceholder && other.elements.some(({ name }) => name === 'img');
}

function codeSpan(text: string): string {
  const code = toSingleLine(text);
  if (code === '') return '';
  const longest = Math.max(0, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${code}\`` : `${fence} ${code} ${fence}`;
}

/** Writes text between marks of emphasis, with surrounding spaces outside of them. */
function wrap(mark: string, inner: (more: Partial<InlineContext>) => string, { marks = '' }: InlineContext): string {
  if (marks.includes(` ${mark} `) || marks === NO_MARKS) return inner({});
  const text = inner({ marks: `${marks} ${mark} ` });
  const bare = text.trim();
  if (bare === '' || bare.includes('\n\n')) return text;
  const start = text.indexOf(bare);
  return `${text.slice(0, start)}${mark}${bare}${mark}${text.slice(start + bare.length)}`;
}

/** `InlineContext.marks` where emphasis means nothing, as in a heading. */
export const NO_MARKS = 'none';

/** Writes a superscript or subscript: `mc²` is not `mc2`. Footnote numbers go into brackets; word endings stay: 1st. */
function script(element: HtmlElement, inner: string, convert: (text: string) => string): string {
  const text = lineOf(element);
  const isNote = element.elements.some(({ name, attributes }) => name === 'a' && attributes.href?.includes('#'));
  if (isNote && /^[\p{L}\p{N}*†‡]{1,4}$/u.test(text)) return `[${text}]`;
  if (text.startsWith('[')) return text;
  return text === toSingleLine(inner) ? convert(text) : inner;
}

const BLOCK_ELEMENTS = new Set(
  'address article aside blockquote dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
);

/** Whether browsers show an element on lines of its own. */
export function isBlockElement({ name }: HtmlElement): boolean {
  return BLOCK_ELEMENTS.has(name);
}
