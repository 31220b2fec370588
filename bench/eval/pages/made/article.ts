/** A run of text in a paragraph: words, a link, code, or a base with its exponent. */
export type Inline = string | { text: string; url: string } | { code: string } | { base: string; power: string };

/** What a chapter is made of, before a layout makes markup of it. */
export type Block =
  | { kind: 'paragraph'; parts: readonly Inline[] }
  | { kind: 'code'; language: string; lines: readonly string[] }
  | { kind: 'table'; head: readonly string[]; rows: readonly (readonly string[])[] }
  | { kind: 'list'; ordered: boolean; items: readonly string[] }
  | { kind: 'figure'; alt: string; caption: string }
  | { kind: 'note'; text: string }
  | { kind: 'question'; question: string; answer: string }
  | { kind: 'panels'; panels: readonly { label: string; blocks: readonly Block[] }[] };

/** A chapter: `level` 2 for those of the page, 3 for those inside of them. */
export interface Section {
  title: string;
  level: number;
  id: string;
  blocks: readonly Block[];
  children: readonly Section[];
}

/** A page's content. Dates are days, as `2024-03-09`. */
export interface Article {
  title: string;
  language: 'en' | 'de' | 'fr';
  author: string;
  published: string;
  updated: string;
  lead: readonly Block[];
  sections: readonly Section[];
}

/** What a reader should find on a page, and what it should leave. */
export interface PageTruth {
  headings: { level: number; text: string }[];
  paragraphs: string[];
  codeLines: string[];
  /** Of a table its rows, the head first. */
  rows: (readonly string[])[];
  items: string[];
  links: { text: string; url: string }[];
  captions: string[];
  dates: string[];
  authors: string[];
  clutter: string[];
}

/** What the reader of `article` should find, wherever it was published. Dates, authors and clutter come from the layout. */
export function truthOf({ lead, sections }: Pick<Article, 'lead' | 'sections'>): PageTruth {
  const truth = emptyTruth();
  for (const block of lead) addBlock(truth, block);
  for (const section of sections) addSection(truth, section);
  return truth;
}

export function emptyTruth(): PageTruth {
  return {
    headings: [],
    paragraphs: [],
    codeLines: [],
    rows: [],
    items: [],
    links: [],
    captions: [],
    dates: [],
    authors: [],
    clutter: [],
  };
}

function addSection(truth: PageTruth, { title, level, blocks, children }: Section): void {
  truth.headings.push({ level, text: title });
  for (const block of blocks) addBlock(truth, block);
  for (const child of children) addSection(truth, child);
}

function addBlock(truth: PageTruth, block: Block): void {
  switch (block.kind) {
    case 'paragraph':
      truth.paragraphs.push(block.parts.map(inlineText).join(''));
      truth.links.push(...block.parts.filter((part) => typeof part === 'object' && 'url' in part));
      return;
    case 'code':
      truth.codeLines.push(...block.lines.filter((line) => line.trim() !== ''));
      return;
    case 'table':
      truth.rows.push(block.head, ...block.rows);
      return;
    case 'list':
      truth.items.push(...block.items);
      return;
    case 'figure':
      truth.captions.push(block.caption);
      return;
    case 'note':
      truth.paragraphs.push(block.text);
      return;
    case 'question':
      truth.paragraphs.push(block.question, block.answer);
      return;
    case 'panels':
      for (const panel of block.panels) for (const inner of panel.blocks) addBlock(truth, inner);
  }
}

/** An exponent is written as Markdown text would have it: two numbers side by side are not one. */
function inlineText(part: Inline): string {
  if (typeof part === 'string') return part;
  if ('url' in part) return part.text;
  return 'code' in part ? part.code : `${part.base}^${part.power}`;
}
