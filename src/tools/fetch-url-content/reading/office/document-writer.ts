import { toSingleLine } from '../../../../base/text.ts';
import { MAX_CONTENT } from '../../parsing/parse-job.ts';
import { type CellRow, cellTables } from '../cell-tables.ts';
import { escapeLinks, linkTo } from '../markdown/inline.ts';
import { markdownTable } from '../markdown-table.ts';

/** How many rows and columns of a table are written. */
const MAX_ROWS = 20_000;
const MAX_COLUMNS = 200;
/** How many different headers and footers are written: more come from a generated document. */
const MAX_MARGINS = 60;
/** The longest header or footer, in UTF-16 code units. */
const MAX_MARGIN_LENGTH = 2000;

/** The role of a paragraph. */
export interface ParagraphKind {
  /** 1 to 6 for headings. */
  heading?: number | undefined;
  /** The depth of a list item, from 0. */
  item?: number | undefined;
  /** The number of an item in a numbered list. */
  number?: number | undefined;
  /** The label before an item or a heading that is no plain number: `7.3`, `(a)`. */
  label?: string | undefined;
}

/** A paragraph or a table in a cell; `text` is what it is in the line of the cell. */
type CellPart = { text: string } & ({ line: string; kind: ParagraphKind } | { rows: Cell[][] });

interface Cell {
  text: string;
  parts: CellPart[];
}

/** How many frames around a table keep its form. */
const MAX_FRAMES = 20;

/** A link whose label is being read. */
export interface OpenLink {
  target: string;
  /** The start of its label in the text. */
  start: number;
}

/** Where in a paragraph the last link may begin, in UTF-16 code units: each one copies the text before it. */
export const MAX_LINKED_LENGTH = 20_000;

/** Turns the end of `text`, from the start of the link, into a Markdown link; only http(s) addresses are written. */
export function closeLink(text: string, { target, start }: OpenLink): string {
  if (start > MAX_LINKED_LENGTH) return text;
  const label = escapeLinks(text.slice(start));
  return /^https?:/.test(target) && label.trim() !== '' ? text.slice(0, start) + linkTo(label, target) : text;
}

/** The address in the code of a field, `HYPERLINK "https://..."`; empty for any other field. */
export function addressInField(code: string): string {
  return /^\s*HYPERLINK\s+"([^"]+)"/i.exec(code)?.[1] ?? '';
}

/** Whether a header or footer has more than 8 letters and digits of long numbers, so is more than a page number. */
function isMoreThanPageNumber(text: string): boolean {
  return (text.match(/\p{L}|\d{4,}/gu) ?? []).join('').length > 8;
}

/** Writes a document as Markdown, paragraph by paragraph and table by table. */
export class DocumentWriter {
  readonly #blocks: string[] = [];
  readonly #tables: { rows: Cell[][]; parts: CellPart[] }[] = [];
  readonly #notes: string[] = [];
  readonly #margins = new Set<string>();
  #length = 0;
  /** The length of the cells of open tables. */
  #inTables = 0;
  #lastIsItem = false;

  /** Whether the document exceeds `MAX_CONTENT`. */
  get isFull(): boolean {
    return this.#length + this.#inTables > MAX_CONTENT;
  }

  /** Adds a paragraph, or a line to the open cell. */
  paragraph(text: string, kind: ParagraphKind = {}): void {
    const trimmed = text.replace(/[ \t\u00a0]+/g, ' ').trim();
    const line = kind.label && trimmed !== '' ? `${kind.label} ${trimmed}` : trimmed;
    const table = this.#tables.at(-1);
    if (table) {
      if (line !== '')
        table.parts.push({
          text: kind.number === undefined ? line : `${kind.number}. ${line}`,
          line,
          kind: { ...kind, label: undefined },
        });
      return;
    }
    if (line === '') return;
    if (kind.heading) this.#add(`${'#'.repeat(Math.min(Math.max(kind.heading, 1), 6))} ${line.replaceAll('\n', ' ')}`);
    else if (kind.item !== undefined) this.#add(`${itemMarker(kind.item, kind.number)}${line}`, true);
    else this.#add(line);
  }

  /** Adds blocks that are Markdown already, or their text as a line of the open cell. */
  markdown(blocks: string): void {
    if (this.#tables.length > 0) this.paragraph(toSingleLine(blocks));
    else if (blocks.trim() !== '') this.#add(blocks.trim());
  }

  /** Adds a note below the document; the text refers to it as `[^id]`. */
  note(id: string, text: string): void {
    const line = toSingleLine(text);
    if (line === '' || this.isFull) return;
    this.#notes.push(`[^${id}]: ${line}`);
    this.#length += id.length + line.length;
  }

  /** Adds a header or footer below the document and its notes, once, unless it is a page number. */
  margin(text: string): void {
    const line = toSingleLine(text.slice(0, MAX_MARGIN_LENGTH));
    if (isMoreThanPageNumber(line) && this.#margins.size < MAX_MARGINS) this.#margins.add(line);
  }

  /** Opens a table. A table within a cell becomes lines of that cell, unless the outer table is only a frame. */
  openTable(): void {
    this.#tables.push({ rows: [], parts: [] });
  }

  openRow(): void {
    const table = this.#tables.at(-1);
    if (table && table.rows.length < MAX_ROWS) table.rows.push([]);
  }

  /** Ends a cell, which is written `repeat` times. */
  closeCell(repeat = 1): void {
    const table = this.#tables.at(-1);
    const row = table?.rows.at(-1);
    if (!table) return;
    const cell = { text: table.parts.map(({ text }) => text).join(' '), parts: table.parts };
    table.parts = [];
    for (let count = 0; row && count < repeat && row.length < MAX_COLUMNS && !this.isFull; count++) {
      row.push(cell);
      this.#inTables += cell.text.length;
    }
  }

  closeTable(): void {
    const table = this.#tables.pop();
    if (!table) return;
    const rows = table.rows.map(withoutEmptyEnd).filter((row) => row.length > 0);
    const outer = this.#tables.at(-1);
    if (outer) outer.parts.push({ text: rows.map((row) => row.map(({ text }) => text).join(' ')).join(' '), rows });
    else {
      this.#inTables = 0;
      this.#writeTable(rows, 0);
    }
  }

  /** Writes what is within a table of one column: it is a frame. `depth`: how many frames are around the table. */
  #writeTable(rows: readonly (readonly Cell[])[], depth: number): void {
    if (rows.some((row) => row.length > 1)) {
      this.table(rows.map((row) => row.map(({ text }) => text)));
      return;
    }
    for (const part of rows.flat().flatMap(({ parts }) => parts)) {
      if ('rows' in part && depth < MAX_FRAMES) this.#writeTable(part.rows, depth + 1);
      else if ('rows' in part) this.paragraph(part.text);
      else this.paragraph(part.line, part.kind);
    }
  }

  table(rows: readonly (readonly string[])[]): void {
    const [head, ...body] = rows;
    if (!head) return;
    if (rows.every((row) => row.length < 2)) for (const [text = ''] of rows) this.paragraph(text);
    else this.#add(markdownTable(head, body));
  }

  /** Adds the rows of a sheet as tables, each after the range of its cells. */
  sheet(rows: readonly CellRow[]): void {
    for (const part of cellTables(rows)) {
      if (this.isFull) return;
      this.paragraph(part.mark);
      this.table(part.rows);
    }
  }

  /** The document so far; closes open tables. */
  toString(): string {
    while (this.#tables.length > 0) this.closeTable();
    return [this.#blocks.join('').trim(), ...this.#notes, ...this.#margins].join('\n\n').trim();
  }

  #add(block: string, isItem = false): void {
    if (this.isFull) return;
    this.#blocks.push(isItem && this.#lastIsItem ? `\n${block}` : `\n\n${block}`);
    this.#lastIsItem = isItem;
    this.#length += block.length + 2;
  }
}

function itemMarker(depth: number, number: number | undefined): string {
  return `${' '.repeat(Math.min(Math.max(depth, 0), 8) * (number === undefined ? 2 : 3))}${number === undefined ? '-' : `${number}.`} `;
}

function withoutEmptyEnd(row: Cell[]): Cell[] {
  let end = row.length;
  while (end > 0 && row[end - 1]?.text === '') end -= 1;
  return row.slice(0, end);
}
