import { joinSpaces } from '../../../../base/text.ts';
import { trimLines } from '../../../text/trim-lines.ts';
import { findElement, type HtmlElement, type HtmlNode, lineOf, textOf } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { codeBlock } from './code.ts';
import {
  type Around,
  fullAddress,
  inlineChildren,
  inlineNode,
  inlineNodes,
  isApart,
  lineMarkdown,
  linkTo,
  NO_MARKS,
} from './inline.ts';
import { isShown } from './shown.ts';
import { cellsOf, codeInTable, isLayout, isShortRow, isTable, rowsOf, tableMarkdown } from './tables.ts';

/** The Markdown of an element: headings, lists, code, links with full addresses (relative to `url`), tables. */
export function toMarkdown(root: HtmlElement, url: string): string {
  return trimLines(blocksOf([root], { url }).join('\n\n'));
}

/** Pieces of a page as blocks of Markdown: what stands in a line becomes paragraphs. */
function blocksOf(nodes: readonly HtmlNode[], around: Around): string[] {
  const blocks: string[] = [];
  let run = '';
  const endRun = () => {
    const text = tidyLines(run);
    if (text !== '') blocks.push(text);
    run = '';
  };
  for (const [at, node] of nodes.entries()) {
    if (typeof node === 'string' || !standsApart(node)) {
      run += inlineNode(node, nodes[at - 1], around);
      continue;
    }
    if (isLine(node)) {
      run += isShown(node) ? inlineChildren(node, around) : '';
      continue;
    }
    endRun();
    if (isShown(node)) for (const block of blockOf(node, around)) if (block !== '') blocks.push(block);
  }
  endRun();
  return blocks;
}

/** The longest line of a verse, in characters. */
const LONGEST_LINE = 120;

/** Whether an element is a line of its own that ends with a break, as verses are set. */
function isLine(element: HtmlElement): boolean {
  if (element.name !== 'div' || element.holdsBlocks || element.size.text > LONGEST_LINE) return false;
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

/** Whether an element interrupts the text around it. */
function standsApart(element: HtmlElement): boolean {
  if (isApart(element) || element.holdsBlocks) return true;
  if (element.name === FORMULA) return textOf(element).startsWith('$$');
  return element.name === 'code' && isLinesOfCode(element);
}

function isLinesOfCode(code: HtmlElement): boolean {
  const isLine = ({ name, attributes }: HtmlElement) =>
    name === 'br' || 'data-line' in attributes || attributes.class === 'line';
  if (code.elements.filter(isLine).length > 1 || (code.hasClass('hl') && code.hasClass('block'))) return true;
  return /white-space:\s*pre/.test(code.attribute('style')) && textOf(code).trim().includes('\n');
}

function blockOf(element: HtmlElement, around: Around): string[] {
  const { name } = element;
  const inside = () => blocksOf(element.children, around);
  if (isTable(element)) return tableBlocks(element, around);
  if (/^h[1-6]$/.test(name)) return headingBlocks(element, around);
  switch (name) {
    case 'pre':
      return [codeBlock(element)];
    case 'code':
      return findElement(element, (each) => each.name === 'pre') ? inside() : [codeBlock(element)];
    case FORMULA:
      return [textOf(element)];
    case 'ul':
    case 'ol':
    case 'menu':
      return [list(element, around)];
    case 'dl':
      return definitions(element, around);
    case 'blockquote':
      return [quoted(inside())];
    case 'hr':
      return ['---'];
    case 'summary':
      return element.holdsBlocks ? inside() : [bold(lineMarkdown(element, { ...around, marks: ' ** ' }))];
    case 'a':
      return linkedBlocks(element, inside(), around);
    default:
      if (element.attributes.role === 'heading') return headingBlocks(element, around);
      return inside();
  }
}

function bold(text: string): string {
  return text === '' ? '' : `**${text}**`;
}

/** A heading on its line; what it only says for machines is left out: a sign that links to it, a button. */
function headingBlocks(heading: HtmlElement, around: Around): string[] {
  const level = Number(/^h([1-6])$/.exec(heading.name)?.[1] ?? heading.attributes['aria-level']) || 2;
  const own = heading.children.filter((child) => typeof child === 'string' || !isPermalink(child, heading));
  const text = joinSpaces(tidyLines(inlineNodes(own, { ...around, marks: NO_MARKS })));
  return text === '' ? [] : [`${'#'.repeat(Math.min(Math.max(level, 1), 6))} ${text}`];
}

/** A link to the heading itself, beside its text. */
function isPermalink(element: HtmlElement, heading: HtmlElement): boolean {
  const own = lineOf(element);
  const link =
    element.name === 'a'
      ? element
      : element.elements.length === 1 && lineOf(element.elements[0]) === own
        ? element.elements[0]
        : undefined;
  if (link?.name !== 'a' || !link.attribute('href').includes('#')) return false;
  return (
    lineOf(heading).length > own.length &&
    (own.length < 3 ||
      link.attributes['aria-hidden'] !== undefined ||
      /anchor|permalink|headerlink|header-link|hash/i.test(link.attribute('class')))
  );
}

/** Blocks inside of a link: the first of them leads where it leads. */
function linkedBlocks(link: HtmlElement, blocks: string[], { url }: Around): string[] {
  const address = fullAddress(link.attribute('href'), url);
  const [first = '', ...rest] = blocks;
  const [mark = ''] = /^#+ /.exec(first) ?? [];
  const isWhole = mark !== '' && rest.length === 0;
  if (address === '' || isWhole || /\n|\]\(|^(?:[-|>`]|\d+\. )/.test(first)) return blocks;
  return first === '' ? [] : [`${mark}${linkTo(first.slice(mark.length), address)}`, ...rest];
}

function quoted(blocks: readonly string[]): string {
  if (blocks.length === 0) return '';
  const lines = blocks.join('\n\n').split('\n');
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n');
}

function list(element: HtmlElement, around: Around): string {
  const isOrdered = element.name === 'ol';
  let number = Number.parseInt(element.attribute('start') || '1', 10) || 0;
  const items: string[] = [];
  for (const child of element.children) {
    if (typeof child !== 'string' && !isShown(child)) continue;
    const isItem = typeof child !== 'string' && child.name === 'li';
    if (isItem) number = Number.parseInt(child.attribute('value'), 10) || number;
    const marker = isOrdered ? `${number}. ` : '- ';
    if (isItem) number += 1;
    const blocks = blocksOf(isItem ? child.children : [child], around);
    // A list that stands in a list, not in an item of it.
    const isNested = typeof child !== 'string' && (child.name === 'ul' || child.name === 'ol');
    const text = joinItem(blocks).replace(/\n/g, `\n${' '.repeat(marker.length)}`);
    if (text === '') continue;
    items.push(isNested ? `${' '.repeat(marker.length)}${text}` : `${marker}${text}`);
  }
  return items.join('\n');
}

/** Lists follow the text of their item at once. */
function joinItem(blocks: readonly string[]): string {
  return blocks.reduce(
    (text, block) => (text === '' ? block : `${text}${/^(?:- |\d+\. )/.test(block) ? '\n' : '\n\n'}${block}`),
    '',
  );
}

/** Terms, each with what it means on the lines behind it. */
function definitions(element: HtmlElement, around: Around): string[] {
  const blocks: string[] = [];
  let isBehindTerm = false;
  for (const child of element.elements) {
    if (!isShown(child)) continue;
    if (child.name === 'dt') {
      const terms = blocksOf(child.children, around);
      blocks.push(...terms.map((text) => (/^[#`>|-]|\n|\*\*/.test(text) ? text : bold(text))));
      isBehindTerm = terms.length > 0;
      continue;
    }
    const inside = child.name === 'dd' ? blocksOf(child.children, around) : definitions(child, around);
    const [first = '', ...rest] = inside;
    const term = blocks.at(-1);
    if (isBehindTerm && child.name === 'dd' && term !== undefined && /^[^`|>#]/.test(first)) {
      blocks[blocks.length - 1] = `${term}\n${first}`;
      blocks.push(...rest);
    } else blocks.push(...inside);
    isBehindTerm = child.name === 'dd' && inside.length === 0 && isBehindTerm;
  }
  return blocks.filter((block) => block !== '');
}

function tableBlocks(table: HtmlElement, around: Around): string[] {
  const code = codeInTable(table);
  if (code !== undefined) return [code];
  if (!isLayout(table)) return [tableMarkdown(table, around)];
  const caption = table.elements.filter(({ name }) => name === 'caption');
  const rows = rowsOf(table).flatMap((row) => {
    const cells = cellsOf(row);
    if (!isShortRow(cells)) return cells.flatMap((cell) => blocksOf(cell.children, around));
    return [tidyLines(cells.map((cell) => inlineChildren(cell, around)).join(' '))];
  });
  return [
    ...blocksOf(caption, around),
    ...(rows.length > 0
      ? rows
      : blocksOf(
          table.children.filter((child) => typeof child === 'string' || child.name !== 'caption'),
          around,
        )),
  ];
}
