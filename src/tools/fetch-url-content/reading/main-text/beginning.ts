import type { DomElement } from '../html/dom.ts';
import { textLength } from './clean-page.ts';
import { type Block, isProse, keyOf, proseLength } from './prose.ts';

/** Where a page's own text begins. */
export interface TextBeginning {
  /** The first prose behind the title. */
  prose: readonly Block[];
  /** All blocks behind the title. */
  behind: readonly Block[];
}

/** Blocks behind the heading among which its text begins. */
const REACH = 120;
/** Those in which it follows at once. */
const NEAR = 6;
const HEADING = /^H[1-4]$/;
/** Of the prose, what is looked at. */
const PROSE = 3;
/** A name this short may stand anywhere; in letters. */
const LEAST_TITLE = 8;

/**
 * Finds the beginning of a page's text. Pages are full of text that is longer than theirs: lives of authors, other
 * articles, comments, notes on cookies. Behind the title stands what it is the title of.
 * @param blocks those of the page, cleaned of what stands around its text.
 */
export function beginningOf(blocks: readonly Block[], title: string): TextBeginning | undefined {
  const at = titleAt(blocks, title);
  if (at === -1) return undefined;
  const behind = blocks.slice(at + 1);
  const near = behind.slice(0, REACH).filter(({ element }) => !isCaption(element));
  const prose = upToHeading(near, isProse) ?? upToHeading(near, isShortText) ?? [];
  return prose.length === 0 ? undefined : { prose, behind };
}

/** Which block is the heading of the page; -1 where none is. A page shows its title in sliders and menus, too. */
export function titleAt(blocks: readonly Block[], title: string): number {
  const wanted = letters(title);
  const isTitle = ({ text }: Block) => {
    const own = letters(text);
    if (own.length < LEAST_TITLE || wanted.length < LEAST_TITLE) return false;
    return own.length > wanted.length * 2 ? own.startsWith(wanted) : wanted.includes(own) || own.includes(wanted);
  };
  const found = blocks.flatMap((block, at) => (HEADING.test(block.element.tagName) && isTitle(block) ? at : []));
  const isFollowed = (at: number) => {
    const next = blocks
      .slice(at + 1, at + 1 + NEAR)
      .find((block) => isProse(block) || HEADING.test(block.element.tagName));
    return next !== undefined && isProse(next);
  };
  const isTop = (at: number) => blocks[at]?.element.tagName === 'H1';
  const best = found.find(isTop) ?? found.find(isFollowed) ?? found[0];
  if (best !== undefined) return best;
  const tops = blocks.flatMap(({ element }, at) => (element.tagName === 'H1' ? at : []));
  return tops.length === 1 ? (tops[0] ?? -1) : -1;
}

/** An introduction that an extraction may have lost: so many blocks, and so much of its own length. */
const MAX_SKIPPED = 2;
const SKIPPED_SHARE = 0.25;

/** Whether an extraction is something else than what stands behind the title. */
export function missesBeginning(found: readonly Block[], beginning: TextBeginning | undefined): boolean {
  if (beginning === undefined) return false;
  const known = new Set(found.map(({ text }) => keyOf(text)));
  const skipped: Block[] = [];
  let isBehindAnother = false;
  for (const block of beginning.behind) {
    isBehindAnother ||= skipped.length > 0 && block.element.tagName === 'H1';
    if (!isProse(block) && !beginning.prose.includes(block)) continue;
    if (known.has(keyOf(block.text))) {
      const isMore = skipped.length > MAX_SKIPPED || proseLength(skipped) > proseLength(found) * SKIPPED_SHARE;
      return isBehindAnother || isMore;
    }
    if (!isCaption(block.element)) skipped.push(block);
  }
  // Where little stands behind the title, the text went with what was cleaned away.
  return proseLength(skipped) > proseLength(found) * SKIPPED_SHARE;
}

/** The first blocks of a kind, and none behind the heading that follows these. */
function upToHeading(blocks: readonly Block[], isWanted: (block: Block) => boolean): Block[] | undefined {
  const first = blocks.findIndex(isWanted);
  if (first === -1) return undefined;
  const next = blocks.findIndex(({ element }, at) => at > first && /^H[1-6]$/.test(element.tagName));
  return blocks
    .slice(first, next === -1 ? undefined : next)
    .filter(isWanted)
    .slice(0, PROSE);
}

/** A sentence that is too short for prose: short notes are texts of their own. */
function isShortText({ text, linked }: Block): boolean {
  return text.length >= 40 && linked < text.length * 0.4 && /[.!?…"”“»。！？]$/.test(text);
}

/** Shares of the page's prose that make an element its article: one with the name of an article, that with one paragraph, any. */
const NAMED_SHARE = 0.05;
const LONE_SHARE = 0.15;
const ANY_SHARE = 0.4;

/** The element around the beginning that holds the article: one that says so, or one with much of the page's prose. */
export function articleAround(
  { prose }: TextBeginning,
  blocks: readonly Block[],
  root: DomElement,
): DomElement | undefined {
  const [first] = prose;
  if (first === undefined) return undefined;
  const around: DomElement[] = [];
  for (let each: DomElement | null = first.element; each !== null && each !== root; each = each.parentElement) {
    around.push(each);
  }
  const texts = blocks.filter((block) => isProse(block) || prose.includes(block));
  const lengths = lengthsAround(texts, around);
  const all = lengths.at(-1) ?? 0;
  const found = around.findIndex((element, at) => {
    const length = lengths[at] ?? 0;
    if (length >= all * ANY_SHARE && isProse(first)) return true;
    const least = length > first.text.length ? NAMED_SHARE : LONE_SHARE;
    return length >= all * least && isNamed(element);
  });
  const element = around[found];
  return element && textLength(element) >= Math.max(LEAST_ARTICLE, LEAST_TEXT * textLength(root)) ? element : undefined;
}

/** A remark in a page of tables and lists is not its text: the least of an article, in characters and of the page. */
const LEAST_ARTICLE = 120;
const LEAST_TEXT = 0.05;

/** Names of elements that hold one article. */
const ARTICLE_NAME =
  /(?:^|[\s_-])(?:entry|post|article|story|news|page|blog|recipe|product)-{0,2}_{0,2}(?:content|body|text|main)(?:$|[\s_-])/i;

function isNamed(element: DomElement): boolean {
  if (element.tagName === 'ARTICLE' || element.getAttribute('itemprop') === 'articleBody') return true;
  return ARTICLE_NAME.test(element.className.slice(0, 500));
}

/** How much of these blocks each of the elements holds, one inside the next; last, all of it. Looks at each once. */
function lengthsAround(blocks: readonly Block[], around: readonly DomElement[]): number[] {
  const places = new Map<DomElement, number>(around.map((element, at) => [element, at]));
  const added = Array.from({ length: around.length + 1 }, () => 0);
  for (const block of blocks) {
    const path: DomElement[] = [];
    let place: number | undefined;
    for (let each: DomElement | null = block.element; each !== null; each = each.parentElement) {
      place = places.get(each);
      if (place !== undefined) break;
      path.push(each);
    }
    const at = place ?? around.length;
    for (const each of path) places.set(each, at);
    added[at] = (added[at] ?? 0) + block.text.length;
  }
  let sum = 0;
  return added.map((length) => {
    sum += length;
    return sum;
  });
}

/** Whether an element describes a picture. */
export function isCaption(element: DomElement): boolean {
  if (element.closest('figure, figcaption')) return true;
  const names = `${element.className} ${element.parentElement?.className ?? ''}`;
  return /caption|credit|copyright|image|photo|gallery|video/i.test(names.slice(0, 500));
}

function letters(text: string): string {
  return text
    .slice(0, 400)
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
