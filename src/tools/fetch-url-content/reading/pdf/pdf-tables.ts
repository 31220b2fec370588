import type { PlacedText } from './pdf-layout.ts';

/** A stretch of a page: pieces of running text, or a table whose cells stand below each other. */
export type PageStretch = { kind: 'text'; pieces: PlacedText[] } | { kind: 'table'; rows: string[][] };

/** Tables have at least this many rows; those of two columns more, since lists and forms look like them. */
const LEAST_ROWS = 3;
const LEAST_ROWS_OF_TWO = 4;
/** Cells that are this long on average are lines of prose: only one column of a table may have such. */
const PROSE_CELL = 22;
/** A gap of this many heights of a letter parts two cells; between words it is a third of one. */
const CELL_GAP = 1;
const MOST_PIECES = 20_000;
const MOST_COLUMNS = 40;
/** Where so many rows turned out to be no table, half of them are passed over: a page is looked at a few times at most. */
const FEW_ROWS = 8;

/** A cell, or a piece of one, where a page has it. */
interface Cell {
  text: string;
  start: number;
  end: number;
}

interface Line {
  pieces: PlacedText[];
  cells: Cell[];
  y: number;
  height: number;
}

interface Column {
  start: number;
  end: number;
}

/**
 * The stretches of a page, in the order of its pieces. Rows are a table where their cells stand in the same columns over
 * several lines and are short: lines of prose beside each other, lists and single lines with gaps stay text.
 */
export function stretchesOf(pieces: readonly PlacedText[]): PageStretch[] {
  if (pieces.length > MOST_PIECES) return [{ kind: 'text', pieces: [...pieces] }];
  const lines = linesInOrder(pieces);
  const stretches: PageStretch[] = [];
  for (let at = 0; at < lines.length; ) {
    const { rows, end } = tableAt(lines, at);
    if (rows) stretches.push({ kind: 'table', rows });
    else {
      const own = lines.slice(at, end).flatMap((line) => line.pieces);
      const last = stretches.at(-1);
      if (last?.kind === 'text') last.pieces.push(...own);
      else stretches.push({ kind: 'text', pieces: own });
    }
    at = end;
  }
  return stretches;
}

/** Pieces of one height that follow each other in the file. */
function linesInOrder(pieces: readonly PlacedText[]): Line[] {
  const lines: Line[] = [];
  for (const piece of pieces) {
    const line = lines.at(-1);
    const height = Math.max(line?.height ?? 0, piece.height, 1);
    if (line && (piece.text.trim() === '' || Math.abs(line.y - piece.y) < height * 0.5)) {
      line.pieces.push(piece);
      if (piece.text.trim() !== '') line.height = height;
    } else lines.push({ pieces: [piece], cells: [], y: piece.y, height: Math.max(piece.height, 1) });
  }
  for (const line of lines) line.cells = cellsOf(line);
  return lines;
}

function cellsOf({ pieces, height }: Line): Cell[] {
  const cells: Cell[] = [];
  const shown = pieces.filter(({ text }) => text.trim() !== '').sort((a, b) => a.x - b.x);
  for (const { text, x, width } of shown) {
    const last = cells.at(-1);
    if (last && x - last.end < height * CELL_GAP) {
      last.text += `${x - last.end > height * 0.15 ? ' ' : ''}${text}`;
      last.end = Math.max(last.end, x + width);
    } else cells.push({ text, start: x, end: x + width });
  }
  return cells;
}

/** The table that begins at a line, or none, and the line to go on with. */
function tableAt(lines: readonly Line[], from: number): { rows?: string[][]; end: number } {
  const first = lines[from];
  if (!first || first.cells.length < 2 || first.cells.length > MOST_COLUMNS) return { end: from + 1 };
  let columns: Column[] = first.cells.map(({ start, end }) => ({ start, end }));
  const rows: Cell[][] = [first.cells];
  const continued: { row: number; cell: Cell }[] = [];
  let end = from + 1;
  for (let last = first; end < lines.length; end++) {
    const line = lines[end];
    if (!line || !follows(last, line)) break;
    if (line.cells.length === 1) {
      const [cell] = line.cells;
      // More of a cell of the row above, unless it is in the first column: that may be the text below the table.
      if (!cell || last.y - line.y > line.height * 1.8 || !isWithin(columns, cell)) break;
      continued.push({ row: rows.length - 1, cell });
    } else {
      const joined = joinColumns(columns, line.cells);
      if (!joined || !fits(joined, columns) || !fits(joined, line.cells)) break;
      columns = joined;
      rows.push(line.cells);
    }
    last = line;
  }
  if (!isTable(rows, columns)) return { end: from + (rows.length > FEW_ROWS ? Math.floor(rows.length / 2) : 1) };
  const texts = rows.map((row) => columns.map((column) => textIn(row, column)));
  for (const { row, cell } of continued) {
    const at = columns.findIndex((column) => touches(column, cell));
    const cells = texts[row];
    if (cells) cells[at] = `${cells[at] ?? ''} ${cell.text.trim()}`.trim();
  }
  return { rows: texts, end };
}

/** Below, and not so far below that something else begins. */
function follows(above: Line, below: Line): boolean {
  const drop = above.y - below.y;
  const height = Math.max(above.height, below.height);
  return drop > 0 && drop < height * 4 && below.cells.length > 0;
}

/** The columns with the cells of one more row: cells that reach into a column make it wider. */
function joinColumns(columns: readonly Column[], cells: readonly Cell[]): Column[] | undefined {
  const spans = [...columns, ...cells].map(({ start, end }) => ({ start, end })).sort((a, b) => a.start - b.start);
  const joined: Column[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined.length >= 2 && joined.length <= MOST_COLUMNS ? joined : undefined;
}

/** Whether each of these spans, the cells of a row or the columns before, has a column to itself. */
function fits(columns: readonly Column[], spans: readonly Column[]): boolean {
  return columns.every((column) => spans.filter((span) => touches(column, span)).length <= 1);
}

function touches(column: Column, cell: Column): boolean {
  return cell.start < column.end && cell.end > column.start;
}

/** Whether a cell lies in one column that is not the first. */
function isWithin(columns: readonly Column[], cell: Cell): boolean {
  const touched = columns.filter((column) => touches(column, cell));
  return touched.length === 1 && touched[0] !== columns[0];
}

function textIn(row: readonly Cell[], column: Column): string {
  return row.find((cell) => touches(column, cell))?.text.trim() ?? '';
}

function isTable(rows: readonly Cell[][], columns: readonly Column[]): boolean {
  if (rows.length < (columns.length === 2 ? LEAST_ROWS_OF_TWO : LEAST_ROWS)) return false;
  const filled = rows.reduce((sum, row) => sum + row.length, 0);
  if (filled < rows.length * columns.length * 0.7) return false;
  const texts = columns.map((column) => rows.map((row) => textIn(row, column)).filter((text) => text !== ''));
  const means = texts.map((cells) => cells.join('').length / Math.max(1, cells.length));
  const prose = means.filter((mean) => mean >= PROSE_CELL).length;
  if (prose > (columns.length === 2 ? 0 : 1)) return false;
  // Marks of a list: `1.`, `(a)`, `•`, `[12]`.
  const isMarks = texts[0]?.every((text) => /^(?:[([]?\w{1,3}[.)\]]|[^\p{L}\p{N}]{1,2})$/u.test(text)) ?? true;
  return !(isMarks && columns.length === 2);
}
