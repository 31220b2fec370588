import { onOneLine } from '../../../../base/text.ts';

/** A piece of text where a page has it; `y` grows upwards. */
export interface PlacedText {
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Fewer pieces make no columns, and more are no text. */
const LEAST_PIECES = 16;
const MOST_PIECES = 20_000;
/** Lines of prose have at least this many characters; the columns of a table have less. */
const LEAST_LINE = 22;
/** Pieces in the order of reading go from one column to the other this often, at most. */
const FEW_CHANGES = 4;

/**
 * The pieces of a page in the order of reading. Most files have them so; where a page of two columns was written line
 * by line across both, its columns are put one behind the other. What stands across both (titles, wide figures) keeps
 * what is above it apart from what is below.
 */
export function inReadingOrder(pieces: readonly PlacedText[]): readonly PlacedText[] {
  const gutter = gutterOf(pieces);
  if (gutter === undefined) return pieces;
  const sides = pieces.filter(({ text }) => text.trim() !== '').map((piece) => sideOf(piece, gutter));
  const changes = sides.filter((side, at) => at > 0 && side !== 'across' && sides[at - 1] !== side).length;
  if (changes <= FEW_CHANGES) return pieces;
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

/** Pages of which half have the same first or last line, but for numbers, lose it; single pages keep what they have. */
export function withoutRunningLines(pages: readonly string[]): string[] {
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

/** A row of a table: tables that go on have the same head on every page. */
function isRow(line: string): boolean {
  return line.startsWith('| ');
}

function shapeOf(line: string): string {
  return onOneLine(line.replace(/\d+/g, '#')).slice(0, 200);
}

/** Where the space between two columns lies, if the page has two. */
function gutterOf(pieces: readonly PlacedText[]): number | undefined {
  const shown = pieces.filter(({ text }) => text.trim() !== '');
  if (shown.length < LEAST_PIECES || shown.length > MOST_PIECES) return undefined;
  const start = Math.min(...shown.map(({ x }) => x));
  const end = Math.max(...shown.map(({ x, width }) => x + width));
  let best: { gutter: number; crossing: number } | undefined;
  for (let share = 0.35; share <= 0.65; share += 0.01) {
    const gutter = start + (end - start) * share;
    const crossing = shown.filter((piece) => sideOf(piece, gutter) === 'across').length;
    if (!best || crossing < best.crossing) best = { gutter, crossing };
  }
  if (!best || best.crossing > shown.length * 0.15) return undefined;
  const { gutter } = best;
  const isColumn = (side: 'left' | 'right') => {
    const lines = linesOf(shown.filter((piece) => sideOf(piece, gutter) === side));
    const length = lines.flat().reduce((sum, { text }) => sum + text.length, 0);
    return lines.length >= 6 && length / lines.length >= LEAST_LINE;
  };
  return isColumn('left') && isColumn('right') ? gutter : undefined;
}

function sideOf({ x, width }: PlacedText, gutter: number): 'left' | 'right' | 'across' {
  if (x + width <= gutter + 2) return 'left';
  return x >= gutter - 2 ? 'right' : 'across';
}

/** Pieces of one height, from the top of the page down, each line from left to right. */
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
