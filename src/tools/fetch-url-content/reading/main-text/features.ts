import { type Block, lettersOf } from '../html/blocks.ts';
import { closest, type HtmlElement, isHidden } from '../html/tree.ts';
import { HEADING, type PageShape, templateOf } from './page-shape.ts';

/** Adds a feature of a block: its name, and which of its few values it has. */
type AddFeature = (name: string, value: string | number) => void;

interface PlacedBlock {
  at: number;
  block: Block;
  textKind: TextKind;
  /** The name of its element, reduced to those that features distinguish. */
  kind: string;
  /** Its place relative to the title and the paragraphs of the holder. */
  position: Position;
  /** How far above the holder the nearest element with both is, and how far below that element the block is. */
  out: number;
  down: number;
  /** The outermost element around the block, outside of the holder's ancestors; undefined for the holder's own blocks. */
  chunk: HtmlElement | undefined;
}

type TextKind = 'prose' | 'heading' | 'code' | 'link' | 'short';
type Position = 'above title' | 'title' | 'before' | 'within' | 'behind';

/** The features of a block, as `weights.ts` names them. They depend on structure, never on words. */
export function featuresOf(at: number, shape: PageShape): string[] {
  const block = shape.blocks[at];
  if (!block) return [];
  const found: string[] = [];
  const add: AddFeature = (name, value) => found.push(`${name} ${value}`);
  const placed = place(at, block, shape);
  addText(add, placed, shape);
  addPlace(add, placed, shape);
  addAncestors(add, placed, shape);
  addNeighbours(add, placed, shape);
  if (placed.chunk) addChunk(add, placed, placed.chunk, shape);
  addGroup(add, placed, shape);
  return found;
}

const KINDS = new Set(
  'h1 h2 h3 h4 p li td th pre dt dd div figcaption blockquote section article aside footer header form summary address'.split(
    ' ',
  ),
);

function place(at: number, block: Block, shape: PageShape): PlacedBlock {
  let chunk: HtmlElement | undefined;
  let common: HtmlElement | undefined = block.element;
  let down = 0;
  for (; common && !shape.holderDepths.has(common); common = common.parent) {
    chunk = common;
    down += 1;
  }
  const out = common ? (shape.holderDepths.get(common) ?? 0) : 9;
  const { name } = block.element;
  const kind = HEADING.test(name) && name > 'h4' ? 'h4' : name;
  return {
    at,
    block,
    textKind: textKindOf(at, shape),
    kind: KINDS.has(kind) ? kind : 'other',
    position: positionOf(at, shape),
    out,
    down,
    chunk: out === 0 ? undefined : chunk,
  };
}

function textKindOf(at: number, { blocks, prose }: PageShape): TextKind {
  const { text, linked, element } = blocks[at] ?? { text: '', linked: 0, element: undefined };
  if (prose[at]) return 'prose';
  if (element && HEADING.test(element.name)) return 'heading';
  if (element?.name === 'pre') return 'code';
  return linked > text.length * 0.5 ? 'link' : 'short';
}

function positionOf(at: number, { title, first, last }: PageShape): Position {
  if (at <= title) return at === title ? 'title' : 'above title';
  if (at < first) return 'before';
  return at <= last ? 'within' : 'behind';
}

/** How many limits a value exceeds. */
function bin(value: number, limits: readonly number[]): number {
  const at = limits.findIndex((limit) => value <= limit);
  return at === -1 ? limits.length : at;
}

const SHORT = 80;

function addText(add: AddFeature, { at, block, kind }: PlacedBlock, shape: PageShape): void {
  const { text, linked } = block;
  const isShort = text.length < SHORT;
  add('length', bin(text.length, [12, 25, 40, 80, 140, 250, 500]));
  add(isShort ? 'linked short' : 'linked', bin(linked / text.length, [0, 0.15, 0.4, 0.8]));
  add('kind', kind);
  if (/[.!?…。！？]["”“»')\]]?$/.test(text)) add('ends', isShort ? 'short' : 'long');
  if (/[:：]$/.test(text)) add('ends', 'colon');
  if (/^\P{L}*$/u.test(text)) add('text', 'no letters');
  else if (text === text.toUpperCase() && /\p{Lu}{3}/u.test(text)) add('text', 'capitals');
  if (isShort && /\b\d{1,2}[./:-]\d{2}\b|\b(?:19|20)\d\d\b/.test(text)) add('text', 'date');
  if (isShort && /[|•·»›©]/.test(text)) add('text', 'signs');
  if (shape.repeated.has(block)) add('text', 'again');
  const title = shape.blocks[shape.title]?.text ?? '';
  if (title !== '' && at !== shape.title && lettersOf(text, 60) === lettersOf(title, 60)) add('text', 'title again');
  if (shape.articleLetters.length > 300) {
    add('told', text.length < 30 ? 'short' : shape.articleLetters.includes(lettersOf(text, 60)) ? 'yes' : 'no');
  }
  const template = shape.templates.get(templateOf(block));
  if (!template) return;
  add('kind prose', bin(template.prose / shape.proseLength, [0, 0.02, 0.1, 0.3, 0.6]));
  add('kind count', bin(template.count, [1, 2, 5, 10, 20]));
}

function addPlace(add: AddFeature, placed: PlacedBlock, shape: PageShape): void {
  const { at, textKind, position, out, down, chunk } = placed;
  const where = chunk ? 'else' : 'own';
  const distance = position === 'behind' ? at - shape.last : position === 'within' ? 0 : shape.first - at;
  const size = bin(shape.proseLength, [300, 1000, 3000]);
  add('out', Math.min(out, 6));
  add('down', Math.min(down, 6));
  add('position', position);
  add(`far ${position}`, bin(distance, [0, 1, 2, 4, 8, 16, 40]));
  add(`article ${shape.isArticle ? 'yes' : 'no'} ${position} ${where}`, textKind);
  add(`page ${size} ${where}`, textKind);
  add(`page ${size}`, position === 'behind' || position === 'before' ? position : 'within');
  add(`holder ${where}`, bin(shape.holder.size.prose / shape.proseLength, [0.2, 0.5, 0.8]));
}

const ANCESTOR_NAMES = /^(?:nav|footer|header|aside|form|figure|article|main|table|button|label)$/;
const FRAME_ROLES = /^(?:navigation|contentinfo|banner|dialog|alertdialog|search|menu|menubar)$/;

function addAncestors(add: AddFeature, { block, textKind, kind, chunk }: PlacedBlock, shape: PageShape): void {
  const seen = new Set<string>();
  let isInMain = false;
  for (let node: HtmlElement | undefined = block.element; node; node = node.parent) {
    const { name, attributes } = node;
    isInMain ||= node === shape.main;
    if (ANCESTOR_NAMES.test(name)) seen.add(name);
    if (attributes.role === 'complementary') seen.add('aside');
    if (attributes.role && FRAME_ROLES.test(attributes.role)) seen.add('frame');
    if (attributes.itemprop === 'articleBody') seen.add('body');
    if (/(?:^|\s)comments?(?:\s|$)/.test(attributes.itemprop ?? '') || /Comment$/.test(attributes.itemtype ?? '')) {
      seen.add('comment');
    }
    if (isHidden(node)) seen.add('hidden');
  }
  for (const name of seen) add(`in ${chunk ? 'else' : 'own'}`, name);
  if (!seen.has('article')) add('not in', 'article');
  const main = shape.main === undefined ? 'none' : isInMain ? 'in' : 'out';
  add(`main ${main}`, textKind);
  add(`main ${main} kind`, kind);
}

function addNeighbours(add: AddFeature, { at, block, position }: PlacedBlock, shape: PageShape): void {
  const { blocks, prose, echoes } = shape;
  for (const step of [-2, -1, 1, 2]) {
    const other = blocks[at + step];
    const isSibling = other?.element.parent === block.element.parent;
    add(`next ${step}`, other ? `${isSibling ? 'sibling ' : ''}${textKindOf(at + step, shape)}` : 'none');
  }
  let text = 0;
  let linked = 0;
  let sentences = 0;
  let echoed = 0;
  for (let index = Math.max(0, at - 5); index < Math.min(blocks.length, at + 6); index++) {
    const length = blocks[index]?.text.length ?? 0;
    text += length;
    linked += blocks[index]?.linked ?? 0;
    if (prose[index]) sentences += length;
    if (index !== at && Math.abs(index - at) < 4 && echoes.has(index)) echoed += 1;
  }
  add('near linked', bin(linked / text, [0.05, 0.15, 0.3, 0.6]));
  add('near prose', bin(sentences / text, [0.05, 0.3, 0.6, 0.8, 0.95]));
  add(`echo near ${position}`, Math.min(echoed, 3));
}

function addChunk(add: AddFeature, { block }: PlacedBlock, chunk: HtmlElement, shape: PageShape): void {
  const { size } = chunk;
  const total = size.text || 1;
  add('chunk text', bin(size.text, [60, 150, 400, 1000, 3000]));
  add('chunk prose', bin(size.prose / total, [0.02, 0.3, 0.6, 0.85]));
  add('chunk linked', bin(size.linked / total, [0.02, 0.15, 0.4, 0.7]));
  add('chunk links', bin(size.links, [0, 1, 3, 8]));
  add('chunk headings', bin(size.headings, [0, 1, 3]));
  if (size.fields > 0) add('chunk', 'fields');
  add('chunk share', bin(size.prose / shape.proseLength, [0, 0.05, 0.2, 0.5]));
  add('chunk alike', bin(chunk.alikeCount, [1, 2, 4]));
  const namedKinds =
    /^(?:div|section|aside|article|footer|header|ul|ol|p|h[1-6]|table|figure|form|nav|blockquote|dl|pre)$/;
  add('chunk kind', namedKinds.test(chunk.name) ? chunk.name : 'other');
  let box = block.element;
  const limit = block.text.length * 1.5 + 200;
  for (let node = box.parent; node && !shape.holderDepths.has(node) && node.size.text < limit; node = node.parent)
    box = node;
  add('box linked', bin(box.size.linked / (box.size.text || 1), [0.02, 0.3, 0.7]));
  add('box alike', bin(box.alikeCount, [1, 2, 4, 9]));
}

const GROUP = /^(?:ul|ol|table|dl)$/;

/** Features of the list, the table or the row of similar elements around a block. */
function addGroup(add: AddFeature, { block, position, chunk }: PlacedBlock, shape: PageShape): void {
  const group = closest(block.element, ({ name }) => GROUP.test(name)) ?? repetitionAround(block.element);
  if (!group || group.size.text >= shape.holder.size.text * 3 + 2000) {
    add('group', 'none');
    return;
  }
  const { size, name } = group;
  const items = Math.max(1, group.elementCount);
  const where = chunk ? 'else' : 'own';
  const linked = bin(size.linked / (size.text || 1), [0.05, 0.3, 0.7, 0.9]);
  const what = name === 'ul' || name === 'ol' ? 'list' : 'other';
  add(`group ${where} ${what} linked`, linked);
  if (what === 'list') add(`list ${linked} item`, bin(size.text / items, [12, 25, 50, 100, 300]));
  add(`group ${where} items`, bin(items, [1, 2, 4, 8, 16]));
  add(`group ${position} linked`, linked);
}

/** The nearest ancestor with three or more similar children, one of which holds the element. */
function repetitionAround(element: HtmlElement): HtmlElement | undefined {
  let current = element;
  for (let up = 0; up < 5 && current.parent; up++) {
    if (current.alikeCount > 2 && current.name !== 'p') return current.parent;
    current = current.parent;
  }
  return undefined;
}
