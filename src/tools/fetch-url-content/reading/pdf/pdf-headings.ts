import { isVertical, type PlacedText } from './pdf-layout.ts';

/** How much larger than most of the text a heading is, and from which factors on it is one of the two upper levels. */
const MIN_FACTOR = 1.15;
const LEVEL_FACTORS = [1.8, 1.35];
/** The least difference, in points: fonts of one size differ by fractions. */
const MIN_DIFFERENCE = 1;
/** A larger share of a line is of the heading's size; the rest are note numbers. */
const MIN_SHARE = 0.8;
/** Fewer letters are drop capitals and figures; more text is a quote. In characters and lines. */
const MIN_LETTERS = 3;
const MAX_LENGTH = 200;
const MAX_LINES = 3;

/** The size of most text of a document, as far as it has been read. */
export class TextSizes {
  readonly #lengths = new Map<number, number>();

  add(pieces: readonly PlacedText[]): void {
    for (const piece of pieces) {
      if (isVertical(piece)) continue;
      const size = Math.round(piece.height * 2) / 2;
      this.#lengths.set(size, (this.#lengths.get(size) ?? 0) + piece.text.trim().length);
    }
  }

  /** In points; 0 if there is no text. */
  get usual(): number {
    let usual = 0;
    for (const [size, length] of this.#lengths) if (length > (this.#lengths.get(usual) ?? 0)) usual = size;
    return usual;
  }
}

/** A line of a page. */
export interface PlacedLine {
  /** The line breaks before it: two begin a paragraph. */
  gap: string;
  text: string;
  pieces: PlacedText[];
}

/** Lines that are one heading, or one other line; `level` is 0 for the latter. */
interface LineGroup {
  level: number;
  lines: PlacedLine[];
}

/** Finds the headings among the lines of a text by their size. */
export function headingsAmong(lines: readonly PlacedLine[], usualSize: number): LineGroup[] {
  const groups: LineGroup[] = [];
  for (const line of lines) {
    const level = headingLevel(line, usualSize);
    const last = groups.at(-1);
    if (last && last.level > 0 && line.text.trim() === '') continue;
    if (last && last.level > 0 && last.level === level && line.gap === '\n') last.lines.push(line);
    else groups.push({ level, lines: [line] });
  }
  return groups.map((group) => (isHeading(group) ? group : { level: 0, lines: group.lines }));
}

/** A longer text in larger letters, or one that ends as a sentence does, is an introduction or a quote. */
function isHeading({ lines }: LineGroup): boolean {
  return lines.length <= MAX_LINES && !/[.,;。，、]$/.test(lines.at(-1)?.text.trim() ?? '');
}

/** The level of a line as a heading, 1 to 3, by the size of its text; 0 for any other line. */
function headingLevel({ text, pieces }: PlacedLine, usualSize: number): number {
  if (usualSize === 0 || text.length > MAX_LENGTH || (text.match(/\p{L}/gu)?.length ?? 0) < MIN_LETTERS) return 0;
  const isLarge = (piece: PlacedText) =>
    !isVertical(piece) && piece.height >= Math.max(usualSize * MIN_FACTOR, usualSize + MIN_DIFFERENCE);
  const large = pieces.filter(isLarge);
  const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  if (large.reduce((sum, piece) => sum + piece.text.length, 0) < length * MIN_SHARE) return 0;
  const factor = Math.max(...large.map(({ height }) => height)) / usualSize;
  const level = LEVEL_FACTORS.findIndex((least) => factor >= least);
  return level === -1 ? LEVEL_FACTORS.length + 1 : level + 1;
}
