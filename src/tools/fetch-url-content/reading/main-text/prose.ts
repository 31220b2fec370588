import { type DomElement, type DomNode, isElement, TEXT } from '../html/dom.ts';

/** A paragraph, an item, a cell: a run of text that no other block interrupts. */
export interface Block {
  /** On one line. */
  text: string;
  /** How much of it is links, in characters. */
  linked: number;
  /** The element that holds it. */
  element: DomElement;
}

const BLOCKS = new Set(
  'ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY CAPTION CENTER DD DETAILS DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION SUMMARY TABLE TBODY TD TFOOT TH THEAD TR UL'.split(
    ' ',
  ),
);

/** Whether an element stands on lines of its own. */
export function isBlock(element: DomElement): boolean {
  return BLOCKS.has(element.tagName);
}

/** The blocks of text below `root`, in order. Two line breaks end a block as a paragraph does. */
export function blocksOf(root: DomElement): Block[] {
  const blocks: Block[] = [];
  let pieces: string[] = [];
  let linked = 0;
  let breaks = 0;

  const flush = (element: DomElement) => {
    const text = pieces.join('').replace(/\s+/g, ' ').trim();
    if (text !== '') blocks.push({ text, linked: Math.min(linked, text.length), element });
    pieces = [];
    linked = 0;
    breaks = 0;
  };
  const walk = (node: DomNode, holder: DomElement, inLink: boolean) => {
    if (node.nodeType === TEXT) {
      const text = node.textContent;
      if (text.trim() !== '') breaks = 0;
      pieces.push(text);
      if (inLink) linked += text.replace(/\s+/g, ' ').length;
      return;
    }
    if (!isElement(node)) return;
    if (node.tagName === 'BR') {
      breaks += 1;
      if (breaks > 1) flush(holder);
      else pieces.push(' ');
      return;
    }
    const stands = isBlock(node);
    if (stands) flush(holder);
    const next = stands ? node : holder;
    for (const child of node.childNodes) walk(child, next, inLink || node.tagName === 'A');
    if (stands) flush(node);
  };
  walk(root, root, false);
  flush(root);
  return blocks;
}

/** Shorter blocks are titles, dates and labels; in characters. Scripts without spaces say more with fewer. */
const LEAST = 80;
const LEAST_UNSPACED = 28;

/** Whether a block is a sentence or more, and not a list of links. */
export function isProse({ text, linked }: Block): boolean {
  if (linked > text.length * 0.4 || /^https?:\/\//.test(text)) return false;
  return text.length >= (isUnspaced(text) ? LEAST_UNSPACED : LEAST);
}

function isUnspaced(text: string): boolean {
  return (
    (text.slice(0, 200).match(/[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]/g)?.length ?? 0) >
    text.slice(0, 200).length / 3
  );
}

/** The length of what is prose, in characters. */
export function proseLength(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => (isProse(block) ? sum + block.text.length : sum), 0);
}

/** What a text is known by: its first letters. Blocks may be as long as the page. */
export function keyOf(text: string): string {
  return text
    .slice(0, 400)
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .slice(0, 80);
}

/**
 * Whether a block is all that its element holds. Blocks stand in the order of the page, so another one in the same
 * element is next to it: no element is walked through for each of its blocks.
 */
export function isAlone(blocks: readonly Block[], at: number): boolean {
  const element = blocks[at]?.element;
  if (element === undefined) return false;
  return [blocks[at - 1], blocks[at + 1]].every((other) => other === undefined || !element.contains(other.element));
}
