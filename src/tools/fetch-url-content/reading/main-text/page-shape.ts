import { type Block, isProse, lettersOf } from '../html/blocks.ts';
import type { PageDescription } from '../html/page-metadata.ts';
import { closest, type HtmlElement } from '../html/tree.ts';
import { isLayout } from '../markdown/tables.ts';
import { contentOf, isMain } from './page-frame.ts';
import { findPosts } from './posts.ts';
import { toldBlocks } from './told-blocks.ts';

/** What is known of a page from all of its blocks together. */
export interface PageShape {
  blocks: readonly Block[];
  /** Which of them are sentences. */
  prose: readonly boolean[];
  /** The length of all prose on the page, in characters; at least 1. */
  proseLength: number;
  isArticle: boolean;
  /** The element that holds most of the page's prose in its own paragraphs. */
  holder: HtmlElement;
  /** The holder and each of its ancestors, with their distance from it. */
  holderDepths: ReadonlyMap<HtmlElement, number>;
  /** The ancestor of the holder that is marked as the main part of the page. */
  main: HtmlElement | undefined;
  /** The nearest element that holds both the holder and the title; undefined if that is the whole page. */
  box: HtmlElement | undefined;
  /** Definition lists and tables of data, without links or headings. */
  facts: ReadonlySet<HtmlElement>;
  /** Ids of panels that buttons open. */
  panelIds: ReadonlySet<string>;
  /** The index of the block that is the page's heading; -1 if there is none. */
  title: number;
  /** The indexes of the first and the last paragraph of the holder. */
  first: number;
  last: number;
  /** Totals of the blocks of each template. */
  templates: ReadonlyMap<string, TemplateTotals>;
  /** Blocks whose text occurs on the page before them. */
  repeated: ReadonlySet<Block>;
  /** Indexes of short blocks with the same text as at least two others, such as buttons and labels. */
  echoes: ReadonlySet<number>;
  /** The letters of the article in structured data; may be empty. */
  articleLetters: string;
  /** The letters of the page's summary of itself; may be empty. */
  summaryLetters: string;
  /** The texts of the posts of a thread. */
  posts: ReadonlySet<HtmlElement>;
  /** Indexes of blocks that structured data repeats. */
  told: ReadonlySet<number>;
}

interface TemplateTotals {
  count: number;
  text: number;
  linked: number;
  prose: number;
}

export const HEADING = /^h[1-6]$/;

/** Analyses a page; undefined for one without sentences. */
export function pageShape(blocks: readonly Block[], description: PageDescription): PageShape | undefined {
  const { isArticle, articleBody, summary } = description;
  const prose = blocks.map(isProse);
  const found = findTitle(blocks, description.metadata.title, prose);
  const echoes = findEchoes(blocks);
  const posts = findPosts(blocks, { prose, title: found, echoes });
  const holder = findHolder(blocks, prose, { title: found, posts });
  if (!holder) return undefined;
  const holderDepths = new Map<HtmlElement, number>();
  for (let node: HtmlElement | undefined = holder; node; node = node.parent) holderDepths.set(node, holderDepths.size);
  const isOwn = ({ element }: Block, at: number) =>
    prose[at] === true && [element, element.parent, element.parent?.parent].some((node) => node === holder);
  const last = blocks.findLastIndex(isOwn);
  // A heading behind the text repeats the title for its comments.
  const title = found > last ? -1 : found;
  return {
    blocks,
    prose,
    proseLength: blocks.reduce((sum, { text }, at) => sum + (prose[at] ? text.length : 0), 0) || 1,
    isArticle,
    holder,
    holderDepths,
    main: findMain(holder),
    box: findBox(blocks[title]?.element, holderDepths),
    facts: findFacts(blocks),
    panelIds: new Set(blocks.flatMap(panelsOpenedBy)),
    title,
    first: blocks.findIndex(isOwn),
    last,
    templates: totalsByTemplate(blocks, prose),
    repeated: findRepeated(blocks),
    echoes,
    articleLetters: lettersOf(articleBody, articleBody.length),
    summaryLetters: lettersOf(summary, summary.length),
    posts,
    told: toldBlocks(blocks, description.texts),
  };
}

/** The factor for a possible holder that follows the page's title. */
const TITLE_FACTOR = 4;

function findHolder(
  blocks: readonly Block[],
  prose: readonly boolean[],
  { title, posts }: { title: number; posts: ReadonlySet<HtmlElement> },
): HtmlElement | undefined {
  const candidates = new Map<HtmlElement, { length: number; own: number }>();
  const add = (element: HtmlElement, length: number, own: number) => {
    const before = candidates.get(element) ?? { length: 0, own: 0 };
    candidates.set(element, { length: before.length + length, own: before.own + own });
  };
  const behindTitle = new Set<HtmlElement | undefined>();
  const content = contentOf(blocks, title);
  for (const [at, block] of blocks.entries()) {
    const { element, text } = block;
    if (!prose[at] || !content.has(block)) continue;
    if (posts.size > 0 && !closest(element, (node) => posts.has(node))) continue;
    add(element, text.length, 1);
    if (element.parent) add(element.parent, text.length, 0);
    if (title >= 0 && at > title && at < title + 60 && behindTitle.size < 4) behindTitle.add(element.parent);
  }
  let holder: HtmlElement | undefined;
  let best = 0;
  for (const [element, { length, own }] of candidates) {
    const isBehind = behindTitle.has(element) || (element.parent !== undefined && behindTitle.has(element.parent));
    const value = (own > 1 ? 1.1 : own > 0 ? 0.9 : 1) * length * (isBehind ? TITLE_FACTOR : 1);
    if (value > best) [holder, best] = [element, value];
  }
  return holder;
}

function findMain(holder: HtmlElement): HtmlElement | undefined {
  return closest(holder, isMain) ?? closest(holder, ({ name }) => name === 'article');
}

function findBox(title: HtmlElement | undefined, holderDepths: PageShape['holderDepths']): HtmlElement | undefined {
  const box = closest(title, (node) => holderDepths.has(node));
  return box?.parent === undefined ? undefined : box;
}

function findFacts(blocks: readonly Block[]): Set<HtmlElement> {
  const factsAround = ({ element }: Block) => closest(element, ({ name }) => name === 'dl' || name === 'table') ?? [];
  const isData = (node: HtmlElement) =>
    node.size.linked + node.size.headings === 0 && (node.name === 'dl' || !isLayout(node));
  return new Set([...new Set(blocks.flatMap(factsAround))].filter(isData));
}

/** Ids of the panels that the buttons in a block open, by ARIA. */
function panelsOpenedBy({ element, inline }: Block): string[] {
  return [element, ...inline].flatMap(({ attributes }) =>
    attributes['aria-expanded'] !== undefined ? (attributes['aria-controls'] ?? []) : [],
  );
}

/** The index of the heading that matches the page's title, else of the only `h1`; -1 if there is neither. */
function findTitle(blocks: readonly Block[], title: string, prose: readonly boolean[]): number {
  const wanted = lettersOf(title, 100);
  const isTitle = ({ text }: Block) => {
    const letters = lettersOf(text, 100);
    if (letters.length < 8 || wanted.length < 8) return false;
    if (letters.length > wanted.length * 2) return letters.startsWith(wanted);
    return wanted.includes(letters) || letters.includes(wanted);
  };
  const isHeading = (at: number) => HEADING.test(blocks[at]?.element.name ?? '');
  const found = blocks.flatMap((block, at) => (isHeading(at) && isTitle(block) ? at : []));
  const leadsToProse = (at: number) => {
    for (let next = at + 1; next < at + 7; next++) if (prose[next] || isHeading(next)) return prose[next] === true;
    return false;
  };
  const tops = blocks.flatMap(({ element }, at) => (element.name === 'h1' ? at : []));
  const says = (at: number, part: number) =>
    lettersOf(blocks[at]?.text ?? '', 100).includes(lettersOf(blocks[part]?.text ?? '', 100));
  const best =
    found.find((at) => blocks[at]?.element.name === 'h1') ??
    // The name of a class below a heading such as "Class Name".
    tops.find((at) => found.some((other) => at < other && says(at, other))) ??
    found.find(leadsToProse) ??
    found[0];
  if (best !== undefined) return best;
  return tops.length === 1 ? (tops[0] ?? -1) : -1;
}

/** The template of a block: the names and classes of its element and the two above it. */
export function templateOf({ element }: Block): string {
  const name = (node: HtmlElement | undefined) => (node ? `${node.name}.${node.attribute('class')}` : '');
  return `${name(element)} ${name(element.parent)} ${name(element.parent?.parent)}`;
}

function totalsByTemplate(blocks: readonly Block[], prose: readonly boolean[]): Map<string, TemplateTotals> {
  const templates = new Map<string, TemplateTotals>();
  for (const [at, block] of blocks.entries()) {
    const { text, linked } = block;
    const totals = templates.getOrInsertComputed(templateOf(block), () => ({ count: 0, text: 0, linked: 0, prose: 0 }));
    totals.count += 1;
    totals.text += text.length;
    totals.linked += linked;
    if (prose[at]) totals.prose += text.length;
  }
  return templates;
}

function findRepeated(blocks: readonly Block[]): Set<Block> {
  const seen = new Set<string>();
  return new Set(
    blocks.filter(({ text }) => {
      const key = lettersOf(text, 80);
      const isKnown = key.length >= 20 && seen.has(key);
      seen.add(key);
      return isKnown;
    }),
  );
}

/** The longest text of a button or a label, in characters. */
const MAX_LABEL_LENGTH = 60;

function findEchoes(blocks: readonly Block[]): Set<number> {
  const places = new Map<string, number[]>();
  for (const [at, { text }] of blocks.entries()) {
    const key = text.length > MAX_LABEL_LENGTH ? '' : text.replace(/[\d\P{L}]+/gu, '').toLowerCase();
    if (key !== '') places.getOrInsertComputed(key, () => []).push(at);
  }
  return new Set([...places.values()].filter((indexes) => indexes.length > 2).flat());
}
