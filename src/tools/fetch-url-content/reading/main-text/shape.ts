import { type Block, isProse, lettersOf } from '../html/blocks.ts';
import type { AboutPage } from '../html/page-metadata.ts';
import { closest, type HtmlElement } from '../html/tree.ts';
import { isLayout } from '../markdown/tables.ts';

/** What the blocks of a page say together. */
export interface PageShape {
  blocks: readonly Block[];
  /** Which of them are sentences. */
  prose: readonly boolean[];
  /** Of the whole page, in characters; at least 1. */
  proseLength: number;
  isArticle: boolean;
  /** The element whose own paragraphs are the most of the page's prose. */
  holder: HtmlElement;
  /** The holder and every element around it, by how far out they are. */
  around: ReadonlyMap<HtmlElement, number>;
  /** The element around the holder that says that it is the main part of the page. */
  main: HtmlElement | undefined;
  /** The nearest element around the holder that holds the title too; undefined where that is the whole page. */
  box: HtmlElement | undefined;
  /** Lists of terms and tables of data without links. */
  facts: ReadonlySet<HtmlElement>;
  /** Ids of what buttons open. */
  opened: ReadonlySet<string>;
  /** Which block is the heading of the page; -1 where none is. */
  title: number;
  /** The first and the last paragraph of the holder. */
  first: number;
  last: number;
  /** Blocks that one template made, by its name. */
  kinds: ReadonlyMap<string, Kind>;
  /** Blocks whose text stood on the page before. */
  repeated: ReadonlySet<Block>;
  /** Short blocks that say what at least two others say: buttons, labels. */
  echoes: ReadonlySet<number>;
  /** Letters of the article as structured data has it; may be empty. */
  told: string;
}

interface Kind {
  count: number;
  text: number;
  linked: number;
  prose: number;
}

export const HEADING = /^h[1-6]$/;

/** Undefined for a page without a sentence. */
export function pageShape(blocks: readonly Block[], about: AboutPage): PageShape | undefined {
  const { isArticle, articleBody } = about;
  const prose = blocks.map(isProse);
  const title = titleAt(blocks, about.metadata.title, prose);
  const holder = holderOf(blocks, prose, title);
  if (!holder) return undefined;
  const around = new Map<HtmlElement, number>();
  for (let each: HtmlElement | undefined = holder; each; each = each.parent) around.set(each, around.size);
  const isOwn = ({ element }: Block, at: number) =>
    prose[at] === true && [element, element.parent, element.parent?.parent].some((each) => each === holder);
  return {
    blocks,
    prose,
    proseLength: blocks.reduce((sum, { text }, at) => sum + (prose[at] ? text.length : 0), 0) || 1,
    isArticle,
    holder,
    around,
    main: mainAround(holder),
    box: boxAround(blocks[title]?.element, around),
    facts: factsAmong(blocks),
    opened: new Set(blocks.flatMap(openedBy)),
    title,
    first: blocks.findIndex(isOwn),
    last: blocks.findLastIndex(isOwn),
    kinds: kindsOf(blocks, prose),
    repeated: repeatedAmong(blocks),
    echoes: echoesAmong(blocks),
    told: lettersOf(articleBody, articleBody.length),
  };
}

/** What a holder counts more where the page's title stands before it. */
const BEHIND_TITLE = 4;

function holderOf(blocks: readonly Block[], prose: readonly boolean[], title: number): HtmlElement | undefined {
  const held = new Map<HtmlElement, { length: number; own: number }>();
  const add = (element: HtmlElement, length: number, own: number) => {
    const before = held.get(element) ?? { length: 0, own: 0 };
    held.set(element, { length: before.length + length, own: before.own + own });
  };
  const behindTitle = new Set<HtmlElement | undefined>();
  for (const [at, { element, text }] of blocks.entries()) {
    if (!prose[at]) continue;
    add(element, text.length, 1);
    if (element.parent) add(element.parent, text.length, 0);
    if (title >= 0 && at > title && at < title + 60 && behindTitle.size < 4) behindTitle.add(element.parent);
  }
  let holder: HtmlElement | undefined;
  let most = 0;
  for (const [element, { length, own }] of held) {
    const isBehind = behindTitle.has(element) || (element.parent !== undefined && behindTitle.has(element.parent));
    const value = (own > 1 ? 1.1 : own > 0 ? 0.9 : 1) * length * (isBehind ? BEHIND_TITLE : 1);
    if (value > most) [holder, most] = [element, value];
  }
  return holder;
}

function mainAround(holder: HtmlElement): HtmlElement | undefined {
  const isMain = ({ name, attributes }: HtmlElement) => name === 'main' || attributes.role === 'main';
  return closest(holder, isMain) ?? closest(holder, ({ name }) => name === 'article');
}

function boxAround(title: HtmlElement | undefined, around: PageShape['around']): HtmlElement | undefined {
  const box = closest(title, (each) => around.has(each));
  return box?.parent === undefined ? undefined : box;
}

function factsAmong(blocks: readonly Block[]): Set<HtmlElement> {
  const around = ({ element }: Block) => closest(element, ({ name }) => name === 'dl' || name === 'table') ?? [];
  const isData = (each: HtmlElement) =>
    each.size.linked + each.size.headings === 0 && (each.name === 'dl' || !isLayout(each));
  return new Set([...new Set(blocks.flatMap(around))].filter(isData));
}

/** What the buttons of a heading or a line open, by ARIA. */
function openedBy({ element, inline }: Block): string[] {
  return [element, ...inline].flatMap(({ attributes }) =>
    attributes['aria-expanded'] !== undefined ? (attributes['aria-controls'] ?? []) : [],
  );
}

/** Which heading is the title; the only `h1` where none says what the page says of itself. */
function titleAt(blocks: readonly Block[], title: string, prose: readonly boolean[]): number {
  const wanted = lettersOf(title, 100);
  const isTitle = ({ text }: Block) => {
    const own = lettersOf(text, 100);
    if (own.length < 8 || wanted.length < 8) return false;
    return own.length > wanted.length * 2 ? own.startsWith(wanted) : wanted.includes(own) || own.includes(wanted);
  };
  const isHeading = (at: number) => HEADING.test(blocks[at]?.element.name ?? '');
  const found = blocks.flatMap((block, at) => (isHeading(at) && isTitle(block) ? at : []));
  const leadsToProse = (at: number) => {
    for (let next = at + 1; next < at + 7; next++) if (prose[next] || isHeading(next)) return prose[next] === true;
    return false;
  };
  const best = found.find((at) => blocks[at]?.element.name === 'h1') ?? found.find(leadsToProse) ?? found[0];
  if (best !== undefined) return best;
  const tops = blocks.flatMap(({ element }, at) => (element.name === 'h1' ? at : []));
  return tops.length === 1 ? (tops[0] ?? -1) : -1;
}

/** The template that made a block: its element and two around it, by name and class. */
export function templateOf({ element }: Block): string {
  const name = (each: HtmlElement | undefined) => (each ? `${each.name}.${each.attribute('class')}` : '');
  return `${name(element)} ${name(element.parent)} ${name(element.parent?.parent)}`;
}

function kindsOf(blocks: readonly Block[], prose: readonly boolean[]): Map<string, Kind> {
  const kinds = new Map<string, Kind>();
  for (const [at, block] of blocks.entries()) {
    const { text, linked } = block;
    const template = templateOf(block);
    const kind = kinds.get(template) ?? { count: 0, text: 0, linked: 0, prose: 0 };
    kinds.set(template, kind);
    kind.count += 1;
    kind.text += text.length;
    kind.linked += linked;
    if (prose[at]) kind.prose += text.length;
  }
  return kinds;
}

function repeatedAmong(blocks: readonly Block[]): Set<Block> {
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

/** The longest text that a button or a label has, in characters. */
const LONGEST_LABEL = 60;

function echoesAmong(blocks: readonly Block[]): Set<number> {
  const places = new Map<string, number[]>();
  for (const [at, { text }] of blocks.entries()) {
    const key = text.length > LONGEST_LABEL ? '' : text.replace(/[\d\P{L}]+/gu, '').toLowerCase();
    if (key === '') continue;
    const others = places.get(key);
    if (others) others.push(at);
    else places.set(key, [at]);
  }
  return new Set([...places.values()].filter((each) => each.length > 2).flat());
}
