import type { DomElement } from '../html/dom.ts';
import { titleAt } from './beginning.ts';
import { CREDIT_WORDS, END_WORDS, INSET_CLASS, INSET_LABEL, INSET_WORDS, isNotice } from './boilerplate.ts';
import { removeNoise } from './clean-page.ts';
import { type Block, blocksOf, isAlone, isProse } from './prose.ts';

/**
 * Takes out of an article what its publisher put into it and behind it: captions and credits, links to other articles,
 * tags, calls to subscribe or to comment. Only small parts go; whatever holds a good part of the text stays.
 */
export function pruneArticle(root: DomElement, { title, isArticle }: { title: string; isArticle: boolean }): void {
  removeNoise(root);
  const all = Math.max(1, lengthOf(blocksOf(root)));
  const isSmall = (element: DomElement) => lengthOf(blocksOf(element)) < Math.max(60, all * 0.15);
  const insets = [...root.querySelectorAll('[class]')].filter((element) => {
    if (/^(H[1-6]|TABLE|TBODY|TR|TD|PRE|CODE|ARTICLE|MAIN|BODY)$/.test(element.tagName)) return false;
    const names = (element.getAttribute('class') ?? '').slice(0, 500);
    return INSET_CLASS.test(names) && isSmall(element) && !element.querySelector('pre, table, h1');
  });
  const outer = new Set(insets);
  for (const inset of insets) if (hasAround(inset, outer)) outer.delete(inset);
  // Where they are most of the page they are its text: the teasers of a category.
  const inInsets = [...outer].reduce((sum, inset) => sum + lengthOf(blocksOf(inset)), 0);
  if (inInsets < all * 0.5) for (const inset of outer) inset.remove();
  for (const caption of [...root.querySelectorAll('figcaption')]) {
    if (isCredit(caption.textContent) && !caption.querySelector('pre, table')) caption.remove();
  }
  removeInsets(root);
  cutEnd(root, all);
  trimStart(root, { title, isArticle });
  if (isArticle) trimEnd(root);
}

/** Short lines at the start of an article that are looked at, and at its end. */
const MAX_TRIMMED = 12;

/** Where an article was published and by whom, when it begins with it: metadata tells it. */
const ABOUT_LINE =
  /^(?:by|von|par|por|di|da|door|af|av|written by|posted (?:by|on|in)|published|updated|last updated|veröffentlicht|aktualisiert|geändert|stand|geschrieben|erstellt|publié|mis à jour|publicado|actualizado|pubblicato|gepubliceerd|autor|author|redaktion|skip to|jump to|zum inhalt|aller au|saltar|ir al|vai al)\b/i;

/** A date, or a time of day. */
const DATE =
  /\b\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}\.?\s+(?:de\s+)?\p{L}{3,10}\.?,?\s+(?:de\s+)?\d{4}\b|\b\p{L}{3,10}\.?\s+\d{1,2},?\s+\d{4}\b|\d{4}年\d{1,2}月\d{1,2}日/u;

/**
 * Takes the lines away that stand between the beginning of an article and its text: where in the site it is, who wrote
 * it and when. What is above the title goes too, unless it is prose.
 */
function trimStart(root: DomElement, { title, isArticle }: { title: string; isArticle: boolean }): void {
  const blocks = blocksOf(root);
  const first = blocks.findIndex(isProse);
  if (first === -1) return;
  const heading = titleAt(blocks.slice(0, first), title);
  for (const [at, block] of blocks.slice(0, first).entries()) {
    if (at === heading || !standsAlone(blocks, at, root)) continue;
    // The name of a manual stands above that of its page.
    const isKept = !isArticle && /^H[1-6]$/.test(block.element.tagName);
    const isAbove = at < heading && heading - at <= MAX_TRIMMED && !isKept;
    if (isAbove || (first - at <= MAX_TRIMMED && tellsAbout(block))) block.element.remove();
  }
}

function tellsAbout({ element, text, linked }: Block): boolean {
  if (text.length > 90 || /^(?:H[1-6]|LI|TD|TH|DT|DD|PRE)$/.test(element.tagName)) return false;
  return ABOUT_LINE.test(text) || linked > text.length * 0.6 || (DATE.test(text) && text.length < 60);
}

/** Takes headings away behind which nothing follows, and words that introduce what is gone. */
function trimEnd(root: DomElement): void {
  removeLastLinks(root);
  const blocks = blocksOf(root);
  if (!blocks.some(isProse)) return;
  for (const [back, block] of blocks.slice(-MAX_TRIMMED).reverse().entries()) {
    const at = blocks.length - 1 - back;
    const isHeading = /^H[1-6]$/.test(block.element.tagName) && !isProse(block);
    const isLabel = block.text.length < 100 && /[:：]$/.test(block.text) && block.element.tagName !== 'LI';
    if (!(isHeading || isLabel) || !standsAlone(blocks, at, root) || blocks.length < 3) return;
    block.element.remove();
  }
}

/** A line above links that belong to the article: its sources. */
const SOURCES_LABEL =
  /quelle|source|referenc|literatur|links?\b|download|nachweis|bibliogra|fuente|fonte|anmerkung|notes?\b|studie|stud(?:y|ies)|dokument|document|материал|参考|出典/i;
const LONGEST_LINK = 160;

/** Takes away the links behind the last sentence of an article: they lead to other articles. */
function removeLastLinks(root: DomElement): void {
  const blocks = blocksOf(root);
  const isLink = ({ text, linked }: Block) => text.length < LONGEST_LINK && linked > text.length * 0.8;
  const last = blocks.findLastIndex((block) => !isLink(block));
  const links = blocks.slice(last + 1);
  const label = blocks[last];
  if (links.length === 0 || links.length > MAX_TRIMMED || !label || blocks.filter(isProse).length < 3) return;
  if (label.text.length < 100 && SOURCES_LABEL.test(label.text)) return;
  for (const [at, link] of links.entries()) if (standsAlone(blocks, last + 1 + at, root)) link.element.remove();
}

/** Whether a block is an element that can go without taking another block with it. */
function standsAlone(blocks: readonly Block[], at: number, root: DomElement): boolean {
  const element = blocks[at]?.element;
  if (element === undefined || element === root || !isAlone(blocks, at)) return false;
  return element.querySelector('pre, table, img') === null;
}

/** Whether a caption only says whose picture it is, or too little to stand without it. `Figure 3: ...` is spoken of. */
function isCredit(caption: string): boolean {
  const text = caption.slice(0, 2000).trim();
  if (/^(fig|figure|table|abb|abbildung|tab|tabelle|listing|chart|図|表|图)\.?\s?\d/i.test(text)) return false;
  return text.length < 60 || CREDIT_WORDS.test(text);
}

/** Lines that lead elsewhere: a link alone under a paragraph, or words that only introduce links. */
function removeInsets(root: DomElement): void {
  const blocks = blocksOf(root);
  for (const [at, { element, text, linked }] of blocks.entries()) {
    if (element === root || /^(H[1-6]|TD|TH|PRE|DT|DD|TABLE)$/.test(element.tagName)) continue;
    if (!isAlone(blocks, at)) continue;
    const isLink = linked > text.length * 0.8;
    const isLoud = isLink && text.length > 20 && text === text.toUpperCase() && /\p{Lu}{4}/u.test(text);
    const isInset = text.length < 250 && INSET_WORDS.test(text) && (isLink || text.length < 90);
    if (isInset || isLoud || isNotice(text)) element.remove();
  }
}

/**
 * Cuts at the first heading in the last part of the article behind which only other things follow. Where the article
 * goes on behind them, they alone go.
 */
function cutEnd(root: DomElement, all: number): void {
  const blocks = blocksOf(root);
  const holder = mainHolder(blocks);
  let behind = lengthOf(blocks);
  let cut: 'inset' | 'end' | undefined;
  for (const block of blocks) {
    const { element, text } = block;
    behind -= text.length;
    const goesOn = isProse(block) && element.parentElement === holder && text.length > LEAST_GOING_ON;
    if (cut === 'inset' && goesOn) cut = undefined;
    const isLate = all - behind > all * 0.5;
    if (cut !== 'end' && isLate && text.length <= 80 && END_WORDS.test(text)) {
      cut = INSET_LABEL.test(text) ? 'inset' : 'end';
    }
    if (cut) removeWithin(element, root);
  }
}

/** Prose of at least this length behind other things is that of the article; in characters. */
const LEAST_GOING_ON = 120;

/** The element whose children are most of the prose. */
function mainHolder(blocks: readonly Block[]): DomElement | undefined {
  const lengths = new Map<DomElement, number>();
  for (const block of blocks) {
    const holder = block.element.parentElement;
    if (!isProse(block) || block.element.tagName !== 'P' || holder === null) continue;
    lengths.set(holder, (lengths.get(holder) ?? 0) + block.text.length);
  }
  return [...lengths].sort(([, a], [, b]) => b - a)[0]?.[0];
}

function hasAround(element: DomElement, others: ReadonlySet<DomElement>): boolean {
  for (let each = element.parentElement; each !== null; each = each.parentElement) if (others.has(each)) return true;
  return false;
}

/** Removes an element, or empties it where it is the whole text. */
function removeWithin(element: DomElement, root: DomElement): void {
  if (element !== root && root.contains(element)) element.remove();
}

function lengthOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { text }) => sum + text.length, 0);
}
