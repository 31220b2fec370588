import type { Tokens } from 'marked';
import { textOfTokens } from '../plain-text.ts';
import { paragraph } from './text.ts';

/** Word opens no table with more columns or rows, so a larger one is split. */
const MAX_COLUMNS = 63;
const MAX_ROWS = 30_000;
/** The width of the text area, in twentieths of a point. */
const TEXT_WIDTH = 9026;

type Cell = Pick<Tokens.TableCell, 'tokens' | 'align' | 'header'>;

interface TableOptions {
  indent: number;
  /** Whether the first column is on the right. */
  rtl: boolean;
  /** Writes the paragraph of a cell. */
  cell(cell: Cell): string;
}

/** Writes a table row by row. Word repeats its header on every page. */
export function* table(
  header: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): Generator<string> {
  for (let left = 0; left < header.length; left += MAX_COLUMNS) {
    const columns = (cells: readonly Cell[]) => cells.slice(left, left + MAX_COLUMNS);
    for (let top = 0; top === 0 || top < rows.length; top += MAX_ROWS) {
      const body = rows.slice(top, top + MAX_ROWS).map(columns);
      // Word would merge two tables without a paragraph between them.
      yield* oneTable(columns(header), body, options);
      yield paragraph('', { style: 'AfterTable' });
    }
  }
}

function* oneTable(
  header: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): Generator<string> {
  const { indent, rtl, cell } = options;
  const widths = widthsOf([header, ...rows.slice(0, MEASURED_ROWS)], TEXT_WIDTH - indent);
  const row = (cells: readonly Cell[], properties: string) => {
    const written = cells.map(
      (each, at) => `<w:tc><w:tcPr><w:tcW w:w="${widths[at] ?? 0}" w:type="dxa"/></w:tcPr>${cell(each)}</w:tc>`,
    );
    return `<w:tr><w:trPr><w:cantSplit/>${properties}</w:trPr>${written.join('')}</w:tr>`;
  };
  const properties = [
    '<w:tblStyle w:val="ReportTable"/>',
    rtl ? '<w:bidiVisual/>' : '',
    `<w:tblW w:w="${widths.reduce((sum, width) => sum + width, 0)}" w:type="dxa"/>`,
    indent > 0 ? `<w:tblInd w:w="${indent}" w:type="dxa"/>` : '',
    '<w:tblLook w:val="0020" w:firstRow="1" w:lastRow="0" w:firstColumn="0" w:lastColumn="0" w:noHBand="1" w:noVBand="1"/>',
  ].join('');
  const grid = widths.map((width) => `<w:gridCol w:w="${width}"/>`).join('');
  yield `<w:tbl><w:tblPr>${properties}</w:tblPr><w:tblGrid>${grid}</w:tblGrid>${row(header, '<w:tblHeader/>')}`;
  for (const cells of rows) yield row(cells, '');
  yield '</w:tbl>';
}

/** How many rows determine the widths of the columns. */
const MEASURED_ROWS = 200;
/** The width of a letter, in twentieths of a point, and the padding of a cell, in letters. */
const LETTER_WIDTH = 120;
const PADDING = 3;
/** Longer words are broken, and longer texts wrapped, in letters. */
const MAX_WORD = 24;
const MAX_LINE = 60;

/** The widths of columns, which together fill `width`. If there is room, words and numbers are not broken. */
function widthsOf(rows: readonly (readonly Cell[])[], width: number): number[] {
  const columns = (rows[0] ?? []).map((_, at) => {
    const texts = rows.map((cells) => textOfTokens(cells[at]?.tokens ?? []));
    const longest = (lengths: readonly number[], limit: number) =>
      Math.min(
        lengths.reduce((max, length) => Math.max(max, length), 1),
        limit,
      ) + PADDING;
    const min = longest(
      texts.flatMap((text) => text.split(BREAKS).map(lettersOf)),
      MAX_WORD,
    );
    return { min, ideal: Math.max(min, longest(texts.map(lettersOf), MAX_LINE)) };
  });
  const sum = (field: 'min' | 'ideal') => columns.reduce((total, column) => total + column[field], 0);
  const room = Math.max(0, width / LETTER_WIDTH - sum('min'));
  const share = Math.min(1, room / Math.max(1, sum('ideal') - sum('min')));
  const letters = columns.map(({ min, ideal }) => min + share * (ideal - min));
  const scale = width / letters.reduce((total, count) => total + count, 0);
  return letters.map((count) => Math.floor(count * scale));
}

/** Where a line may break: at spaces, and between East Asian characters. */
const BREAKS = /\s+|(?=[\u2e80-\uffef])/;

/** The width of a text in letters; East Asian characters are twice as wide. */
function lettersOf(text: string): number {
  return [...text].reduce((sum, letter) => sum + (letter >= '\u2e80' ? 2 : 1), 0);
}
