import { toSingleLine } from '../../../../base/text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { type CellRow, MAX_CELL_LENGTH, MAX_SHEET_LENGTH, rowLength } from '../cell-tables.ts';
import { type CellFormat, cellFormats, formatNumber } from './cell-formats.ts';
import { DocumentWriter } from './document-writer.ts';
import { officeMetadata } from './office-metadata.ts';
import { PackagePart } from './package-parts.ts';
import { writeShapes } from './pptx.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

const MAX_COLUMNS = 1000;

/** What the cells of all sheets share. */
interface Workbook {
  strings: readonly string[];
  formats: readonly CellFormat[];
  /** Whether its dates are counted from 1904. */
  isMac: boolean;
}

/**
 * Reads a workbook: each sheet as a heading and tables of the values that its cells show, with `[Cells A1:D20]` before
 * each, then its text boxes and the comments on its cells.
 */
export async function readXlsx(zip: ZipFile): Promise<ParsedDocument> {
  const main = await PackagePart.main(zip, 'xl/workbook.xml');
  const book: Workbook = {
    strings: sharedStrings(await main.textOf('sharedStrings')),
    formats: cellFormats(await main.textOf('styles')),
    isMac: false,
  };
  const writer = new DocumentWriter();
  for (const event of xmlEvents(await main.text())) {
    if (event.kind !== 'open') continue;
    if (event.name === 'workbookpr') book.isMac = /^(1|true|on)$/.test(event.attribute('date1904'));
    if (event.name !== 'sheet' || writer.isFull) continue;
    const sheet = await PackagePart.at(zip, main.target(event.attribute('r:id')));
    const rows = sheetRows(await sheet.text(), book);
    const boxes = new DocumentWriter();
    for (const path of sheet.related('drawing')) writeShapes(await zip.text(path), boxes);
    const text = boxes.toString();
    if (rows.length === 0 && text === '') continue;
    writer.paragraph(event.attribute('name'), { heading: 2 });
    writer.sheet(rows);
    writer.paragraph(text);
    for (const path of sheet.related('comments')) writeComments(await zip.text(path), writer);
  }
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: writer.toString() };
}

function writeComments(xml: string, writer: DocumentWriter): void {
  let place = '';
  let text = '';
  for (const event of xmlEvents(xml)) {
    if (writer.isFull) return;
    if (event.kind === 'text') text += event.text;
    else if (event.name !== 'comment') continue;
    else if (event.kind === 'open') [place, text] = [event.attribute('ref'), ''];
    else if (text.trim() !== '') writer.paragraph(`Comment on ${place}: ${toSingleLine(text)}`);
  }
}

/** A cell that is being read. */
interface OpenCell {
  column: number;
  type: string;
  format: CellFormat | undefined;
  value: string;
  formula: string;
}

function sheetRows(xml: string, book: Workbook): CellRow[] {
  const rows: CellRow[] = [];
  let length = 0;
  let row: string[] = [];
  let number = 0;
  let cell: OpenCell = { column: 0, type: '', format: undefined, value: '', formula: '' };
  let within = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') {
      if (within === 'f') cell.formula += event.text;
      else if (within !== '') cell.value += event.text;
    } else if (event.kind === 'open') {
      if (event.name === 'row') {
        row = [];
        number = Number(event.attribute('r')) || number + 1;
      } else if (event.name === 'c') {
        const column = columnOf(event.attribute('r')) ?? row.length;
        const format = book.formats[Number(event.attribute('s') || 0)];
        cell = { column, type: event.attribute('t'), format, value: '', formula: '' };
      } else if (event.name === 'v' || event.name === 't' || event.name === 'f') within = event.name;
    } else if (event.name === within) within = '';
    else if (event.name === 'c' && cell.column < MAX_COLUMNS) {
      while (row.length < cell.column) row.push('');
      row[cell.column] = displayedValue(cell, book).slice(0, MAX_CELL_LENGTH);
    } else if (event.name === 'row' && row.some((value) => value !== '')) {
      const numbered = { number, cells: row };
      rows.push(numbered);
      length += rowLength(numbered);
      if (length > MAX_SHEET_LENGTH) break;
    }
  }
  return rows;
}

function displayedValue({ type, format, value, formula }: OpenCell, { strings, isMac }: Workbook): string {
  if (type === 's') return strings[Number(value)] ?? '';
  // Some programs write formulas without their results.
  if (value === '') return formula === '' ? '' : `=${formula}`;
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  return type === '' || type === 'n' ? formatNumber(value.trim(), format, { isMac }) : unescapeText(value);
}

/** Decodes characters that XML cannot hold, which are written as `_x000D_`. */
function unescapeText(text: string): string {
  const plain = text.replace(/_x([\da-f]{4})_/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return toSingleLine(plain);
}

/** The column of a reference, from 0: `AB12` is in column 27. */
function columnOf(reference: string): number | undefined {
  const letters = /^([A-Z]{1,3})\d/.exec(reference)?.[1];
  if (letters === undefined) return undefined;
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function sharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  let inReading = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += inText && !inReading ? event.text : '';
    else if (event.name === 't') inText = event.kind === 'open';
    // Phonetic readings in Japanese workbooks.
    else if (event.name === 'rph') inReading = event.kind === 'open';
    else if (event.name === 'si') {
      if (event.kind === 'close') strings.push(unescapeText(text));
      text = '';
    }
  }
  return strings;
}
