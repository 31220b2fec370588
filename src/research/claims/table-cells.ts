import type { Passage } from './passages.ts';
import type { Parsed } from './text/parsed.ts';
import { sameFigure } from './text/same-figure.ts';
import type { SourceText } from './text/source-text.ts';
import { standsAlone } from './text/words.ts';

/** Whose figures the cells of a table are. */

/** Rows of a table that are looked at above and below a passage. */
const MAX_ROWS = 60;
/** Shorter names of rows and columns stand everywhere, in UTF-16 code units. */
const MIN_NAME = 2;
/** Scripts that put spaces between words; in others a name may stand anywhere. */
const SPACED = /\p{Script=Latin}|\p{Script=Cyrillic}|\p{Script=Greek}/u;

/** A row of a table, with its cells as folded text. */
interface Row {
  sentence: Parsed;
  cells: readonly string[];
}

/**
 * Whether a figure of a claim stands in a table of its source only in rows, or below headings, of other names than those
 * that the claim says: `Japan 18` where 18 is what Australia has. Names that the claim writes otherwise say nothing.
 */
export function isOfAnotherCell(claim: Parsed, { first, last }: Passage, source: SourceText): boolean {
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

/** The sentence as a row, if it is a whole one. */
function rowAt(index: number, source: SourceText): Row | undefined {
  const start = source.start(index);
  if (source.text[start] !== '|' || !/^\n?$/.test(source.text.slice(Math.max(0, start - 1), start))) return undefined;
  const sentence = source.sentence(index);
  const cells = sentence.folded.split('|').map((cell) => cell.replace(/[*_`]+/g, '').trim());
  return { sentence, cells };
}

/** The rows around one of them, and the row of their headings. */
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

/** What a row is of: its first cell that is not empty. */
function nameOf({ cells }: Row): string {
  return cells.find((cell) => cell !== '') ?? '';
}

function columnAt({ sentence }: Row, place: number): number {
  return sentence.folded.slice(0, place).split('|').length - 1;
}

/** Whether a text says a name as words of its own. */
function saysName(text: string, name: string): boolean {
  if (name.length < MIN_NAME || !/\p{L}/u.test(name)) return false;
  return SPACED.test(name) ? standsAlone(name, text, /[\p{L}\p{N}]/u) : text.includes(name);
}
