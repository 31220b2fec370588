import { collapseSpaces } from '../../../../base/text.ts';
import { trimLines } from '../../../text/trim-lines.ts';
import { findElement, type HtmlElement, type HtmlNode, lineOf, textOf, textStart } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { formatNumeral } from '../numerals.ts';
import { codeBlock } from './code.ts';
import {
  fullAddress,
  type InlineContext,
  inlineChildren,
  inlineNode,
  inlineNodes,
  isBlockElement,
  lineMarkdown,
  linkTo,
  NO_MARKS,
} from './inline.ts';
import { hasReadableText } from './readable-text.ts';
import { cellsOf, codeInTable, isLayout, isRow, isShortRow, isTable, rowsOf, tableMarkdown } from './tables.ts';

/** Writes an element as Markdown: headings, lists, code, tables, links with full addresses (resolved against `url`). */
export function toMarkdown(root: HtmlElement, url: string): string {
  return trimLines(blocksOf([root], { url }).join('\n\n'));
}

/** Writes nodes as blocks of Markdown; runs of inline nodes become paragraphs. */
function blocksOf(nodes: readonly HtmlNode[], context: InlineContext): string[] {
  const blocks: string[] = [];
  let run = '';
  const endRun = () => {
    const text = tidyLines(run);
    // A box without a label opens a menu.
    if (text !== '' && !/^\[[ x]\]$/.test(text)) blocks.push(text);
    run = '';
  };
  for (const [at, node] of nodes.entries()) {
    if (typeof node === 'string' || !interruptsText(node)) {
      run += inlineNode(node, nodes[at - 1], context);
      continue;
    }
    if (isLine(node)) {
      run += hasReadableText(node) ? inlineChildren(node, context) : '';
      continue;
    }
    endRun();
    if (hasReadableText(node)) for (const block of blockOf(node, context)) if (block !== '') blocks.push(block);
  }
  endRun();
  return blocks;
}

/** The longest line of verse, in characters. */
const MAX_VERSE_LENGTH = 120;

/** Whether an element is a line that ends with a break, as in verse. */
function isLine(element: HtmlElement): boolean {
  if (element.name !== 'div' || element.holdsBlocks || element.size.text > MAX_VERSE_LENGTH) return false;
  const last = element.children.findLast((child) => typeof child !== 'string' || child.trim() !== '');
  return typeof last === 'object' && last.name === 'br';
}

function tidyLines(run: string): string {
  return run
    .replace(/ +/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function interruptsText(element: HtmlElement): boolean {
  if (isBlockElement(element) || element.holdsBlocks) return true;
  if (element.name === FORMULA) return textOf(element).startsWith('$$');
  return element.name === 'code' && isLinesOfCode(element);
}

function isLinesOfCode(code: HtmlElement): boolean {
  const isLine = ({ name, attributes }: HtmlElement) =>
    name === 'br' || 'data-line' in attributes || attributes.class === 'line';
  if (code.elements.filter(isLine).length > 1 || (code.hasClass('hl') && code.hasClass('block'))) return true;
  return /white-space:\s*pre/.test(code.attribute('style')) && textOf(code).trim().includes('\n');
}

function blockOf(element: HtmlElement, context: InlineContext): string[] {
  const { name } = element;
  const innerBlocks = () => blocksOf(element.children, context);
  if (isTable(element)) return tableBlocks(element, context);
  if (/^h[1-6]$/.test(name)) return headingBlocks(element, context);
  switch (name) {
    case 'pre':
      return [codeBlock(element)];
    case 'code':
      return findElement(element, (child) => child.name === 'pre') ? innerBlocks() : [codeBlock(element)];
    case FORMULA:
      return [textOf(element)];
    case 'ul':
    case 'ol':
    case 'menu':
      return isListOfSections(element) ? innerBlocks() : [list(element, context)];
    case 'dl':
      return definitions(element, context);
    case 'blockquote':
      return [blockquote(innerBlocks())];
    case 'hr':
      return ['---'];
    case 'summary':
      return element.holdsBlocks ? innerBlocks() : [bold(lineMarkdown(element, { ...context, marks: ' ** ' }))];
    case 'a':
      return linkedBlocks(element, innerBlocks(), context);
    default:
      if (element.attributes.role === 'heading') return headingBlocks(element, context);
      return innerBlocks();
  }
}

/** Whether each item of a bulleted list is a section: a heading with text below it. */
function isListOfSections({ name, elements, size }: HtmlElement): boolean {
  if (name !== 'ul' || size.headings === 0) return false;
  return elements.every((item) => item.size.text > (headingAbove(item)?.size.text ?? Number.POSITIVE_INFINITY));
}

/** How much of a text is looked at to see whether it is blank; in characters. */
const BLANK = 100;

/** The heading that an element begins with. */
function headingAbove(element: HtmlElement): HtmlElement | undefined {
  const first = element.children.find((child) => textStart(child, BLANK).trim() !== '');
  if (typeof first !== 'object') return undefined;
  return /^h[1-6]$/.test(first.name) ? first : headingAbove(first);
}

function bold(text: string): string {
  return text === '' ? '' : `**${text}**`;
}

/** Writes a heading on one line, without links to itself. */
function headingBlocks(heading: HtmlElement, context: InlineContext): string[] {
  const level = Number(/^h([1-6])$/.exec(heading.name)?.[1] ?? heading.attributes['aria-level']) || 2;
  const content = heading.children.filter((child) => typeof child === 'string' || !isPermalink(child, heading));
  const text = collapseSpaces(tidyLines(inlineNodes(content, { ...context, marks: NO_MARKS })));
  return text === '' ? [] : [`${'#'.repeat(Math.min(Math.max(level, 1), 6))} ${text}`];
}

/** Whether an element is a link to the heading itself beside its text. */
function isPermalink(element: HtmlElement, heading: HtmlElement): boolean {
  const text = lineOf(element);
  const link =
    element.name === 'a'
      ? element
      : element.elements.length === 1 && lineOf(element.elements[0]) === text
        ? element.elements[0]
        : undefined;
  if (link?.name !== 'a' || !link.attribute('href').includes('#')) return false;
  return (
    lineOf(heading).length > text.length &&
    (text.length < 3 ||
      link.attributes['aria-hidden'] !== undefined ||
      /anchor|permalink|headerlink|header-link|hash/i.test(link.attribute('class')))
  );
}

/** Writes the blocks inside a link; the first of them becomes the link. */
function linkedBlocks(link: HtmlElement, blocks: string[], { url }: InlineContext): string[] {
  const address = fullAddress(link.attribute('href'), url);
  const [first = '', ...rest] = blocks;
  const [mark = ''] = /^#+ /.exec(first) ?? [];
  const isWhole = mark !== '' && rest.length === 0;
  if (address === '' || isWhole || /\n|\]\(|^(?:[-|>`]|\d+\. )/.test(first)) return blocks;
  return first === '' ? [] : [`${mark}${linkTo(first.slice(mark.length), address)}`, ...rest];
}

function blockquote(blocks: readonly string[]): string {
  if (blocks.length === 0) return '';
  const lines = blocks.join('\n\n').split('\n');
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n');
}

/** Forms of numbers that Markdown has not, by the `type` of a list or its style. */
const FORMS: ReadonlyMap<string, string> = new Map([
  ['a', 'lowerLetter'],
  ['A', 'upperLetter'],
  ['i', 'lowerRoman'],
  ['I', 'upperRoman'],
  ['lower-alpha', 'lowerLetter'],
  ['lower-latin', 'lowerLetter'],
  ['upper-alpha', 'upperLetter'],
  ['upper-latin', 'upperLetter'],
  ['lower-roman', 'lowerRoman'],
  ['upper-roman', 'upperRoman'],
]);

function list(element: HtmlElement, context: InlineContext): string {
  const style = /list-style(?:-type)?:\s*([\w-]+)/.exec(element.attribute('style'))?.[1] ?? element.attribute('type');
  const form = FORMS.get(style);
  const isOrdered = element.name === 'ol' && style !== 'none' && form === undefined;
  const step = element.attributes.reversed === undefined ? 1 : -1;
  const first = step === 1 ? 1 : element.elements.filter(({ name }) => name === 'li').length;
  let number = Number.parseInt(element.attribute('start') || `${first}`, 10) || 0;
  const items: string[] = [];
  for (const child of element.children) {
    if (typeof child !== 'string' && !hasReadableText(child)) continue;
    const isItem = typeof child !== 'string' && child.name === 'li';
    if (isItem) number = Number.parseInt(child.attribute('value'), 10) || number;
    const marker = isOrdered ? `${number}. ` : '- ';
    const label = isItem && element.name === 'ol' && form ? `${formatNumeral(number, form)}. ` : '';
    if (isItem) number += step;
    const blocks = blocksOf(isItem ? child.children : [child], context);
    // Some pages put a nested list directly into a list, not into an item.
    const isNested = typeof child !== 'string' && (child.name === 'ul' || child.name === 'ol');
    const text = (label + joinItem(blocks)).replace(/\n/g, `\n${' '.repeat(marker.length)}`);
    if (text === label) continue;
    items.push(isNested ? `${' '.repeat(marker.length)}${text}` : `${marker}${text}`);
  }
  return items.join('\n');
}

/** Joins the blocks of a list item; a nested list follows without an empty line. */
function joinItem(blocks: readonly string[]): string {
  return blocks.reduce(
    (text, block) => (text === '' ? block : `${text}${/^(?:- |\d+\. )/.test(block) ? '\n' : '\n\n'}${block}`),
    '',
  );
}

/** Writes a definition list: each term, with its definition on the next lines. */
function definitions(element: HtmlElement, context: InlineContext): string[] {
  const blocks: string[] = [];
  let followsTerm = false;
  for (const child of element.elements) {
    if (!hasReadableText(child)) continue;
    if (child.name === 'dt') {
      const terms = blocksOf(child.children, context);
      blocks.push(...terms.map((text) => (/^[#`>|-]|\n|\*\*/.test(text) ? text : bold(text))));
      followsTerm = terms.length > 0;
      continue;
    }
    const innerBlocks = child.name === 'dd' ? blocksOf(child.children, context) : definitions(child, context);
    const [first = '', ...rest] = innerBlocks;
    const term = blocks.at(-1);
    if (followsTerm && child.name === 'dd' && term !== undefined && /^[^`|>#]/.test(first)) {
      blocks[blocks.length - 1] = `${term}\n${first}`;
      blocks.push(...rest);
    } else blocks.push(...innerBlocks);
    followsTerm = child.name === 'dd' && innerBlocks.length === 0 && followsTerm;
  }
  return blocks.filter((block) => block !== '');
}

function tableBlocks(table: HtmlElement, context: InlineContext): string[] {
  const code = codeInTable(table);
  if (code !== undefined) return [code];
  if (!isLayout(table)) return [tableMarkdown(table, context)];
  const holders = new Set<HtmlElement | undefined>([table]);
  for (const row of rowsOf(table))
    for (let node = row.parent; !holders.has(node); node = node?.parent) holders.add(node);
  return layoutBlocks(table, { context, holders });
}

/** Writes the cells of a table that is used for layout, and what stands beside its rows. `holders`: the elements around rows. */
function layoutBlocks(
  parent: HtmlElement,
  { context, holders }: { context: InlineContext; holders: ReadonlySet<HtmlElement | undefined> },
): string[] {
  return parent.children.flatMap((child) => {
    if (typeof child === 'string' || isTable(child)) return blocksOf([child], context);
    if (!isRow(child))
      return holders.has(child) ? layoutBlocks(child, { context, holders }) : blocksOf([child], context);
    const cells = cellsOf(child);
    if (!isShortRow(cells)) return cells.flatMap((cell) => blocksOf(cell.children, context));
    return [tidyLines(cells.map((cell) => inlineChildren(cell, context)).join(' '))];
  });
}
