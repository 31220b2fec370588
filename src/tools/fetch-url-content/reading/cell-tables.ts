import { MAX_CONTENT } from '../parsing/parse-job.ts';

/** How much of a sheet is read, in UTF-16 code units: its Markdown is longer still and is cut at the end of a document. */
export const MAX_SHEET_LENGTH = 2 * MAX_CONTENT;
/** Rows are split into tables of about this length, each with its range and the header row, so that a passage explains itself. */
const TABLE_LENGTH = 1000;

/** The longest text of a cell, in UTF-16 code units, as in Excel. Any number of cells may share one text. */
export const MAX_CELL_LENGTH = 32_767;

/** A row that is not empty, with its number in the sheet. */
export interface CellRow {
  number: number;
  cells: string[];
}

/** Some rows of a sheet, below the sheet's first row. */
interface CellTable {
  /** Such as `[Cells A1:D20]`. */
  mark: string;
  rows: string[][];
}

/** Splits the rows of a sheet into tables. */
export function* cellTables(rows: Iterable<CellRow>): Generator<CellTable> {
  let head: string[] | undefined;
  let block: CellRow[] = [];
  let length = 0;
  const endTable = (): CellTable => {
    const cells = block.map((row) => row.cells);
    const part = { mark: `[Cells ${rangeOf(block)}]`, rows: head ? [head, ...cells] : cells };
    head ??= cells[0] ?? [];
    block = [];
    length = 0;
    return part;
  };
  for (const row of rows) {
    block.push(row);
    length += rowLength(row);
    if (length >= TABLE_LENGTH) yield endTable();
  }
  if (block.length > 0) yield endTable();
}

/** The length of a row in a table, with the separators between cells. */
export function rowLength({ cells }: CellRow): number {
  return cells.reduce((sum, cell) => sum + cell.length + 3, 0);
}

function rangeOf(rows: readonly CellRow[]): string {
  const first = Math.min(...rows.map(({ cells }) => cells.findIndex((cell) => cell !== '')));
  const last = Math.max(...rows.map(({ cells }) => cells.length)) - 1;
  return `${columnName(Math.max(0, first))}${rows[0]?.number}:${columnName(last)}${rows.at(-1)?.number}`;
}

/** Column 27, counted from 0, is `AB`. */
function columnName(column: number): string {
  const before = Math.floor(column / 26);
  return (before > 0 ? columnName(before - 1) : '') + String.fromCharCode(65 + (column % 26));
}
