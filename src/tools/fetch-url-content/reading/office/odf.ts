import { collapseSpaces, toSingleLine } from '../../../../base/text.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { type CellRow, MAX_CELL_LENGTH, MAX_SHEET_LENGTH, rowLength } from '../cell-tables.ts';
import { readWhole } from '../html/html.ts';
import { closeLink, DocumentWriter, type OpenLink } from './document-writer.ts';
import { OdfLists } from './odf-lists.ts';
import { officeMetadata } from './office-metadata.ts';
import { type XmlEvent, xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** Cells and rows that are repeated more often say nothing. */
const MAX_COLUMNS = 1000;
const MAX_REPEATED_ROWS = 1000;

/** An OpenDocument text, spreadsheet or presentation. */
export async function readOdf(zip: ZipFile): Promise<ParsedDocument> {
  if ((await zip.text('META-INF/manifest.xml')).includes('encryption-data')) {
    throw new Error('the document is encrypted with a password');
  }
  const content = await zip.text('content.xml');
  const styles = await zip.text('styles.xml');
  const { formulas, charts } = await readObjects(zip, content);
  const reader = new OdfReader(formulas, new OdfLists(styles, content));
  reader.read(content);
  for (const chart of charts) reader.read(chart);
  readMargins(styles, reader.writer);
  return { ...officeMetadata(await zip.text('meta.xml')), content: reader.writer.toString() };
}

/**
 * Reads embedded objects, each once even if the document shows it several times: formulas as MathML, and charts with the
 * table of their values. Charts of a spreadsheet are left out, because they repeat its cells.
 */
async function readObjects(zip: ZipFile, content: string) {
  const formulas = new Map<string, string>();
  const charts: string[] = [];
  const isSheet = content.includes('<office:spreadsheet');
  let length = 0;
  const paths = new Set<string>();
  if (content.includes('draw:object')) {
    for (const event of xmlEvents(content)) {
      if (event.kind === 'open' && event.name === 'draw:object') paths.add(event.attribute('xlink:href'));
    }
  }
  for (const path of paths) {
    if (length > MAX_CONTENT) break;
    const xml = await zip.text(`${path.replace(/^\.\//, '').replace(/\/$/, '')}/content.xml`);
    const formula = /<(?:\w+:)?math\b/.test(xml) ? readWhole(xml, '') : undefined;
    if (formula !== undefined) formulas.set(path, formula);
    else if (!isSheet) charts.push(xml);
    length += (formula ?? xml).length;
  }
  return { formulas, charts };
}

/** Adds the headers and footers. */
function readMargins(styles: string, writer: DocumentWriter): void {
  let depth = 0;
  let text = '';
  for (const event of xmlEvents(styles)) {
    if (event.kind === 'text') text += depth > 0 ? event.text : '';
    else if (/^style:(header|footer)(-left|-first)?$/.test(event.name)) {
      depth += event.kind === 'open' ? 1 : -1;
      if (event.kind === 'open') text = '';
      else writer.margin(text);
    } else if (event.name === 'text:p') text += ' ';
  }
}

/**
 * Elements whose text is not part of the document: deletions, former values, help for cells, marks of notes, when and by whom
 * a comment was written, ruby annotations, descriptions of pictures and pictures themselves.
 */
const EXCLUDED = new Set([
  'text:tracked-changes',
  'table:tracked-changes',
  'table:content-validations',
  'text:note-citation',
  'text:ruby-text',
  'text:script',
  'dc:date',
  'meta:creator-initials',
  'loext:sender-initials',
  'svg:title',
  'svg:desc',
  'office:binary-data',
]);

const CAN_BE_HIDDEN = /^text:(?:p|h|span|section)$/;
/** The attributes with the value of a cell, by its type. */
const VALUES = [
  'office:string-value',
  'office:date-value',
  'office:time-value',
  'office:boolean-value',
  'office:value',
];

/** A paragraph that is being read. */
interface OpenParagraph {
  text: string;
  heading: number | undefined;
}

/** A note or a comment that is being read. */
interface OpenNote {
  id: string;
  text: string;
}

class OdfReader {
  readonly writer = new DocumentWriter();
  readonly #formulas: ReadonlyMap<string, string>;
  /** The open paragraphs: the last one is being read, the others contain text boxes and notes. */
  readonly #paragraphs: OpenParagraph[] = [];
  readonly #notes: OpenNote[] = [];
  #noteCount = 0;
  #link: OpenLink | undefined;
  readonly #lists: OdfLists;
  /** Whether the next paragraph begins an item. */
  #isItem = false;
  /** How many excluded elements are open: deletions, marks of notes, ruby annotations. */
  #excluded = 0;
  #slides = 0;
  #hasNotes = false;
  #isSheet = false;
  #sheet: { rows: CellRow[]; row: string[]; cell: string[]; number: number; length: number } | undefined;
  #repeat = 1;
  /** The value of the open cell, which some programs write without its text. */
  #value = '';
  /** The style that is being read, and those whose text is hidden. */
  #style = '';
  readonly #hiddenStyles = new Set<string>();
  /** For each open paragraph, span and section, whether it is hidden. */
  readonly #hidden: boolean[] = [];
  #repeatedRows = 1;

  constructor(formulas: ReadonlyMap<string, string>, lists: OdfLists) {
    this.#formulas = formulas;
    this.#lists = lists;
  }

  read(xml: string): void {
    for (const event of xmlEvents(xml)) {
      if (this.writer.isFull) return;
      if (event.kind === 'text') {
        if (this.#paragraphs.length > 0) this.#add(collapseSpaces(event.text));
      } else if (EXCLUDED.has(event.name)) this.#excluded += event.kind === 'open' ? 1 : -1;
      else if (event.name.startsWith('table:')) this.#tablePart(event);
      else this.#element(event);
    }
  }

  #add(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph && this.#excluded === 0) paragraph.text += text;
  }

  #element(event: XmlEvent): void {
    if (event.kind === 'text') return;
    if (CAN_BE_HIDDEN.test(event.name)) this.#hide(event);
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'style:style':
        if (event.kind === 'open') this.#style = event.attribute('style:name');
        break;
      case 'style:text-properties':
        if (event.kind === 'open' && event.attribute('text:display') === 'none') this.#hiddenStyles.add(this.#style);
        break;
      case 'office:spreadsheet':
        this.#isSheet = isOpen;
        break;
      case 'text:h':
      case 'text:p':
        if (event.kind === 'open') {
          const heading = event.name === 'text:h' ? Number(event.attribute('text:outline-level')) || 1 : undefined;
          this.#paragraphs.push({ text: '', heading });
        } else this.#endParagraph();
        break;
      case 'text:list':
        if (event.kind === 'close') this.#lists.end();
        else {
          const continues =
            event.attribute('text:continue-numbering') === 'true' || event.attribute('text:continue-list') !== '';
          this.#lists.begin(event.attribute('text:style-name'), continues);
        }
        break;
      case 'text:list-item':
        this.#isItem = isOpen;
        break;
      case 'text:note':
      case 'office:annotation':
        if (event.kind === 'open') this.#beginNote(event.name, event.attribute('text:note-class'));
        else this.#endNote();
        break;
      case 'dc:creator':
        // The author of a comment comes before its text.
        if (isOpen) this.#paragraphs.push({ text: '', heading: undefined });
        else {
          const { text = '' } = this.#paragraphs.pop() ?? {};
          const note = this.#notes.at(-1);
          if (note && text.trim() !== '') note.text = `${text.trim()}:`;
        }
        break;
      case 'text:s':
      case 'text:tab':
        if (isOpen) this.#add(' ');
        break;
      case 'text:line-break':
        if (isOpen) this.#add('\n');
        break;
      case 'text:a':
        this.#anchor(event);
        break;
      case 'draw:object':
        if (event.kind === 'open') this.#refer(this.#formulas.get(event.attribute('xlink:href')) ?? '');
        break;
      case 'draw:page':
        if (event.kind === 'open') this.#beginSlide(event.attribute('draw:name'));
        break;
      case 'presentation:notes':
        this.#hasNotes = isOpen;
        break;
    }
  }

  /** Leaves out the text of a hidden element. */
  #hide(event: XmlEvent): void {
    if (event.kind === 'open') {
      const isHidden =
        event.attribute('text:display') === 'none' || this.#hiddenStyles.has(event.attribute('text:style-name'));
      this.#hidden.push(isHidden);
      if (isHidden) this.#excluded += 1;
    } else if (this.#hidden.pop()) this.#excluded -= 1;
  }

  #anchor(event: XmlEvent): void {
    const paragraph = this.#paragraphs.at(-1);
    if (!paragraph || event.kind === 'text') return;
    if (event.kind === 'open') this.#link = { target: event.attribute('xlink:href'), start: paragraph.text.length };
    else if (this.#link) {
      paragraph.text = closeLink(paragraph.text, this.#link);
      this.#link = undefined;
    }
  }

  #beginSlide(name: string): void {
    this.#slides += 1;
    this.writer.paragraph(`[Slide ${this.#slides}]`);
    this.writer.paragraph(name || 'Slide', { heading: 2 });
  }

  #beginNote(element: string, kind: string): void {
    const mark = element === 'office:annotation' ? 'c' : kind === 'endnote' ? 'e' : '';
    const note = { id: `${mark}${++this.#noteCount}`, text: '' };
    if (this.#excluded === 0) this.#refer(`[^${note.id}]`);
    this.#notes.push(note);
  }

  /** Adds a reference to the open paragraph, else to the open cell, else as a paragraph. */
  #refer(mark: string): void {
    if (this.#paragraphs.length > 0) this.#add(mark);
    else if (this.#sheet) this.#sheet.cell.push(mark);
    else this.writer.paragraph(mark);
  }

  #endNote(): void {
    const note = this.#notes.pop();
    if (note && this.#excluded === 0) this.writer.note(note.id, note.text);
  }

  #endParagraph(): void {
    const { text, heading } = this.#paragraphs.pop() ?? { text: '', heading: undefined };
    const note = this.#notes.at(-1);
    if (note) note.text += ` ${text}`;
    else if (this.#sheet) this.#sheet.cell.push(toSingleLine(text));
    else if (this.#hasNotes && text.trim() !== '') this.writer.paragraph(`Notes: ${text}`);
    else if (heading !== undefined) {
      const label = text.trim() === '' ? undefined : this.#lists.heading(heading)?.label;
      this.writer.paragraph(text, { heading, label });
    } else this.#endItem(text);
  }

  #endItem(text: string): void {
    const item = this.#lists.depth > 0 ? this.#lists.depth - 1 : undefined;
    const { number, label } = (item !== undefined && this.#isItem && this.#lists.item()) || {};
    this.#isItem = false;
    this.writer.paragraph(text, number === undefined ? { item, label } : { item, number });
  }

  #tablePart(event: XmlEvent): void {
    if (event.kind === 'text') return;
    const isOpen = event.kind === 'open';
    const name = event.name.slice('table:'.length);
    const repeats = (unit: string) =>
      (event.kind === 'open' && Number(event.attribute(`table:number-${unit}-repeated`))) || 1;
    if (name === 'table') {
      if (this.#isSheet) this.#sheetPart(event.kind === 'open' ? event.attribute('table:name') : undefined);
      else if (isOpen) this.writer.openTable();
      else this.writer.closeTable();
    } else if (name === 'table-row') {
      if (isOpen) this.#repeatedRows = repeats('rows');
      if (this.#sheet && !isOpen) this.#endRow();
      else if (isOpen) this.writer.openRow();
    } else if (name === 'table-cell' || name === 'covered-table-cell') {
      if (event.kind === 'open') {
        this.#repeat = repeats('columns');
        this.#value = VALUES.map((value) => event.attribute(value)).find((value) => value !== '') ?? '';
        return;
      }
      if (this.#sheet) this.#endCell();
      else this.writer.closeCell(this.#repeat);
      // A cell around a table is not repeated as often as the last cell in it.
      this.#repeat = 1;
    }
  }

  /** Begins a sheet of this name; without a name, ends the open one. */
  #sheetPart(name: string | undefined): void {
    const sheet = this.#sheet;
    this.#sheet = name === undefined ? undefined : { rows: [], row: [], cell: [], number: 0, length: 0 };
    if (name) this.writer.paragraph(name, { heading: 2 });
    if (name === undefined && sheet) this.writer.sheet(sheet.rows);
  }

  #endCell(): void {
    if (!this.#sheet) return;
    const { row, cell } = this.#sheet;
    const text = (cell.join(' ').trim() || this.#value).slice(0, MAX_CELL_LENGTH);
    cell.length = 0;
    for (let count = 0; count < this.#repeat && row.length < MAX_COLUMNS; count++) row.push(text);
  }

  #endRow(): void {
    if (!this.#sheet) return;
    const { rows, row } = this.#sheet;
    this.#sheet.row = [];
    while (row.at(-1) === '') row.pop();
    const times = row.length === 0 ? 0 : Math.min(this.#repeatedRows, MAX_REPEATED_ROWS);
    for (let at = 1; at <= times && this.#sheet.length < MAX_SHEET_LENGTH; at++) {
      const numbered = { number: this.#sheet.number + at, cells: row };
      rows.push(numbered);
      this.#sheet.length += rowLength(numbered);
    }
    this.#sheet.number += this.#repeatedRows;
  }
}
