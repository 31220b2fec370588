import { type Block, lettersOf } from '../html/blocks.ts';
import { closest, findElement, type HtmlElement, lineOf } from '../html/tree.ts';
import { isFrame, isTableOfContents } from './page-frame.ts';
import type { PageShape } from './page-shape.ts';

/** Rules by which the structure of a page alone puts a block into the main text or out of it. They overrule the weights. */

/** Names of elements beside the main text. */
export const ASIDE = /^(?:aside|nav|form|footer)$/;

/** Whether the markup around a block or within it says that it is main text. */
export function isMarkedAsText({ element, inline }: Block): boolean {
  const isText = (node: HtmlElement) => node.isMarkedText;
  return closest(element, isText) !== undefined || inline.some((node) => isText(node) || findElement(node, isText));
}

/** Whether an element is in a panel of sentences that opens on a click, in the box of the title and the text. */
export function isInPanel(element: HtmlElement, shape: PageShape): boolean {
  const panel = closest(
    element,
    ({ name, attributes: { role, id = '' } }) => name === 'details' || role === 'tabpanel' || shape.panelIds.has(id),
  );
  if (!panel || panel.size.prose === 0 || panel.size.linked > panel.size.text * 0.3) return false;
  return isInBox(panel, shape);
}

/** Whether an element is in a list or table of facts, in the box of the title and the text. */
export function isInFacts(element: HtmlElement, shape: PageShape): boolean {
  const facts = closest(element, (node) => shape.facts.has(node));
  return facts !== undefined && !shape.holderDepths.has(facts) && isInBox(facts, shape);
}

/** The shortest text that a page's summary of itself can confirm, and how much of a longer one is compared; in letters. */
const MIN_SUMMARY = 20;
const MAX_SUMMARY = 60;
/** How many blocks after the title are searched for it. */
const NEAR_TITLE = 12;

/** Whether a block before the text is also the page's summary of itself: its standfirst. */
export function isStandfirst(at: number, { blocks, title, first, summaryLetters }: PageShape): boolean {
  if (at <= title || at >= first || at > title + NEAR_TITLE) return false;
  const letters = lettersOf(blocks[at]?.text ?? '', MAX_SUMMARY);
  if (letters.length < MIN_SUMMARY || !summaryLetters.includes(letters)) return false;
  return !blocks.some(({ text }, other) => other > at && lettersOf(text, MAX_SUMMARY) === letters);
}

/** Whether an element is in the text of a post of a thread. */
export function isInPost(element: HtmlElement, { posts }: PageShape): boolean {
  return closest(element, (node) => posts.has(node)) !== undefined;
}

/** Whether a block of sentences is in another element with the same markup as the holder, such as the next post. */
export function isOtherPost(at: number, { blocks, prose, holder }: PageShape): boolean {
  if (!prose[at]) return false;
  const post = closest(blocks[at]?.element, (node) => node !== holder && isAlike(node, holder));
  return post !== undefined && [1, 2, 3, 4].every((up) => isAlike(ancestor(post, up), ancestor(holder, up)));
}

function ancestor(element: HtmlElement | undefined, up: number): HtmlElement | undefined {
  return up === 0 ? element : ancestor(element?.parent, up - 1);
}

function isAlike(a: HtmlElement | undefined, b: HtmlElement | undefined): boolean {
  return a?.name === b?.name && a?.attributes.class === b?.attributes.class;
}

function isInBox(element: HtmlElement, { box }: PageShape): boolean {
  const edge = closest(element, (node) => node === box || ASIDE.test(node.name));
  return box !== undefined && edge === box;
}

/** Whether an element is certainly not main text: a form, a part of the frame or another story. */
export function isExcluded(element: HtmlElement, shape: PageShape): boolean {
  const isAround = (node: HtmlElement) =>
    isTableOfContents(node) || (node.name !== 'header' && isFrame(node) && !shape.holderDepths.has(node));
  if (closest(element, isAround)) return true;
  return isInForm(element, shape) || isOfNextStory(element, shape);
}

/** The longest form with its introduction, in characters. */
const MAX_FORM_LENGTH = 400;

/** Whether an element is in a form to fill in, or in the text around its fields. */
function isInForm(element: HtmlElement, { holderDepths, holder }: PageShape): boolean {
  let box: HtmlElement | undefined;
  for (let node: HtmlElement | undefined = element; node && !holderDepths.has(node); node = node.parent) {
    if (node.size.text > MAX_FORM_LENGTH || node.size.text > holder.size.text / 2) break;
    box = node;
  }
  return box !== undefined && box.size.fields > 0;
}

/** Whether a block is a notice for readers without scripts, outside of the elements around the text. */
export function isScriptNotice({ element, inline }: Block, { holderDepths }: PageShape): boolean {
  const isNote = (node: HtmlElement) => node.name === 'noscript' && !holderDepths.has(node);
  return (
    closest(element, isNote) !== undefined ||
    (inline.some(isNote) && inline.every((node) => isNote(node) || lineOf(node) === ''))
  );
}

/** Whether an element is in a later article than the one of the title, with a title of its own. */
function isOfNextStory(element: HtmlElement, { blocks, title }: PageShape): boolean {
  const heading = blocks[title]?.element;
  const isArticle = ({ name }: HtmlElement) => name === 'article';
  const article = closest(element, isArticle);
  const story = closest(heading, isArticle);
  if (!heading || !article || !story || article === story || article.parent !== story.parent) return false;
  return blocks.some(
    (other, at) => at > title && other.element.name === heading.name && closest(other.element, isArticle) === article,
  );
}
