import type { PlacedText } from './pdf-layout.ts';

/** A section of a page: pieces of running text, or a table. */
export type PageSection = { kind: 'text'; pieces: PlacedText[] } | { kind: 'table'; rows: string[][] };

/** The fewest rows of a table; with two columns it needs more, because lists and forms look like one. */
const MIN_ROWS = 3;
const MIN_ROWS_OF_TWO = 4;
/** Cells of this average length are prose, which only one column of a table may be. */
const PROSE_CELL = 22;
/** The gap that separates two cells, in letter heights; between words it is a third of one. */
const CELL_GAP = 1;
const MAX_PIECES = 20_000;
const MAX_COLUMNS = 40;
/** After a longer run of rows that is no table, half of it is skipped, so that a page is scanned only a few times. */
const MAX_RESCANNED = 8;

/** A cell, or a part of one, with its extent on the page. */
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
 * Splits a page into sections, in the order of its pieces. Lines are a table if their cells are short and keep to the
 * same columns over several lines; columns of prose, lists and single lines with gaps stay text.
 */
export function sectionsOf(pieces: readonly PlacedText[]): PageSection[] {
  if (pieces.length > MAX_PIECES) return [{ kind: 'text', pieces: [...pieces] }];
  const lines = linesInOrder(pieces);
  const sections: PageSection[] = [];
  for (let at = 0; at < lines.length; ) {
    const { rows, end } = tableAt(lines, at);
    if (rows) sections.push({ kind: 'table', rows });
    else {
      const textPieces = lines.slice(at, end).flatMap((line) => line.pieces);
      const last = sections.at(-1);
      if (last?.kind === 'text') last.pieces.push(...textPieces);
      else sections.push({ kind: 'text', pieces: textPieces });
    }
    at = end;
  }
  return sections;
}

/** Groups pieces of the same height that follow each other in the file into lines. */
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
  const printed = pieces.filter(({ text }) => text.trim() !== '').sort((a, b) => a.x - b.x);
  for (const { text, x, width } of printed) {
    const last = cells.at(-1);
    if (last && x - last.end < height * CELL_GAP) {
      last.text += `${x - last.end > height * 0.15 ? ' ' : ''}${text}`;
      last.end = Math.max(last.end, x + width);
    } else cells.push({ text, start: x, end: x + width });
  }
  return cells;
}

/** The table that begins at a line, if there is one, and the line to continue with. */
function tableAt(lines: readonly Line[], from: number): { rows?: string[][]; end: number } {
  const first = lines[from];
  if (!first || first.cells.length < 2 || first.cells.length > MAX_COLUMNS) return { end: from + 1 };
  let columns: Column[] = first.cells.map(({ start, end }) => ({ start, end }));
  const rows: Cell[][] = [first.cells];
  const continued: { row: number; cell: Cell }[] = [];
  let end = from + 1;
  for (let last = first; end < lines.length; end++) {
    const line = lines[end];
    if (!line || !isNextRow(last, line)) break;
    if (line.cells.length === 1) {
      const [cell] = line.cells;
      // A lone cell continues a cell above it, except in the first column, where it may be the text below the table.
      if (!cell || last.y - line.y > line.height * 1.8 || !isWithin(columns, cell)) break;
      continued.push({ row: rows.length - 1, cell });
    } else {
      const joined = joinColumns(columns, line.cells);
      if (!joined || !isOneToOne(joined, columns) || !isOneToOne(joined, line.cells)) break;
      columns = joined;
      rows.push(line.cells);
    }
    last = line;
  }
  if (!isTable(rows, columns)) return { end: from + (rows.length > MAX_RESCANNED ? Math.floor(rows.length / 2) : 1) };
  const texts = rows.map((row) => columns.map((column) => textIn(row, column)));
  for (const { row, cell } of continued) {
    const at = columns.findIndex((column) => overlaps(column, cell));
    const cells = texts[row];
    if (cells) cells[at] = `${cells[at] ?? ''} ${cell.text.trim()}`.trim();
  }
  return { rows: texts, end };
}

/** Whether a line is below another one and close enough to be in the same table. */
function isNextRow(above: Line, below: Line): boolean {
  const drop = above.y - below.y;
  const height = Math.max(above.height, below.height);
  return drop > 0 && drop < height * 4 && below.cells.length > 0;
}

/** Merges the cells of another row into the columns: a cell that overlaps a column widens it. */
function joinColumns(columns: readonly Column[], cells: readonly Cell[]): Column[] | undefined {
  const spans = [...columns, ...cells].map(({ start, end }) => ({ start, end })).sort((a, b) => a.start - b.start);
  const joined: Column[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined.length >= 2 && joined.length <= MAX_COLUMNS ? joined : undefined;
}

/** Whether no column overlaps more than one of the spans, which are a row's cells or the columns before. */
function isOneToOne(columns: readonly Column[], spans: readonly Column[]): boolean {
  return columns.every((column) => spans.filter((span) => overlaps(column, span)).length <= 1);
}

function overlaps(column: Column, cell: Column): boolean {
  return cell.start < column.end && cell.end > column.start;
}

/** Whether a cell lies in one column that is not the first. */
function isWithin(columns: readonly Column[], cell: Cell): boolean {
  const touched = columns.filter((column) => overlaps(column, cell));
  return touched.length === 1 && touched[0] !== columns[0];
}

function textIn(row: readonly Cell[], column: Column): string {
  return row.find((cell) => overlaps(column, cell))?.text.trim() ?? '';
}

function isTable(rows: readonly Cell[][], columns: readonly Column[]): boolean {
  if (rows.length < (columns.length === 2 ? MIN_ROWS_OF_TWO : MIN_ROWS)) return false;
  const filled = rows.reduce((sum, row) => sum + row.length, 0);
  if (filled < rows.length * columns.length * 0.7) return false;
  const texts = columns.map((column) => rows.map((row) => textIn(row, column)).filter((text) => text !== ''));
  const means = texts.map((cells) => cells.join('').length / Math.max(1, cells.length));
  const prose = means.filter((mean) => mean >= PROSE_CELL).length;
  if (prose > (columns.length === 2 ? 0 : 1)) return false;
  // Markers of a list: `1.`, `(a)`, `•`, `[12]`.
  const isMarkers = texts[0]?.every((text) => /^(?:[([]?\w{1,3}[.)\]]|[^\p{L}\p{N}]{1,2})$/u.test(text)) ?? true;
  return !(isMarkers && columns.length === 2);
}
