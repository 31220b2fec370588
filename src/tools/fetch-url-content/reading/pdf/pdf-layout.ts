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
/** How often pieces that are already in reading order may change between the columns. */
const MAX_CHANGES = 4;

/**
 * Sorts the pieces of a page into reading order. Most files have them in it; if a page of two columns was written line by
 * line across both, its left column is put before the right one. Pieces across both columns, such as titles and wide
 * figures, separate what is above them from what is below.
 */
export function sortForReading(pieces: readonly PlacedText[]): readonly PlacedText[] {
  const gutter = gutterOf(pieces);
  if (gutter === undefined) return pieces;
  const sides = pieces.filter(({ text }) => text.trim() !== '').map((piece) => sideOf(piece, gutter));
  const changes = sides.filter((side, at) => at > 0 && side !== 'across' && sides[at - 1] !== side).length;
  if (changes <= MAX_CHANGES) return pieces;
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

/** Removes first and last lines that at least three and half of the pages share, apart from numbers: running heads and feet. */
export function removeRunningLines(pages: readonly string[]): string[] {
  const split = pages.map((page) => page.split('\n'));
  const repeated = (lines: readonly (string | undefined)[]) => {
    const counts = new Map<string, number>();
    for (const line of lines) if (line && !isRow(line)) counts.set(shapeOf(line), (counts.get(shapeOf(line)) ?? 0) + 1);
    return new Set([...counts].filter(([, count]) => count >= 3 && count >= pages.length / 2).map(([shape]) => shape));
  };
  const heads = repeated(split.map((lines) => lines[0]));
  const feet = repeated(split.map((lines) => lines.at(-1)));
  return split.map((lines) => {
    const start = lines.length > 1 && heads.has(shapeOf(lines[0] ?? '')) ? 1 : 0;
    const end = lines.length > start + 1 && feet.has(shapeOf(lines.at(-1) ?? '')) ? lines.length - 1 : lines.length;
    return lines.slice(start, end).join('\n').trim();
  });
}

/** Whether a line is a row of a table: a table over several pages repeats its header row, which must stay. */
function isRow(line: string): boolean {
  return line.startsWith('| ');
}

function shapeOf(line: string): string {
  return toSingleLine(line.replace(/\d+/g, '#')).slice(0, 200);
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
    return lines.length >= 6 && length / lines.length >= MIN_LINE_LENGTH;
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
