import type { Tokens } from 'marked';
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
  const width = Math.floor((TEXT_WIDTH - indent) / header.length);
  const row = (cells: readonly Cell[], properties: string) => {
    const written = cells.map(
      (each) => `<w:tc><w:tcPr><w:tcW w:w="${width}" w:type="dxa"/></w:tcPr>${cell(each)}</w:tc>`,
    );
    return `<w:tr><w:trPr><w:cantSplit/>${properties}</w:trPr>${written.join('')}</w:tr>`;
  };
  const properties = [
    '<w:tblStyle w:val="ReportTable"/>',
    rtl ? '<w:bidiVisual/>' : '',
    `<w:tblW w:w="${width * header.length}" w:type="dxa"/>`,
    indent > 0 ? `<w:tblInd w:w="${indent}" w:type="dxa"/>` : '',
    '<w:tblLook w:val="0020" w:firstRow="1" w:lastRow="0" w:firstColumn="0" w:lastColumn="0" w:noHBand="1" w:noVBand="1"/>',
  ].join('');
  const grid = header.map(() => `<w:gridCol w:w="${width}"/>`).join('');
  yield `<w:tbl><w:tblPr>${properties}</w:tblPr><w:tblGrid>${grid}</w:tblGrid>${row(header, '<w:tblHeader/>')}`;
  for (const cells of rows) yield row(cells, '');
  yield '</w:tbl>';
}
