import { toSingleLine } from '../../../../base/text.ts';

/** A piece of text with its position on the page; `y` grows upwards. */
export interface PlacedText {
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Fewer pieces are no columns, and more are no text. */
const MIN_PIECES = 16;
const MAX_PIECES = 20_000;
/** The shortest average line of a column of prose, in characters; columns of tables are narrower. */
const MIN_LINE_LENGTH = 22;
/** The fewest lines of a column. */
const MIN_LINES = 6;
/** Pieces that are this much higher than the ones before them, in heights of a line, begin another column. */
const RISE = 5;

/**
 * Sorts the pieces of a page into reading order. Most files have them in it. Only if a page of two columns was written
 * line by line across both, its left column is put before the right one. Pieces across both columns, such as titles and
 * wide figures, separate what is above them from what is below.
 */
export function sortForReading(pieces: readonly PlacedText[]): readonly PlacedText[] {
  const gutter = isByColumns(pieces) ? undefined : gutterOf(pieces);
  if (gutter === undefined) return pieces;
  const ordered: PlacedText[] = [];
  let left: PlacedText[] = [];
  let right: PlacedText[] = [];
  const flush = () => {
    ordered.push(...left, ...right);
    left = [];
    right = [];
  };
  for (const line of linesOf(pieces)) {
    if (line.some((piece) => sideOf(piece, gutter) === 'across')) {
      flush();
      ordered.push(...line);
      continue;
    }
    left.push(...line.filter((piece) => sideOf(piece, gutter) === 'left'));
    right.push(...line.filter((piece) => sideOf(piece, gutter) === 'right'));
  }
  flush();
  return ordered;
}

/**
 * Removes first and last lines that at least three and half of the pages share, apart from the page number: running heads and
 * feet. Lines that differ in another number, such as the balance at the end of each page, are text.
 */
export function removeRunningLines(pages: readonly string[]): string[] {
  const split = pages.map((page) => page.split('\n'));
  const repeated = (lines: readonly (string | undefined)[]) => {
    const counts = new Map<string, number>();
    for (const [at, line] of lines.entries()) {
      if (!line || isRow(line)) continue;
      for (const shape of shapesOf(line, at)) counts.set(shape, (counts.get(shape) ?? 0) + 1);
    }
    const shared = new Set(
      [...counts].filter(([, count]) => count >= 3 && count >= pages.length / 2).map(([shape]) => shape),
    );
    return (line: string | undefined, page: number) =>
      line !== undefined && shapesOf(line, page).some((shape) => shared.has(shape));
  };
  const isHead = repeated(split.map((lines) => lines[0]));
  const isFoot = repeated(split.map((lines) => lines.at(-1)));
  return split.map((lines, page) => {
    const start = lines.length > 1 && isHead(lines[0], page) ? 1 : 0;
    const end = lines.length > start + 1 && isFoot(lines.at(-1), page) ? lines.length - 1 : lines.length;
    return lines.slice(start, end).join('\n').trim();
  });
}

/** Whether a line is a row of a table: a table over several pages repeats its header row, which must stay. */
function isRow(line: string): boolean {
  return line.startsWith('| ');
}

/** How much of a line is compared, in characters, and how many of its numbers may be that of its page. */
const MAX_COMPARED = 200;
const MAX_NUMBERS = 8;

/** A line as it is, and with each of its numbers relative to the page. */
function shapesOf(line: string, page: number): string[] {
  const text = toSingleLine(line.slice(0, MAX_COMPARED));
  const numbers = [...text.matchAll(/\d+/g)].slice(0, MAX_NUMBERS);
  const relative = numbers.map(
    ({ 0: digits, index }) => `${text.slice(0, index)}#${Number(digits) - page}#${text.slice(index + digits.length)}`,
  );
  return [text, ...relative];
}

/** Whether the pieces go back up the page between texts of several lines: their columns are written one after the other. */
function isByColumns(pieces: readonly PlacedText[]): boolean {
  let columns = 0;
  let lines = 0;
  let last: PlacedText | undefined;
  for (const piece of pieces) {
    if (piece.text.trim() === '') continue;
    const drop = last ? last.y - piece.y : Number.POSITIVE_INFINITY;
    if (drop < -RISE * piece.height) lines = 0;
    else if (drop > piece.height / 2) lines += 1;
    if (lines === MIN_LINES && drop > piece.height / 2) columns += 1;
    last = piece;
  }
  return columns > 1;
}

const EAST_ASIAN =
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\u3000-\\u303f\\u30fc\\uff00-\\uffef]';
const CHARACTER = new RegExp(`^${EAST_ASIAN}$`, 'u');
const BEGINS_EAST_ASIAN = new RegExp(`^${EAST_ASIAN}{2}`, 'u');

/** Whether a piece is a column of vertical text. */
export function isVertical({ text, width, height }: PlacedText): boolean {
  return height > width * 1.5 && BEGINS_EAST_ASIAN.test(text);
}

/** Joins single characters that stand below one another, as browsers print vertical text. */
export function joinVertical(pieces: readonly PlacedText[]): PlacedText[] {
  const joined: PlacedText[] = [];
  let last: PlacedText | undefined;
  for (const piece of pieces) {
    const column = joined.at(-1);
    const drop = (last?.y ?? 0) - piece.y;
    const isBelow =
      last && Math.abs(last.x - piece.x) < piece.height / 2 && drop > -piece.height && drop < piece.height * 3;
    if (column && isBelow && drop !== 0 && CHARACTER.test(last?.text ?? '') && CHARACTER.test(piece.text)) {
      joined[joined.length - 1] = {
        ...column,
        text: column.text + piece.text,
        height: column.y - piece.y + piece.height,
      };
    } else joined.push(piece);
    if (piece.text !== '') last = piece;
  }
  return joined;
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** Orders the lines of a text that are in Arabic or Hebrew from right to left; words in other scripts stay as they are. */
export function inReadingDirection(pieces: readonly PlacedText[]): readonly PlacedText[] {
  if (!pieces.some(({ text }) => RIGHT_TO_LEFT.test(text))) return pieces;
  const ordered: PlacedText[] = [];
  let line: PlacedText[] = [];
  const flush = () => {
    const letters = line.flatMap(({ text }) => text.match(/\p{L}/gu) ?? []);
    const share = letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length / Math.max(1, letters.length);
    ordered.push(...(share > 0.5 ? fromRightToLeft(line) : line));
    line = [];
  };
  for (const piece of pieces) {
    const first = line[0];
    if (first && Math.abs(first.y - piece.y) > Math.max(first.height, piece.height, 1) * 0.5) flush();
    line.push(piece);
  }
  flush();
  return ordered;
}

function fromRightToLeft(line: readonly PlacedText[]): PlacedText[] {
  const ordered: PlacedText[] = [];
  let foreign: PlacedText[] = [];
  for (const piece of line.toSorted((a, b) => b.x - a.x)) {
    if (!RIGHT_TO_LEFT.test(piece.text)) {
      foreign.unshift(piece);
      continue;
    }
    ordered.push(...foreign, piece);
    foreign = [];
  }
  return [...ordered, ...foreign];
}

/** The `x` of the space between two columns; undefined if the page does not have two. */
function gutterOf(pieces: readonly PlacedText[]): number | undefined {
  const printed = pieces.filter(({ text }) => text.trim() !== '');
  if (printed.length < MIN_PIECES || printed.length > MAX_PIECES) return undefined;
  const start = Math.min(...printed.map(({ x }) => x));
  const end = Math.max(...printed.map(({ x, width }) => x + width));
  let best: { gutter: number; crossing: number } | undefined;
  for (let share = 0.35; share <= 0.65; share += 0.01) {
    const gutter = start + (end - start) * share;
    const crossing = printed.filter((piece) => sideOf(piece, gutter) === 'across').length;
    if (!best || crossing < best.crossing) best = { gutter, crossing };
  }
  if (!best || best.crossing > printed.length * 0.15) return undefined;
  const { gutter } = best;
  const isColumn = (side: 'left' | 'right') => {
    const lines = linesOf(printed.filter((piece) => sideOf(piece, gutter) === side));
    const length = lines.flat().reduce((sum, { text }) => sum + text.length, 0);
    return lines.length >= MIN_LINES && length / lines.length >= MIN_LINE_LENGTH;
  };
  return isColumn('left') && isColumn('right') ? gutter : undefined;
}

function sideOf({ x, width }: PlacedText, gutter: number): 'left' | 'right' | 'across' {
  if (x + width <= gutter + 2) return 'left';
  return x >= gutter - 2 ? 'right' : 'across';
}

/** Groups pieces of the same height into lines, from the top of the page down, each from left to right. */
function linesOf(pieces: readonly PlacedText[]): PlacedText[][] {
  const sorted = [...pieces].sort((a, b) => b.y - a.y);
  const lines: PlacedText[][] = [];
  for (const piece of sorted) {
    const line = lines.at(-1);
    const first = line?.[0];
    if (line && first && Math.abs(first.y - piece.y) < Math.max(first.height, piece.height, 1) * 0.5) line.push(piece);
    else lines.push([piece]);
  }
  for (const line of lines) line.sort((a, b) => a.x - b.x);
  return lines;
}
