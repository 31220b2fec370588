import { toSingleLine } from '../../../../base/text.ts';
import { closest, findElement, type HtmlElement, lineOf, textOf } from '../html/tree.ts';
import { markdownTable } from '../markdown-table.ts';
import { codeLanguage, codeText, fencedCode, isLineNumber } from './code.ts';
import { type InlineContext, lineMarkdown } from './inline.ts';
import { hasReadableText } from './readable-text.ts';

/** How many cells spans may fill in a table, and how many columns one may span. */
const MAX_SPANNED = 50_000;
const MAX_COLUMNS = 60;

/** Whether an element is a table by its tag or its role. */
export function isTable({ name, attributes }: HtmlElement): boolean {
  return name === 'table' || /^(?:table|grid|treegrid)$/.test(attributes.role ?? '');
}

const CELL = /^t[dh]$/;
const CELL_ROLE = /^(?:cell|gridcell|columnheader|rowheader)$/;

/** The rows of a table, without those of nested tables. */
export function rowsOf(table: HtmlElement, rows: HtmlElement[] = []): HtmlElement[] {
  for (const child of table.elements) {
    if (isRow(child)) rows.push(child);
    else if (!isTable(child)) rowsOf(child, rows);
  }
  return rows;
}

/** Browsers add the row around cells that have none. */
export function isRow({ name, attributes, elements }: HtmlElement): boolean {
  if (name === 'tr' || attributes.role === 'row') return true;
  return /^t(?:head|body|foot)$/.test(name) && elements.some((child) => CELL.test(child.name));
}

/** The cells of a row, which may be nested in other elements. */
export function cellsOf(row: HtmlElement): HtmlElement[] {
  return row.elements.flatMap((child) => {
    const isCell = CELL.test(child.name) || CELL_ROLE.test(child.attributes.role ?? '');
    if (isCell) return hasReadableText(child) ? child : [];
    return isTable(child) ? [] : cellsOf(child);
  });
}

function isHead({ name, attributes }: HtmlElement): boolean {
  return name === 'th' || attributes.role === 'columnheader' || attributes.role === 'rowheader';
}

/** Whether a table is used for layout only. */
export function isLayout(table: HtmlElement): boolean {
  const { role } = table.attributes;
  if (role === 'presentation' || role === 'none') return true;
  const rows = rowsOf(table);
  if (rows.length === 0 || rows.every((row) => cellsOf(row).length < 2)) return true;
  if (rows.length === 1 && !rows.flatMap(cellsOf).some(isHead)) return true;
  if (table.elements.some(({ name }) => name === 'thead' || name === 'caption')) return false;
  const hasHead = rows.some((row) => cellsOf(row).some(isHead));
  return holds(table, hasHead ? INSIDE_LAYOUT : INSIDE_ANY_LAYOUT);
}

const INSIDE_LAYOUT = /^(?:table|h1|h2)$/;
const INSIDE_ANY_LAYOUT = /^(?:table|h1|h2|h3|pre|blockquote)$/;

function holds(element: HtmlElement, names: RegExp): boolean {
  return element.elements.some((child) => names.test(child.name) || holds(child, names));
}

/** Writes a data table. A cell that spans rows is repeated, so that each row can be read alone. */
export function tableMarkdown(table: HtmlElement, context: InlineContext): string {
  const rows = rowsOf(table);
  const [first] = rows;
  const grid = expand(rows, context).filter((row) => row.some((cell) => cell !== ''));
  if (grid.length === 0) return '';
  const firstCells = first ? cellsOf(first) : [];
  const hasHead = [first, first?.parent].some((candidate) => candidate?.name === 'thead') || isHeadRow(firstCells);
  const caption = table.elements.find(({ name }) => name === 'caption');
  const [head = [], ...body] = hasHead ? grid : [[], ...grid];
  const title = caption ? lineMarkdown(caption, context) : '';
  return `${title === '' ? '' : `${title}\n\n`}${markdownTable(head, body)}`;
}

/** Whether all cells of a row are headers; the corner above the row names may be an empty cell. */
function isHeadRow([corner, ...others]: readonly HtmlElement[]): boolean {
  if (corner === undefined || !others.every(isHead)) return false;
  return isHead(corner) || (others.length > 0 && lineOf(corner) === '');
}

/** The code in a table that puts line numbers beside code; undefined for any other table. */
export function codeInTable(table: HtmlElement): string | undefined {
  const rows = rowsOf(table).map(cellsOf);
  const isCode = rows.every((cells) => {
    const [number, ...code] = cells;
    if (number === undefined || code.length !== 1) return false;
    const isNumbered = isLineNumber(number) || number.elements.some(isLineNumber) || /^[\d\s]+$/.test(textOf(number));
    return isNumbered && code.some(isCodeCell);
  });
  if (!isCode || rows.length === 0) return undefined;
  const lines = rows.map(([, code]) => (code ? codeText(code).replace(/\n$/, '') : ''));
  return fencedCode(lines.join('\n'), codeLanguage(rows[0]?.[1] ?? table) || codeLanguage(table));
}

function isCodeCell(cell: HtmlElement): boolean {
  return /(?:^|[\s_-])code(?:$|[\s_-])/i.test(cell.attribute('class')) || holds(cell, /^(?:pre|code)$/);
}

/** The texts of the cells as a grid, with spans filled in. */
function expand(rows: readonly HtmlElement[], context: InlineContext): string[][] {
  const grid: string[][] = [];
  let room = MAX_SPANNED;
  for (const [at, row] of rows.entries()) {
    const line = lineAt(grid, at);
    let column = 0;
    for (const cell of cellsOf(row)) {
      while (line[column] !== undefined) column += 1;
      const text = lineMarkdown(cell, context) || iconLabel(cell);
      const width = Math.min(span(cell, 'colspan', 'aria-colspan'), MAX_COLUMNS, room);
      const height = Math.min(span(cell, 'rowspan', 'aria-rowspan'), rows.length - at, Math.floor(room / width));
      for (let down = 0; down < height; down++) {
        const target = lineAt(grid, at + down);
        for (let across = 0; across < width; across++)
          target[column + across] = down + across === 0 || height > 1 ? text : '';
      }
      column += width;
      room = Math.max(1, room - width * height + 1);
    }
  }
  return grid.map((row) => Array.from(row, (cell) => cell ?? ''));
}

/** The accessible label of an icon in a cell. */
function iconLabel(cell: HtmlElement): string {
  const labelOf = ({ attributes }: HtmlElement) => attributes['aria-label'] ?? attributes.title ?? '';
  // The label of a link or a button names an action, not a value.
  const isInControl = (candidate: HtmlElement) =>
    closest(candidate, ({ name }) => name === 'a' || name === 'button') !== undefined;
  const icon = findElement(cell, (candidate) => labelOf(candidate) !== '' && !isInControl(candidate));
  return icon ? toSingleLine(labelOf(icon)) : '';
}

function lineAt(grid: string[][], at: number): string[] {
  const line = grid[at] ?? [];
  grid[at] = line;
  return line;
}

function span(cell: HtmlElement, name: string, aria: string): number {
  const value = Number.parseInt(cell.attributes[name] ?? cell.attributes[aria] ?? '1', 10);
  // A cell may span all rows that follow.
  if (value === 0 && name === 'rowspan') return Number.POSITIVE_INFINITY;
  return Number.isFinite(value) ? Math.max(value, 1) : 1;
}

/** Whether a row of a layout table has so little text that it fits on one line. */
export function isShortRow(cells: readonly HtmlElement[]): boolean {
  const isPlain = cells.every((cell) => !holds(cell, /^(?:p|div|ul|ol|pre|table|h\d|br)$/));
  return isPlain && cells.reduce((sum, cell) => sum + lineOf(cell).length, 0) < 160;
}
