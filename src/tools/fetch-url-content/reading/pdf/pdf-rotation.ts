import type { PlacedText } from './pdf-layout.ts';

/** Text as the parser gives it: its matrix leads from its own line to the page. */
interface TextItem {
  str: string;
  transform: unknown[];
  width: number;
  height: number;
}

/** Directions of lines are rounded to so many degrees: lines of one direction are read together. */
const STEP = 15;
/** In heights of a letter. */
const STROKE = 0.1;
/** Text is printed so often, at most, one directly after the other. */
const OVERPRINTS = 4;

/**
 * The pieces of a page by the direction of their lines, each turned so that its lines are level: pages that lie on their
 * side, titles along the edge. Most of the text comes first.
 */
export function byDirection(items: readonly TextItem[]): PlacedText[][] {
  const groups = new Map<number, PlacedText[]>();
  let angle = 0;
  for (const { str, transform, width, height } of items) {
    const [a = 0, b = 0, , , x = 0, y = 0] = transform.map(Number);
    // Spaces and ends of lines go with what they follow.
    if (str.trim() !== '') angle = (Math.round((Math.atan2(b, a) * 180) / Math.PI / STEP) * STEP + 360) % 360;
    const [sine, cosine] = [Math.sin((angle * Math.PI) / 180), Math.cos((angle * Math.PI) / 180)];
    const pieces = groups.get(angle) ?? [];
    groups.set(angle, pieces);
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
  return [...groups.values()].sort((one, other) => lengthOf(other) - lengthOf(one));
}

/** Whether a piece makes what stands there bold: the same text again, less than a stroke beside it. */
function isOverprint(piece: PlacedText, before: readonly PlacedText[]): boolean {
  if (piece.text.trim() === '') return false;
  const isNear = (one: number, other: number) => Math.abs(one - other) < piece.height * STROKE;
  return before
    .slice(-OVERPRINTS)
    .some(({ text, x, y }) => text === piece.text && isNear(x, piece.x) && isNear(y, piece.y));
}
