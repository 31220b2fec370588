import { MAX_CONTENT } from '../parsing/parse-job.ts';

/** A sheet is read no further: what its rows are written as is longer than a document may be, and is cut there. */
export const LONGEST_SHEET = 2 * MAX_CONTENT;
/** Rows stand in tables of about this many characters, each with its place and the first row: a passage says what it shows. */
const TABLE_LENGTH = 1000;

/** The longest text of a cell, in UTF-16 code units: that of Excel. One text may stand in any number of cells. */
export const LONGEST_CELL = 32_767;

/** A row that shows something, with its number in the sheet. */
export interface CellRow {
  number: number;
  cells: string[];
}

/** A part of the rows of a sheet, with the first of them above. */
interface CellTable {
  /** Such as `[Cells A1:D20]`. */
  mark: string;
  rows: string[][];
}

/** The rows of a sheet in parts. */
export function* cellTables(rows: Iterable<CellRow>): Generator<CellTable> {
  let head: string[] | undefined;
  let block: CellRow[] = [];
  let length = 0;
  const ended = (): CellTable => {
    const cells = block.map((row) => row.cells);
    const part = { mark: `[Cells ${rangeOf(block)}]`, rows: head ? [head, ...cells] : cells };
    head ??= cells[0] ?? [];
    block = [];
    length = 0;
    return part;
  };
  for (const row of rows) {
    block.push(row);
    length += lengthOf(row);
    if (length >= TABLE_LENGTH) yield ended();
  }
  if (block.length > 0) yield ended();
}

/** With what a table puts around each cell. */
export function lengthOf({ cells }: CellRow): number {
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
