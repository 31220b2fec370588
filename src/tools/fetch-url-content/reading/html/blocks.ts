import { collapseSpaces, toSingleLine } from '../../../../base/text.ts';
import { applyKnownMarkup } from '../main-text/known-markup.ts';
import { isBlockElement } from '../markdown/inline.ts';
import { hasReadableText } from '../markdown/readable-text.ts';
import { type ElementSize, EMPTY_SIZE, findElement, type HtmlElement, textStart } from './tree.ts';

/** A run of text that no other block interrupts, such as a paragraph, a list item or a cell. */
export interface Block {
  /** The text on one line. */
  text: string;
  /** How much of the text is in links, in characters. */
  linked: number;
  element: HtmlElement;
  /** The outermost inline elements that lie within it. */
  inline: readonly HtmlElement[];
}

/**
 * The blocks of text below `root`, in order; two line breaks end a block as a paragraph does. It also sets the size of
 * every element.
 */
export function measureBlocks(root: HtmlElement): Block[] {
  const blocks: Block[] = [];
  let text = '';
  let linked = 0;
  let inline: HtmlElement[] = [];
  let breaks = 0;

  const endBlock = (element: HtmlElement, size: ElementSize) => {
    const line = toSingleLine(text);
    if (line !== '') {
      const block = { text: line, linked: Math.min(linked, line.length), element, inline };
      blocks.push(block);
      size.text += line.length;
      size.linked += block.linked;
      if (isProse(block)) {
        size.prose += line.length;
        size.paragraphs += 1;
      }
    }
    text = '';
    linked = 0;
    inline = [];
    breaks = 0;
  };

  /** `holder`: the nearest block element; inline content counts for it. `isWhole`: it is one block whatever it holds. */
  const visit = (element: HtmlElement, { holder, isWhole, inLink }: Place): boolean => {
    const isBlock = (isBlockElement(element) && !isWhole) || element === root;
    const block = isBlock ? element : holder;
    const isOne = isBlock ? isOneBlock(element) : isWhole;
    const size: ElementSize = { ...EMPTY_SIZE };
    element.size = size;
    countAlike(element);
    let holdsBlocks = false;
    for (const child of element.children) {
      if (typeof child === 'string') {
        if (child.trim() !== '') breaks = 0;
        text += child;
        if (inLink) linked += collapseSpaces(child).length;
        continue;
      }
      if (child.name === 'br') {
        breaks += 1;
        if (breaks > 1) endBlock(block, block.size);
        else text += ' ';
        continue;
      }
      applyKnownMarkup(child);
      countElement(child, size);
      if (child.name === 'img') child.blockIndex = blocks.length;
      if (!hasReadableText(child)) continue;
      if (isBlockElement(child) && !isOne) {
        endBlock(block, block.size);
        holdsBlocks = true;
      } else if (element === block && !findElement(child, ({ name }) => name === 'br')) inline.push(child);
      const place = { holder: block, isWhole: isOne, inLink: inLink || isLink(child) };
      holdsBlocks = visit(child, place) || holdsBlocks;
      addSize(size, child.size);
    }
    if (isBlock) endBlock(element, size);
    element.holdsBlocks = holdsBlocks;
    return holdsBlocks;
  };
  visit(root, { holder: root, isWhole: false, inLink: false });
  return blocks;
}

/** Where an element is visited. */
interface Place {
  holder: HtmlElement;
  isWhole: boolean;
  inLink: boolean;
}

/** A longer heading was never closed; in characters. */
const MAX_HEADING = 300;

/** Whether an element is one block whatever it holds. */
function isOneBlock(element: HtmlElement): boolean {
  if (!/^h[1-6]$/.test(element.name)) return element.name === 'pre';
  return textStart(element, MAX_HEADING).length < MAX_HEADING;
}

/** A tab is no link: it opens a panel beside it. */
function isLink({ name, attributes }: HtmlElement): boolean {
  return name === 'a' && attributes.role !== 'tab';
}

function countAlike(parent: HtmlElement): void {
  const { elements } = parent;
  parent.elementCount = elements.length;
  if (elements.length < 2) return;
  const counts = new Map<string, number>();
  const keyOf = ({ name, attributes }: HtmlElement) => `${name} ${attributes.class ?? ''}`;
  for (const child of elements) counts.set(keyOf(child), (counts.get(keyOf(child)) ?? 0) + 1);
  for (const child of elements) child.alikeCount = counts.get(keyOf(child)) ?? 1;
}

function countElement({ name, attributes, children }: HtmlElement, size: ElementSize): void {
  if (name === 'a') size.links += attributes.href === undefined ? 0 : 1;
  else if (/^h[1-6]$/.test(name)) size.headings += 1;
  // A textarea with text is there to be copied from.
  else if (name === 'textarea') size.fields += children.length === 0 ? 1 : 0;
  else if (name === 'input' && /^(?:|text|email|search|password|url|tel)$/i.test(attributes.type ?? ''))
    size.fields += 1;
}

function addSize(size: ElementSize, more: ElementSize): void {
  size.text += more.text;
  size.linked += more.linked;
  size.prose += more.prose;
  size.paragraphs += more.paragraphs;
  size.links += more.links;
  size.headings += more.headings;
  size.fields += more.fields;
}

/** Shorter blocks are titles, dates and labels; in characters. Scripts without spaces say more with fewer of them. */
const MIN_PROSE = 80;
export const MIN_UNSPACED_PROSE = 28;

/** Whether a block is at least a sentence, or a formula on its own line; code and lists of links are not. */
export function isProse({ text, linked, element }: Block): boolean {
  if (element.name === 'pre') return false;
  if (text.includes('$$')) return true;
  if (text.length < MIN_UNSPACED_PROSE || linked > text.length * 0.4) return false;
  return text.length >= MIN_PROSE ? !/^https?:\/\/\S*$/.test(text) : isUnspaced(text);
}

/** Whether a text is in a script without spaces between words. */
export function isUnspaced(text: string): boolean {
  const start = text.slice(0, 200);
  return (start.match(/[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]/g)?.length ?? 0) > start.length / 3;
}

/** The first letters and digits of a text, which identify it. Only its beginning is read: a block may be as long as the page. */
export function lettersOf(text: string, length: number): string {
  return text
    .slice(0, length * 4)
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()
    .slice(0, length);
}
