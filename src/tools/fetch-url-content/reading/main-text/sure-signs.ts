import type { Block } from '../html/blocks.ts';
import { closest, findElement, type HtmlElement, lineOf } from '../html/tree.ts';
import type { PageShape } from './shape.ts';

/** What the structure of a page says of a block for sure: it is of the text, or it is not. No weights. */

/** Elements beside the text, by their names. */
export const ASIDE = /^(?:aside|nav|form|footer)$/;

/** Whether the markup of what holds a block, or of what it holds, says that it is text. */
export function isSaidToBeText({ element, inline }: Block): boolean {
  const isText = (each: HtmlElement) => each.isText;
  return closest(element, isText) !== undefined || inline.some((each) => isText(each) || findElement(each, isText));
}

/** Whether an element is of a panel with sentences that a click opens, beside the title and the text. */
export function isInPanel(element: HtmlElement, shape: PageShape): boolean {
  const panel = closest(
    element,
    ({ name, attributes: { role, id = '' } }) => name === 'details' || role === 'tabpanel' || shape.opened.has(id),
  );
  if (!panel || panel.size.prose === 0 || panel.size.linked > panel.size.text * 0.3) return false;
  return isInBox(panel, shape);
}

/** Whether an element is of facts that stand beside the title and the text. */
export function isFacts(element: HtmlElement, shape: PageShape): boolean {
  const facts = closest(element, (each) => shape.facts.has(each));
  return facts !== undefined && !shape.around.has(facts) && isInBox(facts, shape);
}

/** Whether a block is a sentence right behind the title, beside it. Articles have notices there, too. */
export function isLead(at: number, { blocks, title, holder, isArticle }: PageShape): boolean {
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const heading = blocks[title]?.element;
  if (isArticle || !element || !heading || at !== title + 1 || linked > 0 || !/[.!?。]$/.test(text)) return false;
  const isBeside = [heading.parent, heading.parent?.parent].some((each) => each === element.parent);
  return isBeside && holder.size.prose > text.length;
}

/** Whether a block with sentences stands in an element that was made by the template of the holder: another post. */
export function isOfHoldersKind(at: number, { blocks, prose, holder }: PageShape): boolean {
  if (!prose[at]) return false;
  const made = closest(blocks[at]?.element, (each) => each !== holder && isAlike(each, holder));
  return made !== undefined && [1, 2, 3, 4].every((up) => isAlike(above(made, up), above(holder, up)));
}

function above(element: HtmlElement | undefined, up: number): HtmlElement | undefined {
  return up === 0 ? element : above(element?.parent, up - 1);
}

function isAlike(one: HtmlElement | undefined, other: HtmlElement | undefined): boolean {
  return one?.name === other?.name && one?.attributes.class === other?.attributes.class;
}

function isInBox(element: HtmlElement, { box }: PageShape): boolean {
  const edge = closest(element, (each) => each === box || ASIDE.test(each.name));
  return box !== undefined && edge === box;
}

/** Whether an element is not of the text, whatever is seen of it: a form, a part of the frame, another story. */
export function isOut(element: HtmlElement, shape: PageShape): boolean {
  return asksForSomething(element, shape) || isAround(element) || isOfNextStory(element, shape);
}

/** A form with its introduction is no longer than this, in characters. */
const LONGEST_FORM = 400;

/** Whether an element is of a form that a reader should fill in, or of what stands beside it. */
function asksForSomething(element: HtmlElement, { around, holder }: PageShape): boolean {
  let box: HtmlElement | undefined;
  for (let each: HtmlElement | undefined = element; each && !around.has(each); each = each.parent) {
    if (each.size.text > LONGEST_FORM || each.size.text > holder.size.text / 2) break;
    box = each;
  }
  return box !== undefined && box.size.fields > 0;
}

/** What ARIA names beside the main part of a page. */
const AROUND = /^(?:navigation|contentinfo|search)$/;

/** Whether an element says of itself that it stands around the text: by its role, or as a list of the page's own chapters. */
export function isAround(element: HtmlElement): boolean {
  if (closest(element, ({ attributes }) => AROUND.test(attributes.role ?? ''))) return true;
  const beside = closest(element, ({ attributes }) => attributes.role === 'complementary');
  if (beside && beside.size.text < LONGEST_FORM && beside.size.links > 0 && beside.size.linked > beside.size.text / 2)
    return true;
  return closest(element, isListOfChapters) !== undefined;
}

/** Lists that `isListOfChapters` has looked through: each of their links asks for it. */
const looked = new WeakMap<HtmlElement, boolean>();

/** Whether an element is a list of links to places of the page itself, and of nothing else. */
function isListOfChapters(element: HtmlElement): boolean {
  const { name, size } = element;
  if ((name !== 'ul' && name !== 'ol') || size.links < 2 || size.linked < size.text * 0.8) return false;
  const known = looked.get(element) ?? element.elements.every(leadsWithin);
  looked.set(element, known);
  return known;
}

/** Whether a block is a note for readers without scripts, beside the text. */
export function isForScriptless({ element, inline }: Block, { around }: PageShape): boolean {
  const isNote = (each: HtmlElement) => each.name === 'noscript' && !around.has(each);
  return (
    closest(element, isNote) !== undefined ||
    (inline.some(isNote) && inline.every((each) => isNote(each) || lineOf(each) === ''))
  );
}

/** Whether a block is a link past the frame of the page, and nothing else. */
export function isJump({ text, linked, inline, element }: Block): boolean {
  return linked === text.length && (element.name === 'a' ? [element] : inline).every(leadsWithin);
}

function leadsWithin(element: HtmlElement): boolean {
  if (element.name === 'a') return element.attribute('href').startsWith('#') && element.attributes.role !== 'tab';
  return element.elements.every(leadsWithin);
}

/** Whether an element is of an article that stands behind the one of the title, with a title of its own. */
function isOfNextStory(element: HtmlElement, { blocks, title }: PageShape): boolean {
  const heading = blocks[title]?.element;
  const isArticle = ({ name }: HtmlElement) => name === 'article';
  const own = closest(element, isArticle);
  const story = closest(heading, isArticle);
  if (!heading || !own || !story || own === story || own.parent !== story.parent) return false;
  return blocks.some(
    (other, at) => at > title && other.element.name === heading.name && closest(other.element, isArticle) === own,
  );
}

/** Whether an element is by its name the frame of a page. */
export function isFrame({ name, size, parent }: HtmlElement): boolean {
  if (name === 'nav') return true;
  // What is around an element is looked at of few: pages may be hundreds of elements deep.
  if (name !== 'footer' && (name !== 'header' || size.headings > 0)) return false;
  return !closest(parent, (each) => /^(?:article|section|main|blockquote)$/.test(each.name));
}
