import { type Block, lettersOf } from '../html/blocks.ts';
import type { AboutPage } from '../html/page-metadata.ts';
import { closest, type HtmlElement } from '../html/tree.ts';
import { featuresOf } from './features.ts';
import { HEADING, type PageShape, pageShape } from './shape.ts';
import {
  ASIDE,
  isAround,
  isFacts,
  isForScriptless,
  isFrame,
  isInPanel,
  isJump,
  isLead,
  isOfHoldersKind,
  isOut,
  isSaidToBeText,
} from './sure-signs.ts';
import { BIAS, WEIGHTS } from './weights.ts';

/** What is mostly links needs so much more to be of the text. */
const LINKED_BAR = 1;
const MOSTLY = 0.7;
/** Longer blocks count no more than blocks of this length, in characters. */
const LONG = 400;

/**
 * Decides of each block whether it is of the text of the page: from what is seen of it, each with a weight. Lists, tables
 * and figures stay whole; a heading stays with what it leads to.
 */
export function chosenBlocks(blocks: readonly Block[], about: AboutPage): boolean[] {
  const shape = pageShape(blocks, about);
  if (!shape) return withoutFrame(blocks);
  const kept = blocks.map(() => false);
  for (const members of unitsOf(blocks, shape)) {
    let sum = 0;
    for (const at of members) {
      const { text = '', linked: ofLinks = 0 } = blocks[at] ?? {};
      const weight = Math.sqrt(Math.min(text.length, LONG));
      sum += weight * (scoreOf(at, shape) - (ofLinks > text.length * MOSTLY ? LINKED_BAR : 0));
    }
    for (const at of members) kept[at] = sum > 0;
  }
  for (const [at, block] of blocks.entries()) {
    const { element } = block;
    if (isSaidToBeText(block)) kept[at] = true;
    else if (isOut(element, shape) || (kept[at] && isForScriptless(block, shape))) kept[at] = false;
    else if (at < shape.first && at !== shape.title && isJump(block)) kept[at] = false;
    else if (!kept[at]) {
      kept[at] =
        isInPanel(element, shape) ||
        isFacts(element, shape) ||
        isLead(at, shape) ||
        isOfHoldersKind(at, shape) ||
        isBetween(at, shape, kept) ||
        isCaption(at, blocks, kept, shape) ||
        isLastSentence(at, blocks, kept, shape);
    }
  }
  for (const at of enclosed(kept, shape)) kept[at] = true;
  for (const at of runsBetween(kept, shape)) kept[at] = true;
  for (const at of introducedBy(blocks, kept)) kept[at] = true;
  const end = kept.lastIndexOf(true);
  // A label without its list.
  if (/[:：]$/.test(blocks[end]?.text ?? '') && (blocks[end]?.text.length ?? 0) < LABEL) kept[end] = false;
  for (let at = blocks.length - 1; at >= 0; at--) {
    const isHeading = HEADING.test(blocks[at]?.element.name ?? '');
    if (isHeading && at !== shape.title) kept[at] = leads(at, blocks, kept) || scoreOf(at, shape) > SURE;
  }
  for (const at of ledBy(blocks, kept, shape)) kept[at] = true;
  // What the title of the page does not say is said by its heading alone.
  const heading = lettersOf(blocks[shape.title]?.text ?? '', 100);
  if (!lettersOf(about.metadata.title, 300).includes(heading)) kept[shape.title] = true;
  return kept.includes(true)
    ? kept
    : blocks.map(({ element }) => closest(element, (each) => each === shape.holder) !== undefined);
}

/** Of a page without a sentence all that does not say that it stands around its main part, nor is a link above its title. */
function withoutFrame(blocks: readonly Block[]): boolean[] {
  const title = blocks.findIndex(({ element }) => element.name === 'h1');
  const isMain = ({ name, attributes }: HtmlElement) => name === 'main' || attributes.role === 'main';
  const hasMain = blocks.some(({ element }) => closest(element, isMain));
  const kept = blocks.map(({ element, text, linked }, at) => {
    if ((hasMain && !closest(element, isMain)) || closest(element, isFrame) || isAround(element)) return false;
    return at >= title || linked < text.length * MOSTLY;
  });
  return kept.includes(true) ? kept : blocks.map(() => true);
}

/** A label is no longer than this, in characters. */
const LABEL = 40;

function scoreOf(at: number, shape: PageShape): number {
  let score = BIAS;
  for (const name of featuresOf(at, shape)) score += WEIGHTS.get(name) ?? 0;
  return score;
}

/** How far out of the holder of the text a last sentence may stand, in elements. */
const NEAR = 3;

/** Whether a block is a sentence right behind the text, beside what holds it. */
function isLastSentence(at: number, blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): boolean {
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const parent = element?.parent;
  if (!parent || parent.name === 'body' || element.name !== 'p' || linked > text.length / 2) return false;
  if (at <= shape.last || (shape.around.get(parent) ?? NEAR + 1) > NEAR || !/[.!?。]$/.test(text)) return false;
  return kept.slice(Math.max(0, at - NEAR), at).includes(true);
}

/** How far before and behind a sentence the text around it may be, in blocks. */
const BESIDE = 4;

/** Sentences, and the headings right before them, that stand between sentences of the text: panels, answers, notes. */
function* enclosed(kept: readonly boolean[], { blocks, prose }: PageShape): Generator<number> {
  const isText = (at: number) => kept[at] === true && prose[at] === true;
  for (const [at, { element }] of blocks.entries()) {
    if (kept[at] || !prose[at]) continue;
    const steps = Array.from({ length: BESIDE }, (_, step) => step + 1);
    if (!steps.some((step) => isText(at - step)) || !steps.some((step) => isText(at + step))) continue;
    if (closest(element, ({ name }) => ASIDE.test(name))) continue;
    yield at;
    if (HEADING.test(blocks[at - 1]?.element.name ?? '')) yield at - 1;
  }
}

/** Runs of at least this many blocks between text are a part of it: a grid, a summary. */
const RUN = 5;

/**
 * Runs of blocks between text, in the main part of a page, with few links. Not in what is marked as an article: there such
 * runs do not belong to it.
 */
function* runsBetween(kept: readonly boolean[], { blocks, main, isArticle, first }: PageShape): Generator<number> {
  const isOutside = (at: number) => {
    const { element } = blocks[at] ?? {};
    if (!element || !isWithin(element, main)) return true;
    const isAside = ({ name, attributes }: HtmlElement) => ASIDE.test(name) || attributes.role === 'complementary';
    return closest(element, isAside) !== undefined;
  };
  if (!main || isArticle) return;
  for (let from = kept.indexOf(true, first); from >= 0 && from < kept.lastIndexOf(true); ) {
    const start = kept.indexOf(false, from);
    const end = start === -1 ? -1 : kept.indexOf(true, start);
    if (end === -1) return;
    from = end;
    const run = blocks.slice(start, end);
    const text = run.reduce((sum, block) => sum + block.text.length, 0);
    const linked = run.reduce((sum, block) => sum + block.linked, 0);
    const isTitled = blocks.slice(Math.max(0, start - 1), end).some(({ element }) => HEADING.test(element.name));
    if (run.length < RUN || !isTitled || linked > text * 0.3) continue;
    for (let at = start; at < end; at++) if (!isOutside(at)) yield at;
  }
}

/** Blocks that a line with a colon announces, right behind it and of one kind: the links to the sources of a text. */
function* introducedBy(blocks: readonly Block[], kept: readonly boolean[]): Generator<number> {
  for (const [at, { text, element }] of blocks.entries()) {
    if (!kept[at] || !/[:：]$/.test(text)) continue;
    for (let next = at + 1; blocks[next]?.element.parent === element.parent; next++) {
      if (blocks[next]?.element.name !== element.name || kept[next]) break;
      yield next;
    }
  }
}

/** Whether a block, or the list or table that it is in, stands right between two of the text that have its parent. */
function isBetween(at: number, shape: PageShape, kept: readonly boolean[]): boolean {
  const { blocks } = shape;
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const unit = element && unitAround(element, shape);
  if (!unit?.parent || linked > text.length / 2 || unit.size.linked > unit.size.text / 2) return false;
  // Text that stands in an element itself has the other blocks of that element beside it.
  const [before, behind] = unit === element ? [at - 1, at + 1] : placesBeside(unit, at, blocks);
  // A heading stays or goes with what it leads to.
  if (!kept[behind] || (!kept[before] && !HEADING.test(blocks[before]?.element.name ?? ''))) return false;
  const { parent } = unit;
  return [blocks[before], blocks[behind]].every((other) => other && isChildWithin(nearestUnit(other.element), parent));
}

/** The list, table or figure that an element stands in, or itself. */
function nearestUnit(element: HtmlElement): HtmlElement {
  return closest(element, ({ name }) => UNIT.test(name)) ?? element;
}

/** What `placesBeside` found, by the blocks of a page and the element: a long list is gone through once. */
const places = new WeakMap<readonly Block[], Map<HtmlElement, [number, number]>>();

/** The places right before and behind an element that holds the block at a place. */
function placesBeside(box: HtmlElement, at: number, blocks: readonly Block[]): [number, number] {
  const known = places.get(blocks) ?? new Map<HtmlElement, [number, number]>();
  places.set(blocks, known);
  const found = known.get(box);
  if (found) return found;
  const isInside = (place: number) => isWithin(blocks[place]?.element, box);
  let before = at - 1;
  while (isInside(before)) before--;
  let behind = at + 1;
  while (isInside(behind)) behind++;
  known.set(box, [before, behind]);
  return [before, behind];
}

function isChildWithin({ parent }: HtmlElement, of: HtmlElement): boolean {
  return parent === of || parent?.parent === of;
}

function isWithin(element: HtmlElement | undefined, box: HtmlElement | undefined): boolean {
  return closest(element, (each) => each === box) !== undefined;
}

/** Whether a block is under an image that stands beside text of the page, or between text. */
function isCaption(at: number, blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): boolean {
  const { element, text = '', linked = 0 } = blocks[at] ?? {};
  const figure = closest(element, ({ name }) => name === 'figure');
  if (!figure || at < shape.title || linked > text.length / 2) return false;
  if (!closest(element, ({ name }) => name === 'figcaption')) return false;
  const [before, behind] = placesBeside(figure, at, blocks);
  const isBeside = (place: number) => {
    const other = blocks[place]?.element;
    return kept[place] === true && other !== undefined && nearestUnit(other).parent === figure.parent;
  };
  return isBeside(before) || isBeside(behind) || (kept[before] === true && kept[behind] === true);
}

/** A heading with this score is of the text, whatever becomes of what stands behind it. */
const SURE = 3;

const UNIT = /^(?:ul|ol|dl|table|figure|pre)$/;

/** Blocks that are kept or left out together, by their places. */
function unitsOf(blocks: readonly Block[], shape: PageShape): Iterable<number[]> {
  const units = new Map<HtmlElement, number[]>();
  for (const [at, { element }] of blocks.entries()) {
    const unit = unitAround(element, shape);
    const members = units.get(unit);
    if (members) members.push(at);
    else units.set(unit, [at]);
  }
  return units.values();
}

/** Whether an element is a list of headlines that all lead elsewhere. */
function isListOfLinks({ name, size }: HtmlElement): boolean {
  return /^[uo]l$/.test(name) && size.headings > 2 && size.linked > size.text * MOSTLY;
}

/** The list, table or figure around an element that holds no headings; else the element. */
function unitAround(element: HtmlElement, { around }: PageShape): HtmlElement {
  let unit = element;
  for (let each: HtmlElement | undefined = element; each && !around.has(each); each = each.parent) {
    if (each.size.headings > 0 && each.name !== 'li' && !isListOfLinks(each)) break;
    if (UNIT.test(each.name)) unit = each;
  }
  return unit;
}

/** Blocks behind a heading in which something of the text shows that it belongs to it. */
const LED = 3;

/** Sentences and captions right behind a heading of the text, beside it. */
function* ledBy(blocks: readonly Block[], kept: readonly boolean[], shape: PageShape): Generator<number> {
  for (const [at, block] of blocks.entries()) {
    const { element, text, linked } = block;
    const next = blocks[at + 1];
    if (!kept[at] || kept[at + 1] || !next || !HEADING.test(element.name)) continue;
    // The headline of another story.
    if (linked > text.length * MOSTLY && !isJump(block)) continue;
    const isText = shape.prose[at + 1] || closest(next.element, ({ name }) => name === 'figcaption');
    if (isText && isWithin(next.element, element.parent) && !isOut(next.element, shape)) yield at + 1;
  }
}

/** Whether a heading leads to something of the text before the next heading of its level. */
function leads(at: number, blocks: readonly Block[], kept: readonly boolean[]): boolean {
  const level = blocks[at]?.element.name ?? '';
  for (let next = at + 1; next <= at + LED; next++) {
    const name = blocks[next]?.element.name ?? '';
    if (HEADING.test(name) && name <= level) return false;
    if (kept[next]) return true;
  }
  return false;
}
