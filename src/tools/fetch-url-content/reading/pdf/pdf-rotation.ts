import type { PlacedText } from './pdf-layout.ts';

/** A text item of pdf.js; `transform` maps its line to the page. */
interface TextItem {
  str: string;
  transform: unknown[];
  width: number;
  height: number;
}

/** Directions of lines are rounded to multiples of this angle, in degrees. */
const STEP = 15;
/** How far apart two overprints are at most, as a share of the letter height. */
const MAX_OFFSET = 0.1;
/** How many previous pieces are compared: text is overprinted at most so often. */
const MAX_OVERPRINTS = 4;

/**
 * Groups the pieces of a page by the direction of their lines and rotates each group so that its lines are level, for
 * landscape pages and titles along the edge. The group with the most text comes first.
 */
export function groupByDirection(items: readonly TextItem[]): PlacedText[][] {
  const groups = new Map<number, PlacedText[]>();
  let angle = 0;
  for (const { str, transform, width, height } of items) {
    const [a = 0, b = 0, , , x = 0, y = 0] = transform.map(Number);
    // Spaces and ends of lines take the direction of the text before them.
    if (str.trim() !== '') angle = (Math.round((Math.atan2(b, a) * 180) / Math.PI / STEP) * STEP + 360) % 360;
    const [sine, cosine] = [Math.sin((angle * Math.PI) / 180), Math.cos((angle * Math.PI) / 180)];
    const pieces = groups.getOrInsertComputed(angle, () => []);
    const piece = {
      text: str.replaceAll('\ufffd', ''),
      x: x * cosine + y * sine,
      y: y * cosine - x * sine,
      width,
      height,
    };
    if (!isOverprint(piece, pieces)) pieces.push(piece);
  }
  const lengthOf = (pieces: readonly PlacedText[]) => pieces.reduce((sum, { text }) => sum + text.length, 0);
  return [...groups.values()].sort((a, b) => lengthOf(b) - lengthOf(a));
}

/** Whether a piece prints the same text again almost at the same place, which makes it bold. */
function isOverprint(piece: PlacedText, previous: readonly PlacedText[]): boolean {
  if (piece.text.trim() === '') return false;
  const isNear = (a: number, b: number) => Math.abs(a - b) < piece.height * MAX_OFFSET;
  return previous
    .slice(-MAX_OVERPRINTS)
    .some(({ text, x, y }) => text === piece.text && isNear(x, piece.x) && isNear(y, piece.y));
}
