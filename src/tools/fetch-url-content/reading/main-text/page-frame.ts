import type { Block } from '../html/blocks.ts';
import { closest, type HtmlElement } from '../html/tree.ts';

/** The frame of a page, and the content within it. */

/** The share of the text outside of links that the main part of a page holds, and the element around its title. */
const MAIN_SHARE = 0.1;
const TITLE_SHARE = 0.5;

/** The blocks of a page without its frame: those in its main part, else those in the element around its title. */
export function contentOf(blocks: readonly Block[], title: number): Set<Block> {
  const lengthOf = (some: readonly Block[]) => some.reduce((sum, { text, linked }) => sum + text.length - linked, 0);
  const inside = blocks.filter(({ element }) => !closest(element, (node) => isFrame(node) || isTableOfContents(node)));
  // Some pages are a dialog as a whole.
  const content = lengthOf(inside) < lengthOf(blocks) * MAIN_SHARE ? blocks : inside;
  const length = lengthOf(content);
  const inMain = content.filter(({ element }) => closest(element, isMain));
  if (inMain.length > 0 && lengthOf(inMain) >= length * MAIN_SHARE) return new Set(inMain);
  const box = closest(blocks[title]?.element, ({ size }) => size.text - size.linked >= length * TITLE_SHARE);
  return new Set(box ? content.filter(({ element }) => closest(element, (node) => node === box)) : content);
}

export function isMain({ name, attributes }: HtmlElement): boolean {
  return name === 'main' || attributes.role === 'main';
}

/** Results of `isTableOfContents`, which is called for each link of a list. */
const tablesOfContents = new WeakMap<HtmlElement, boolean>();

/** Whether an element is a list of nothing but links into the page itself. */
export function isTableOfContents(element: HtmlElement): boolean {
  const { name, size } = element;
  if ((name !== 'ul' && name !== 'ol') || size.links < 2 || size.linked < size.text * 0.8) return false;
  return tablesOfContents.getOrInsertComputed(element, () => element.elements.every(hasOnlyInPageLinks));
}

/** Whether a block is nothing but a link into the page, such as one that skips its frame. */
export function isInPageLink({ text, linked, inline, element }: Block): boolean {
  return linked === text.length && (element.name === 'a' ? [element] : inline).every(hasOnlyInPageLinks);
}

function hasOnlyInPageLinks(element: HtmlElement): boolean {
  if (element.name === 'a') return element.attribute('href').startsWith('#') && element.attributes.role !== 'tab';
  return element.elements.every(hasOnlyInPageLinks);
}

/** ARIA roles of what surrounds the main part of a page, or stands before it. */
const FRAME_ROLES = /^(?:navigation|contentinfo|search|dialog|alertdialog)$/;

/** Whether an element is part of the page's frame by its name or its role. */
export function isFrame({ name, attributes, size, parent }: HtmlElement): boolean {
  if (name === 'nav' || FRAME_ROLES.test(attributes.role ?? '')) return true;
  // Ancestors are searched last, because a page may be hundreds of elements deep.
  if (name !== 'footer' && (name !== 'header' || size.headings > 0)) return false;
  return !closest(parent, (node) => /^(?:article|section|main|blockquote)$/.test(node.name));
}
