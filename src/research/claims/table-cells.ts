import type { Passage } from './passages.ts';
import type { Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import type { SourceText } from './text/source-text.ts';
import { containsWord } from './text/words.ts';

/** Checks to which row and column of a table a figure belongs. */

/** How many rows of a table are read above and below a passage. */
const MAX_ROWS = 60;
/** Shorter names of rows and columns match everywhere, in UTF-16 code units. */
const MIN_NAME = 2;
/** Scripts with spaces between words; in others a name may be anywhere in a text. */
const SPACED = /\p{Script=Latin}|\p{Script=Cyrillic}|\p{Script=Greek}/u;

/** A row of a table, with its cells as folded text. */
interface Row {
  sentence: Sentence;
  cells: readonly string[];
}

/**
 * Whether a figure of a claim appears in a table only in rows, or under headings, that the claim does not name, while it
 * names others: `Japan 18`, but 18 is in the row of Australia. Names that the claim spells differently decide nothing.
 */
export function isOfAnotherCell(claim: Sentence, { first, last }: Passage, source: SourceText): boolean {
  const shown = Array.from({ length: last - first + 1 }, (_, i) => rowAt(first + i, source));
  const rows = shown.filter((row) => row !== undefined);
  if (rows.length === 0) return false;
  const table = tableAround(first + shown.findLastIndex(Boolean), source);
  return claim.clauses.some((clause) =>
    clause.figures.some((figure) => {
      const cellsOf = (row: Row) => row.sentence.figures.filter((other) => sameFigure(figure, other));
      const places = rows.filter((row) => cellsOf(row).length > 0);
      if (places.length === 0) return false;
      const isNamed = (row: Row, text: string) => saysName(text, nameOf(row));
      const about = table.rows.some((row) => isNamed(row, clause.text)) ? clause.text : claim.folded;
      const own = places.filter((row) => isNamed(row, about));
      if (own.length === 0) return table.rows.some((row) => isNamed(row, about));
      const heads = table.head?.cells ?? [];
      return own.every((row) => {
        const columns = cellsOf(row).map(({ start }) => columnAt(row, start));
        const isBelow = columns.some((column) => !heads[column] || saysName(clause.text, heads[column]));
        return !isBelow && heads.some((head, column) => !columns.includes(column) && saysName(clause.text, head));
      });
    }),
  );
}

/** The sentence as a row, if it is a complete one. */
function rowAt(index: number, source: SourceText): Row | undefined {
  const start = source.start(index);
  if (source.text[start] !== '|' || !/^\n?$/.test(source.text.slice(Math.max(0, start - 1), start))) return undefined;
  const sentence = source.sentence(index);
  const cells = sentence.folded.split('|').map((cell) => cell.replace(/[*_`]+/g, '').trim());
  return { sentence, cells };
}

/** The rows around a row, and the row with their headings. */
function tableAround(index: number, source: SourceText): { rows: Row[]; head: Row | undefined } {
  const rows: Row[] = [];
  let head: Row | undefined;
  for (let at = index; at >= Math.max(0, index - MAX_ROWS); at--) {
    const row = rowAt(at, source);
    if (!row) break;
    if (row.cells.every((cell) => /^[\s:-]*$/.test(cell))) {
      head = at > 0 ? rowAt(at - 1, source) : undefined;
      break;
    }
    rows.unshift(row);
  }
  for (let at = index + 1; at < Math.min(source.sentences, index + MAX_ROWS); at++) {
    const row = rowAt(at, source);
    if (!row) break;
    rows.push(row);
  }
  return { rows, head };
}

/** The name of a row: its first cell that is not empty. */
function nameOf({ cells }: Row): string {
  return cells.find((cell) => cell !== '') ?? '';
}

function columnAt({ sentence }: Row, place: number): number {
  return sentence.folded.slice(0, place).split('|').length - 1;
}

/** Whether a text contains a name as separate words. */
function saysName(text: string, name: string): boolean {
  if (name.length < MIN_NAME || !/\p{L}/u.test(name)) return false;
  return SPACED.test(name) ? containsWord(name, text, /[\p{L}\p{N}]/u) : text.includes(name);
}
