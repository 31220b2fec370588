import type { DomElement, MainText } from '../html/dom.ts';
import { isCaption } from './beginning.ts';
import { type Block, blocksOf, isProse, keyOf } from './prose.ts';

/** Blocks between a page's heading and the article that are taken for its introduction, at most. */
const MAX_INTRODUCTION = 3;
/** A heading belongs to one of so many blocks behind it. */
const REACH = 3;

/**
 * Puts back what an extraction loses most often: headings whose text it kept, and the introduction between the page's
 * heading and the article. `page` is the whole page, cleaned of what stands around the text.
 */
export function restoreParts(article: MainText, page: readonly Block[], options: { isArticle: boolean }): void {
  restoreIntroduction(article, page);
  // What stands between the parts of an article is more often the heading of something else.
  if (!options.isArticle) restoreHeadings(article, page);
}

function restoreHeadings({ root, document }: MainText, page: readonly Block[]): void {
  const places = new Map<string, DomElement>();
  const known = new Map<string, DomElement>();
  for (const { text, element } of blocksOf(root)) {
    if (levelOf(element) > 0) known.set(keyOf(text), element);
    else if (element !== root && !places.has(keyOf(text))) places.set(keyOf(text), element);
  }
  let pending: { level: number; text: string; age: number }[] = [];
  const restoreBefore = (place: DomElement) => {
    for (const heading of pending) {
      const restored = document.createElement(`h${heading.level}`);
      restored.textContent = heading.text;
      place.before(restored);
      known.set(keyOf(heading.text), restored);
    }
    pending = [];
  };
  for (const { text, element } of page) {
    const level = levelOf(element);
    if (level > 0) {
      // A heading above a higher one is not of this text: the name of the site, a menu.
      pending = pending.filter((above) => above.level <= level);
      const kept = known.get(keyOf(text));
      if (kept) restoreBefore(kept);
      else pending.push({ level, text, age: 0 });
      continue;
    }
    const place = places.get(keyOf(text));
    if (place && pending.length > 0) restoreBefore(outermost(place, root));
    for (const heading of pending) heading.age += 1;
    pending = pending.filter(({ age }) => age < REACH);
  }
}

/** Prose that stands right before the article and behind the page's heading. */
function restoreIntroduction({ root, document }: MainText, page: readonly Block[]): void {
  const [first] = blocksOf(root).filter(isProse);
  if (!first) return;
  const key = keyOf(first.text);
  const start = page.findIndex(({ text }) => keyOf(text) === key);
  const kept = new Set(blocksOf(root).map(({ text }) => keyOf(text)));
  const introduction: string[] = [];
  let isBelowHeading = false;
  for (let at = start - 1; at >= 0 && start - at <= 8; at--) {
    const block = page[at];
    if (!block) break;
    if (levelOf(block.element) > 0) {
      isBelowHeading = levelOf(block.element) === 1;
      break;
    }
    const isNew = isProse(block) && !kept.has(keyOf(block.text)) && !isCaption(block.element);
    if (isNew) introduction.unshift(block.text);
  }
  if (!isBelowHeading || introduction.length > MAX_INTRODUCTION) return;
  const place = outermost(first.element, root);
  if (place === root) return;
  for (const text of introduction) {
    const restored = document.createElement('p');
    restored.textContent = text;
    place.before(restored);
  }
}

/** The list or table around an element, so that nothing is put between its parts. */
function outermost(element: DomElement, root: DomElement): DomElement {
  const holder = element.closest('ul, ol, dl, table, blockquote, figure');
  return holder && holder !== root && root.contains(holder) ? holder : element;
}

function levelOf(element: DomElement): number {
  return /^H[1-6]$/.test(element.tagName) ? Number(element.tagName[1]) : 0;
}
