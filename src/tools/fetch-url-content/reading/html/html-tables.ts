import { markdownTable } from '../markdown-table.ts';
import { FORMULA } from '../math/math.ts';
import { type DomDocument, type DomElement, type DomNode, isElement, TEXT } from './dom.ts';

const MAX_CELLS = 50_000;
const MAX_SPAN = 60;

/** Marks a `<pre>` whose text is finished Markdown. */
export const FINISHED = 'data-finished-markdown';

/**
 * Replaces each table of data by its Markdown; cells that span are repeated, so that every row can be read alone.
 * Tables that only lay out the page are dissolved into their cells.
 */
export function convertTables(root: DomElement, document: DomDocument): void {
  // Innermost first: an outer table with tables inside is layout.
  for (const table of [...root.querySelectorAll('table')].reverse()) {
    if (isLayout(table)) dissolve(table, document);
    else {
      const finished = document.createElement('pre');
      finished.setAttribute(FINISHED, '');
      finished.textContent = toMarkdown(table);
      table.replaceWith(finished);
    }
  }
}

function isLayout(table: DomElement): boolean {
  const role = table.getAttribute('role');
  if (role === 'presentation' || role === 'none') return true;
  if (table.querySelector(`table, [${FINISHED}], h1, h2, h3, pre, blockquote`)) return true;
  const rows = rowsOf(table);
  return rows.length === 0 || rows.every((row) => cellsOf(row).length < 2);
}

/** Every cell becomes a block of its own; cells of one row that hold little text stay on one line. */
function dissolve(table: DomElement, document: DomDocument): void {
  const block = document.createElement('div');
  const parts = rowsOf(table).map((row) => {
    const cells = cellsOf(row).map((cell) => cell.innerHTML);
    const isShort = cells.join('').length < 200 && !/<(p|div|ul|ol|pre|h\d)\b/i.test(cells.join(''));
    return isShort ? `<div>${cells.join(' ')}</div>` : cells.map((cell) => `<div>${cell}</div>`).join('');
  });
  block.innerHTML = parts.join('');
  table.replaceWith(block);
}

function toMarkdown(table: DomElement): string {
  const rows = rowsOf(table);
  const grid = expand(rows);
  const [first] = rows;
  const hasHead =
    first !== undefined && (first.closest('thead') !== null || cellsOf(first).every((cell) => cell.tagName === 'TH'));
  const caption = table.querySelector('caption')?.textContent.replace(/\s+/g, ' ').trim() ?? '';
  const [head = [], ...body] = hasHead ? grid : [[], ...grid];
  return `${caption === '' ? '' : `${caption}\n\n`}${markdownTable(head, body)}`;
}

function rowsOf(table: DomElement): DomElement[] {
  return [...table.querySelectorAll('tr')].filter((row) => row.closest('table') === table);
}

function cellsOf(row: DomElement): DomElement[] {
  return [...row.children].filter(({ tagName }) => tagName === 'TD' || tagName === 'TH');
}

/** The cells as a grid, spans filled in. */
function expand(rows: readonly DomElement[]): string[][] {
  const grid: string[][] = [];
  let count = 0;
  for (const [at, row] of rows.entries()) {
    const line = lineAt(grid, at);
    let column = 0;
    for (const cell of cellsOf(row)) {
      while (line[column] !== undefined) column += 1;
      const text = inlineMarkdown(cell);
      const width = span(cell, 'colspan');
      const height = Math.min(span(cell, 'rowspan'), rows.length - at);
      for (let down = 0; down < height; down++) {
        const target = lineAt(grid, at + down);
        for (let across = 0; across < width; across++)
          target[column + across] = down + across === 0 || height > 1 ? text : '';
      }
      column += width;
      count += width * height;
      if (count > MAX_CELLS) return grid;
    }
  }
  return grid;
}

function lineAt(grid: string[][], at: number): string[] {
  const line = grid[at] ?? [];
  grid[at] = line;
  return line;
}

function span(cell: DomElement, name: string): number {
  const value = Number.parseInt(cell.getAttribute(name) ?? '1', 10);
  return Number.isFinite(value) ? Math.min(Math.max(value, 1), MAX_SPAN) : 1;
}

const LINE_ENDS = new Set(['BR', 'P', 'DIV', 'LI', 'DD', 'DT']);

/** The text of a cell with its links, code and images, on one line. */
function inlineMarkdown(node: DomNode): string {
  if (node.nodeType === TEXT) return node.textContent;
  if (!isElement(node)) return '';
  const inner = [...node.childNodes].map(inlineMarkdown).join('');
  const plain = inner.replace(/\s+/g, ' ').trim();
  switch (node.tagName) {
    case 'A': {
      const href = node.getAttribute('href');
      return href && plain !== '' ? `[${plain}](${href})` : inner;
    }
    case 'CODE':
      if (node.hasAttribute(FORMULA)) return plain;
      return plain === '' ? '' : `\`${plain}\``;
    case 'IMG':
      return node.getAttribute('alt') ?? '';
    case 'SUP':
      return plain === '' ? '' : /^[\d\w]{1,3}$/.test(plain) ? `^${plain}` : inner;
    default:
      return LINE_ENDS.has(node.tagName) ? ` ${inner} ` : inner;
  }
}
