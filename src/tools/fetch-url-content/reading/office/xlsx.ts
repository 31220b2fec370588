import { joinSpaces } from '../../../../base/text.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { type CellRow, cellTables, lengthOf } from '../cell-tables.ts';
import { DocumentWriter } from './document-writer.ts';
import { linkTargets } from './docx.ts';
import { officeMetadata } from './office-metadata.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

const MAX_COLUMNS = 200;
const DAY_MS = 86_400_000;

/** A workbook: each sheet as a heading and tables of the values that its cells show, with `[Cells A1:D20]` before each. */
export async function readXlsx(zip: ZipFile): Promise<ParsedDocument> {
  const strings = sharedStrings(await zip.text('xl/sharedStrings.xml'));
  const dates = dateStyles(await zip.text('xl/styles.xml'));
  const targets = linkTargets(await zip.text('xl/_rels/workbook.xml.rels'));
  const writer = new DocumentWriter();
  for (const event of xmlEvents(await zip.text('xl/workbook.xml'))) {
    if (event.kind !== 'open' || event.name !== 'sheet' || writer.isFull) continue;
    const target = targets.get(event.attribute('r:id')) ?? '';
    const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`;
    const rows = sheetRows(await zip.text(path), { strings, dates });
    if (rows.length === 0) continue;
    writer.paragraph(event.attribute('name'), { heading: 2 });
    for (const table of cellTables(rows)) {
      if (writer.isFull) break;
      writer.paragraph(table.mark);
      writer.table(table.rows);
    }
  }
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: writer.toString() };
}

function sheetRows(xml: string, book: { strings: readonly string[]; dates: readonly boolean[] }): CellRow[] {
  const rows: CellRow[] = [];
  let length = 0;
  let row: string[] = [];
  let number = 0;
  let cell = { column: 0, type: '', isDate: false, value: '' };
  let inValue = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') {
      if (inValue) cell.value += event.text;
    } else if (event.kind === 'open') {
      if (event.name === 'row') {
        row = [];
        number = Number(event.attribute('r')) || number + 1;
      } else if (event.name === 'c') {
        const column = columnOf(event.attribute('r')) ?? row.length;
        const isDate = book.dates[Number(event.attribute('s') || 0)] ?? false;
        cell = { column, type: event.attribute('t'), isDate, value: '' };
      } else if (event.name === 'v' || event.name === 't') inValue = true;
    } else if (event.name === 'v' || event.name === 't') inValue = false;
    else if (event.name === 'c' && cell.column < MAX_COLUMNS) {
      while (row.length < cell.column) row.push('');
      row[cell.column] = shownValue(cell, book.strings);
    } else if (event.name === 'row' && row.some((value) => value !== '')) {
      const shown = { number, cells: row };
      rows.push(shown);
      length += lengthOf(shown);
      if (length > MAX_CONTENT) break;
    }
  }
  return rows;
}

function shownValue(
  { type, isDate, value }: { type: string; isDate: boolean; value: string },
  strings: readonly string[],
): string {
  if (type === 's') return strings[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  const days = isDate && (type === '' || type === 'n') ? Number(value) : Number.NaN;
  if (!(days > 0 && days < 3_000_000)) return value.trim();
  // Day 25 569 is 1970-01-01: the calendar of Excel begins in 1900 and has a 29 February of that year.
  const iso = new Date(Math.round((days - 25_569) * DAY_MS)).toISOString();
  return Number.isInteger(days) ? iso.slice(0, 10) : iso.slice(0, 16).replace('T', ' ');
}

/** `AB12` is column 27, counted from 0. */
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
    // How a word is pronounced, in Japanese workbooks.
    else if (event.name === 'rph') inReading = event.kind === 'open';
    else if (event.name === 'si') {
      if (event.kind === 'close') strings.push(joinSpaces(text).trim());
      text = '';
    }
  }
  return strings;
}

/** For each style of cells, whether it shows a date. */
function dateStyles(xml: string): boolean[] {
  const custom = new Map<string, string>();
  const styles: boolean[] = [];
  let inCells = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'text' && event.name === 'cellxfs') inCells = event.kind === 'open';
    if (event.kind !== 'open') continue;
    if (event.name === 'numfmt') custom.set(event.attribute('numFmtId'), event.attribute('formatCode'));
    if (event.name !== 'xf' || !inCells) continue;
    const id = event.attribute('numFmtId');
    const code = (custom.get(id) ?? '').slice(0, 200).replace(/"[^"]{0,100}"|\[[^\][]{0,100}\]/g, '');
    styles.push((Number(id) >= 14 && Number(id) <= 22) || /[ymd]/i.test(code));
  }
  return styles;
}
