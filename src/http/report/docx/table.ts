import type { Tokens } from 'marked';
import { textOfTokens } from '../plain-text.ts';
import { paragraph } from './text.ts';

/** More columns Word does not open, and more rows neither: what is larger becomes several tables. */
const MAX_COLUMNS = 63;
const MAX_ROWS = 30_000;
/** The width of a page's text, in twentieths of a point. */
const TEXT_WIDTH = 9026;

type Cell = Pick<Tokens.TableCell, 'tokens' | 'align' | 'header'>;

interface TableOptions {
  indent: number;
  /** Its first column stands on the right. */
  rtl: boolean;
  /** Writes the paragraph of a cell. */
  cell(cell: Cell): string;
}

/** A table whose head is repeated on every page, row by row. */
export function* table(
  header: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): Generator<string> {
  for (let left = 0; left < header.length; left += MAX_COLUMNS) {
    const columns = (cells: readonly Cell[]) => cells.slice(left, left + MAX_COLUMNS);
    for (let top = 0; top === 0 || top < rows.length; top += MAX_ROWS) {
      const body = rows.slice(top, top + MAX_ROWS).map(columns);
      // Two tables without a paragraph between them would be one.
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

/** Rows whose text says how wide columns are. */
const MEASURED_ROWS = 200;
/** The width of a letter and of what stands around a cell's text, in twentieths of a point. */
const LETTER_WIDTH = 120;
const PADDING = 3;
/** Longer words break, and longer texts have several lines, in letters. */
const LONGEST_WORD = 24;
const LONGEST_LINE = 60;

/** Widths of columns, so that words and figures stay whole where there is room; together as wide as the page. */
function widthsOf(rows: readonly (readonly Cell[])[], width: number): number[] {
  const columns = (rows[0] ?? []).map((_, at) => {
    const texts = rows.map((cells) => textOfTokens(cells[at]?.tokens ?? []));
    const most = (lengths: readonly number[], limit: number) =>
      Math.min(
        lengths.reduce((longest, one) => Math.max(longest, one), 1),
        limit,
      ) + PADDING;
    const least = most(
      texts.flatMap((text) => text.split(BREAKS).map(lettersOf)),
      LONGEST_WORD,
    );
    return { least, wanted: Math.max(least, most(texts.map(lettersOf), LONGEST_LINE)) };
  });
  const sum = (of: 'least' | 'wanted') => columns.reduce((all, column) => all + column[of], 0);
  const room = Math.max(0, width / LETTER_WIDTH - sum('least'));
  const more = Math.min(1, room / Math.max(1, sum('wanted') - sum('least')));
  const letters = columns.map(({ least, wanted }) => least + more * (wanted - least));
  const scale = width / letters.reduce((all, each) => all + each, 0);
  return letters.map((each) => Math.floor(each * scale));
}

/** Where a line may break: at spaces, and between signs of East Asia. */
const BREAKS = /\s+|(?=[\u2e80-\uffef])/;

/** The width of a text in letters; signs of East Asia are twice as wide. */
function lettersOf(text: string): number {
  return [...text].reduce((sum, letter) => sum + (letter >= '\u2e80' ? 2 : 1), 0);
}
