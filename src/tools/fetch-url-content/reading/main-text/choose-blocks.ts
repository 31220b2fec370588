import { type Block, lettersOf } from '../html/blocks.ts';
import type { PageDescription } from '../html/page-metadata.ts';
import { closest, type HtmlElement } from '../html/tree.ts';
import { featuresOf } from './features.ts';
import { contentOf, isInPageLink } from './page-frame.ts';
import { HEADING, type PageShape, pageShape } from './page-shape.ts';
import { technicalText } from './technical-text.ts';
import {
  ASIDE,
  isExcluded,
  isInFacts,
  isInPanel,
  isInPost,
  isMarkedAsText,
  isOtherPost,
  isScriptNotice,
  isStandfirst,
} from './text-rules.ts';
import { BIAS, WEIGHTS } from './weights.ts';

/** How much more a block that is mostly links must score, and from which share of links on it is. */
const LINKS_PENALTY = 1;
const MOSTLY_LINKS = 0.7;

/**
 * Decides which blocks are main text, by the weights of their features and by certain rules. Lists, tables and figures
 * are kept or dropped whole; a heading goes with what follows it.
 */
export function chooseBlocks(blocks: readonly Block[], description: PageDescription): boolean[] {
  const shape = pageShape(blocks, description);
  if (!shape || isReference(shape)) return withoutFrame(blocks);
  const technical = technicalText(shape);
  const kept = blocks.map(() => false);
  for (const members of unitsOf(blocks, shape)) {
    let sum = 0;
    for (const at of members) {
      const { text = '', linked = 0 } = blocks[at] ?? {};
      sum += Math.sqrt(text.length) * (scoreOf(at, shape) - (linked > text.length * MOSTLY_LINKS ? LINKS_PENALTY : 0));
    }
    for (const at of members) kept[at] = sum > 0;
  }
  for (const [at, block] of blocks.entries()) {
    const { element } = block;
    if (isMarkedAsText(block) || isInPost(element, shape)) kept[at] = true;
    else if (isExcluded(element, shape) || (kept[at] && isScriptNotice(block, shape))) kept[at] = false;
    else if (at < shape.first && at !== shape.title && isInPageLink(block)) kept[at] = false;
    else if (!kept[at]) {
      kept[at] =
        (at > shape.title && shape.told.has(at)) ||
        technical.has(block) ||
        isInPanel(element, shape) ||
        isInFacts(element, shape) ||
        isOtherPost(at, shape) ||
        isBetween(at, shape, kept) ||
        isCaption(at, blocks, kept, shape) ||
        isLastSentence(at, blocks, kept, shape);
    }
  }
  for (const at of enclosedSentences(kept, shape)) kept[at] = true;
  for (const at of introducedBy(blocks, kept)) kept[at] = true;
  const isHeading = (at: number) => HEADING.test(blocks[at]?.element.name ?? '');
  for (let at = blocks.length - 1; at >= 0; at--) {
    if (!isHeading(at) || at === shape.title) continue;
    const opensSection = kept[at] && kept[at + 1] && isHeading(at + 1);
    kept[at] = opensSection || hasTextBelow(at, blocks, kept) || scoreOf(at, shape) > KEPT_ALONE;
  }
  for (let at = shape.title; at < shape.first; at++) if (isStandfirst(at, shape)) kept[at] = true;
  for (const at of textAfterHeadings(blocks, kept, shape)) kept[at] = true;
  // The heading is kept unless the page's title repeats it.
  const heading = lettersOf(blocks[shape.title]?.text ?? '', 100);
  if (!lettersOf(description.metadata.title, 300).includes(heading)) kept[shape.title] = true;
  return kept.includes(true)
    ? kept
    : blocks.map(({ element }) => closest(element, (node) => node === shape.holder) !== undefined);
}

/** The share of sentences in the main part of a page below which it is a reference: signatures, tables, short notes. */
const REFERENCE_PROSE = 0.2;

function isReference({ main, isArticle }: PageShape): boolean {
  if (!main || main.name === 'article' || isArticle) return false;
  return main.size.prose < main.size.text * REFERENCE_PROSE;
}

/** For a page with few sentences or none: drops its frame, what stands beside its content, and links above its title. */
function withoutFrame(blocks: readonly Block[]): boolean[] {
  const title = blocks.findIndex(({ element }) => element.name === 'h1');
  const content = contentOf(blocks, title);
  const kept = blocks.map(
    (block, at) => content.has(block) && (at >= title || block.linked < block.text.length * MOSTLY_LINKS),
  );
  return kept.includes(true) ? kept : blocks.map(() => true);
}

function scoreOf(at: number, shape: PageShape): number {
  let score = BIAS;
  for (const name of featuresOf(at, shape)) score += WEIGHTS.get(name) ?? 0;
  return score;
}

/** How far above the holder of the text the parent of a last sentence may be, and how far after text it may be. */
const NEAR_END = 3;

/** Whether a block is a sentence directly after the text, outside of its holder. */
function isLastSentence(at: number, blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): boolean {
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const parent = element?.parent;
  if (!parent || parent.name === 'body' || element.name !== 'p' || linked > text.length / 2) return false;
  if (at <= shape.last || (shape.holderDepths.get(parent) ?? NEAR_END + 1) > NEAR_END || !/[.!?。]$/.test(text))
    return false;
  return kept.slice(Math.max(0, at - NEAR_END), at).includes(true);
}

/** How far from a sentence the text before and after it may be, in blocks. */
const MAX_DISTANCE = 4;

/** Dropped sentences between sentences of the text: panels, answers, notes. */
function* enclosedSentences(kept: readonly boolean[], { blocks, prose }: PageShape): Generator<number> {
  const isText = (at: number) => kept[at] === true && prose[at] === true;
  for (const [at, { element }] of blocks.entries()) {
    if (kept[at] || !prose[at]) continue;
    const steps = Array.from({ length: MAX_DISTANCE }, (_, step) => step + 1);
    if (!steps.some((step) => isText(at - step)) || !steps.some((step) => isText(at + step))) continue;
    if (closest(element, ({ name }) => ASIDE.test(name))) continue;
    yield at;
  }
}

/** Blocks of one kind directly after a line with a colon, such as links to the sources of a text. */
function* introducedBy(blocks: readonly Block[], kept: readonly boolean[]): Generator<number> {
  for (const [at, { text, element }] of blocks.entries()) {
    if (!kept[at] || !/[:：]$/.test(text)) continue;
    for (let next = at + 1; blocks[next]?.element.parent === element.parent; next++) {
      if (blocks[next]?.element.name !== element.name || kept[next]) break;
      yield next;
    }
  }
}

/** Whether a block, or its list or table, is directly between two blocks of the text with the same parent. */
function isBetween(at: number, shape: PageShape, kept: readonly boolean[]): boolean {
  const { blocks } = shape;
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const unit = element && unitAround(element, shape);
  if (!unit?.parent || linked > text.length / 2 || unit.size.linked > unit.size.text / 2) return false;
  // A block's own element may hold other blocks, too: these are then its neighbours.
  const [before, after] = unit === element ? [at - 1, at + 1] : neighboursOf(unit, at, blocks);
  // A heading before the block is decided later, by what follows it.
  if (!kept[after] || (!kept[before] && !HEADING.test(blocks[before]?.element.name ?? ''))) return false;
  const { parent } = unit;
  return [blocks[before], blocks[after]].every((other) => other && isNearChild(nearestUnit(other.element), parent));
}

/** The list, table or figure around an element, or the element itself. */
function nearestUnit(element: HtmlElement): HtmlElement {
  return closest(element, ({ name }) => UNIT.test(name)) ?? element;
}

/** Results of `neighboursOf` by blocks and element, so that a long list is walked only once. */
const neighbours = new WeakMap<readonly Block[], Map<HtmlElement, [number, number]>>();

/** The indexes of the blocks directly before and after an element that holds the block at `at`. */
function neighboursOf(box: HtmlElement, at: number, blocks: readonly Block[]): [number, number] {
  const known = neighbours.getOrInsertComputed(blocks, () => new Map());
  return known.getOrInsertComputed(box, () => {
    const isInside = (place: number) => isWithin(blocks[place]?.element, box);
    let before = at - 1;
    while (isInside(before)) before--;
    let after = at + 1;
    while (isInside(after)) after++;
    return [before, after];
  });
}

function isNearChild({ parent }: HtmlElement, box: HtmlElement): boolean {
  return parent === box || parent?.parent === box;
}

function isWithin(element: HtmlElement | undefined, box: HtmlElement | undefined): boolean {
  return closest(element, (node) => node === box) !== undefined;
}

/** Whether a block is the caption of a figure beside or between main text. */
function isCaption(at: number, blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): boolean {
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const figure = closest(element, ({ name }) => name === 'figure');
  if (!figure || at < shape.title || linked > text.length / 2) return false;
  if (!closest(element, ({ name }) => name === 'figcaption')) return false;
  const [before, after] = neighboursOf(figure, at, blocks);
  const isBeside = (place: number) => {
    const other = blocks[place]?.element;
    return kept[place] === true && other !== undefined && nearestUnit(other).parent === figure.parent;
  };
  return isBeside(before) || isBeside(after) || (kept[before] === true && kept[after] === true);
}

/** A heading with a higher score is kept even if nothing after it is. */
const KEPT_ALONE = 3;

const UNIT = /^(?:ul|ol|dl|table|figure|pre)$/;

/** Groups of blocks, by index, that are kept or dropped together. */
function unitsOf(blocks: readonly Block[], shape: PageShape): Iterable<number[]> {
  const units = new Map<HtmlElement, number[]>();
  for (const [at, { element }] of blocks.entries()) {
    units.getOrInsertComputed(unitAround(element, shape), () => []).push(at);
  }
  return units.values();
}

/** Whether an element is a list of headlines that link elsewhere. */
function isListOfLinks({ name, size }: HtmlElement): boolean {
  return /^[uo]l$/.test(name) && size.headings > 2 && size.linked > size.text * MOSTLY_LINKS;
}

/** The outermost list, table or figure without headings around an element; else the element itself. */
function unitAround(element: HtmlElement, { holderDepths }: PageShape): HtmlElement {
  let unit = element;
  for (let node: HtmlElement | undefined = element; node && !holderDepths.has(node); node = node.parent) {
    if (node.size.headings > 0 && node.name !== 'li' && !isListOfLinks(node)) break;
    if (UNIT.test(node.name)) unit = node;
  }
  return unit;
}

/** How many blocks after a heading may separate it from text that keeps it. */
const MAX_LEAD = 3;

/** Dropped sentences and captions directly after a kept heading. */
function* textAfterHeadings(blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): Generator<number> {
  for (const [at, block] of blocks.entries()) {
    const { element, text, linked } = block;
    const next = blocks[at + 1];
    if (!kept[at] || kept[at + 1] || !next || !HEADING.test(element.name)) continue;
    // A heading that is a link belongs to another story.
    if (linked > text.length * MOSTLY_LINKS && !isInPageLink(block)) continue;
    const isText = shape.prose[at + 1] || closest(next.element, ({ name }) => name === 'figcaption');
    if (isText && isWithin(next.element, element.parent) && !isExcluded(next.element, shape)) yield at + 1;
  }
}

/** Whether kept text follows a heading before the next heading of its level. */
function hasTextBelow(at: number, blocks: readonly Block[], kept: readonly boolean[]): boolean {
  const level = blocks[at]?.element.name ?? '';
  for (let next = at + 1; next <= at + MAX_LEAD; next++) {
    const name = blocks[next]?.element.name ?? '';
    if (HEADING.test(name) && name <= level) return false;
    if (kept[next]) return true;
  }
  return false;
}
