import { decodeHTML } from 'entities';
import { lexer, type Token, type Tokens } from 'marked';
import type { PageTruth } from './made/article.ts';

/** What a reader gave of a page. */
export interface ReadPage {
  markdown: string;
  /** What it says about the page beside its text: dates and authors as it writes them. */
  dates: string[];
  authors: string;
}

/** What is counted of a page, each part as pieces that were found among those that are there. */
export const PARTS = [
  'headings',
  'paragraphs',
  'code lines',
  'cells',
  'items',
  'links',
  'captions',
  'dates',
  'authors',
  'clutter',
] as const;

export interface Count {
  found: number;
  of: number;
  /** The pieces that were not found, or clutter that was left. */
  missed: readonly string[];
}

/** Of `clutter` what was found is what was left; of all others what is right. */
export type StructureScore = Record<(typeof PARTS)[number], Count>;

/** What Markdown says, by its structure. */
interface Outline {
  headings: { level: number; text: string }[];
  /** The text of each paragraph, heading, item, cell: whatever is read as one piece. */
  pieces: string[];
  codeLines: Set<string>;
  rows: Set<string>[];
  items: Set<string>;
  links: Set<string>;
}

/** How much of what is known of a page its reader found, and in its place. */
export function scoreStructure(truth: PageTruth, page: ReadPage, url: string): StructureScore {
  const outline = outlineOf(page.markdown, url);
  const text = `\n${outline.pieces.join('\n')}\n`;
  const spaced = `${text}${plain(page.markdown)}`;
  const days = page.dates.map(dayOf);
  const authors = plain(page.authors);
  const has = (piece: string) => text.includes(plain(piece));
  return {
    headings: headingsFound(truth.headings, outline.headings),
    paragraphs: count(truth.paragraphs, has),
    'code lines': count(truth.codeLines, (line) => outline.codeLines.has(codeLine(line))),
    cells: cellsFound(truth.rows, outline.rows),
    items: count(truth.items, (item) => outline.items.has(plain(item))),
    links: count(
      truth.links.map((link) => linkKey(link.text, link.url, url)),
      (link) => outline.links.has(link),
    ),
    captions: count(truth.captions, has),
    dates: count(truth.dates, (day) => days.includes(day) || saysDay(spaced, day)),
    authors: count(truth.authors, (name) => authors.includes(plain(name)) || has(name)),
    clutter: leftOf(truth.clutter, (piece) => spaced.includes(plain(piece))),
  };
}

/** All pages together, each piece counting alike. */
export function sumScores(scores: readonly StructureScore[]): StructureScore {
  const sum = (part: (typeof PARTS)[number]) => addCounts(scores.map((score) => score[part]));
  return {
    headings: sum('headings'),
    paragraphs: sum('paragraphs'),
    'code lines': sum('code lines'),
    cells: sum('cells'),
    items: sum('items'),
    links: sum('links'),
    captions: sum('captions'),
    dates: sum('dates'),
    authors: sum('authors'),
    clutter: sum('clutter'),
  };
}

function count(pieces: readonly string[], isFound: (piece: string) => boolean): Count {
  const missed = pieces.filter((piece) => !isFound(piece));
  return { found: pieces.length - missed.length, of: pieces.length, missed };
}

function leftOf(pieces: readonly string[], isLeft: (piece: string) => boolean): Count {
  const missed = pieces.filter(isLeft);
  return { found: missed.length, of: pieces.length, missed };
}

/** Levels may be shifted, all of them by the same. */
function headingsFound(wanted: PageTruth['headings'], given: Outline['headings']): Count {
  const keys = new Set(given.map(({ level, text }) => `${level} ${text}`));
  const shifted = [0, -1, 1, -2, 2, 3].map((by) =>
    count(
      wanted.map(({ level, text }) => `${level + by} ${unnumbered(plain(text))}`),
      (key) => keys.has(key),
    ),
  );
  return shifted.reduce((best, one) => (one.found > best.found ? one : best));
}

/** A cell counts where it stands in one row with the first of its row. */
function cellsFound(wanted: PageTruth['rows'], given: Outline['rows']): Count {
  const counts = wanted.map((row) => {
    const cells = row.map(plain);
    const rows = given.filter((other) => other.has(cells[0] ?? ''));
    return count(cells, (cell) => rows.some((other) => other.has(cell)));
  });
  return addCounts(counts);
}

function addCounts(counts: readonly Count[]): Count {
  return {
    found: counts.reduce((sum, { found }) => sum + found, 0),
    of: counts.reduce((sum, { of }) => sum + of, 0),
    missed: counts.flatMap(({ missed }) => missed),
  };
}

function outlineOf(markdown: string, url: string): Outline {
  const outline: Outline = {
    headings: [],
    pieces: [],
    codeLines: new Set(),
    rows: [],
    items: new Set(),
    links: new Set(),
  };
  walk(lexer(markdown), outline, url);
  return outline;
}

function walk(tokens: readonly Token[], outline: Outline, url: string): void {
  for (const token of tokens) walkToken(token, outline, url);
}

function walkToken(token: Token, outline: Outline, url: string): void {
  if (isKind(token, 'heading')) {
    const text = plain(textOf(token.tokens, outline, url));
    outline.headings.push({ level: token.depth, text: unnumbered(text) });
    outline.pieces.push(text);
  } else if (isKind(token, 'code')) {
    for (const line of token.text.split('\n')) outline.codeLines.add(codeLine(line));
  } else if (isKind(token, 'table')) {
    for (const row of [token.header, ...token.rows]) {
      const cells = row.map((cell) => plain(textOf(cell.tokens, outline, url)));
      outline.rows.push(new Set(cells));
      outline.pieces.push(...cells);
    }
  } else if (isKind(token, 'list')) {
    for (const item of token.items) {
      const [first] = item.tokens.filter(({ type }) => type === 'text' || type === 'paragraph');
      if (first) outline.items.add(plain(textOf([first], outline, url)));
      walk(item.tokens, outline, url);
    }
  } else if (isKind(token, 'blockquote')) {
    walk(token.tokens, outline, url);
  } else {
    outline.pieces.push(plain(textOf([token], outline, url)));
  }
}

interface Kinds {
  heading: Tokens.Heading;
  code: Tokens.Code;
  table: Tokens.Table;
  list: Tokens.List;
  blockquote: Tokens.Blockquote;
  link: Tokens.Link;
}

function isKind<Kind extends keyof Kinds>(token: Token, kind: Kind): token is Kinds[Kind] {
  return token.type === kind;
}

/** The text of inline tokens, and their links into `outline`. */
function textOf(tokens: readonly Token[], outline: Outline, url: string): string {
  return tokens.map((token) => inlineText(token, outline, url)).join('');
}

function inlineText(token: Token, outline: Outline, url: string): string {
  if (token.type === 'br') return ' ';
  if (token.type === 'image') return '';
  if (token.type === 'html') return exponents(token.raw).replace(/<[^>]*>/g, '');
  const inner = 'tokens' in token && token.tokens ? textOf(token.tokens, outline, url) : undefined;
  if (isKind(token, 'link')) outline.links.add(linkKey(inner ?? token.text, token.href, url));
  return inner ?? ('text' in token ? token.text : token.raw);
}

function linkKey(text: string, href: string, url: string): string {
  return `${plain(text)} ${URL.parse(href, url)?.href ?? href}`;
}

const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/**
 * Letters and digits, one space between words: how marks, dashes and brackets are written is a matter of taste. Numbers of
 * footnotes do not count, and an exponent is a word of its own: `mc2` is not `mc²`.
 */
export function plain(text: string): string {
  return exponents(decodeHTML(text))
    .replace(/\\?\[\d+\\?\]/g, ' ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase();
}

function exponents(text: string): string {
  return text.replace(/<sup[^>]*>/g, '^').replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (digit) => `^${RAISED.indexOf(digit)}`);
}

/** Where a heading is numbered by its tool, the number may stay. */
function unnumbered(text: string): string {
  return text.replace(/^\d+( \d+)* (?=\p{L})/u, '');
}

function codeLine(line: string): string {
  return line.replaceAll('\u00a0', ' ').trimEnd();
}

function dayOf(date: string): string {
  const iso = /\d{4}-\d{2}-\d{2}/.exec(date)?.[0];
  if (iso) return iso;
  const parsed = new Date(`${date} UTC`);
  return Number.isNaN(parsed.getTime()) ? '' : parsed.toISOString().slice(0, 10);
}

/** Whether a text names a day, as `2024-03-09` or `March 9, 2024`. */
function saysDay(text: string, day: string): boolean {
  const long = new Date(`${day}T00:00:00Z`).toLocaleDateString('en-US', {
    timeZone: 'UTC',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
  return text.includes(plain(day)) || text.includes(plain(long));
}
