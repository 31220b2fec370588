import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { subscript, superscript } from '../markdown/scripts.ts';
import { writeChartValues } from './chart.ts';
import { DocumentWriter, type OpenLink, withLink } from './document-writer.ts';
import { ListNumbers, readLists } from './docx-lists.ts';
import { type NamedStyle, paragraphStyles } from './docx-styles.ts';
import { officeMetadata } from './office-metadata.ts';
import { type EventOrFormula, withFormulas } from './omml.ts';
import { PackagePart } from './package-parts.ts';
import { type XmlEvent, xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** What the parts of a Word document beside its text say of it. */
interface DocumentParts {
  styles: ReadonlyMap<string, NamedStyle>;
  /** What a relationship of the document leads to. */
  target: (id: string) => string;
  numbers: ListNumbers;
}

/** Notes of each kind: their element, and what stands before their id where the text refers to them. */
const NOTES = [
  { type: 'footnotes', element: 'w:footnote', mark: '' },
  { type: 'endnotes', element: 'w:endnote', mark: 'e' },
  { type: 'comments', element: 'w:comment', mark: 'c' },
] as const;

/**
 * A Word document: headings, paragraphs, lists, links, tables, charts, notes and comments, and once each what its headers
 * and footers say. Deleted text and field codes are left out.
 */
export async function readDocx(zip: ZipFile): Promise<ParsedDocument> {
  const main = await PackagePart.main(zip, 'word/document.xml');
  const reader = new DocumentReader({
    styles: paragraphStyles(await main.textOf('styles')),
    target: (id) => main.target(id),
    numbers: new ListNumbers(readLists(await main.textOf('numbering'))),
  });
  reader.read(await main.text());
  for (const chart of main.related('chart')) writeChartValues(await zip.text(chart), reader.writer);
  for (const { type, element, mark } of NOTES) reader.readNotes(await main.textOf(type), element, mark);
  const margins = new Set([...main.related('header'), ...main.related('footer')]);
  for (const path of margins) reader.readMargin(await zip.text(path));
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: reader.writer.toString() };
}

/** A cell takes no more columns. */
const MAX_SPAN = 100;
/** Elements whose text is none of the document's as it stands. */
const LEFT_OUT = new Set(['w:del', 'w:movefrom', 'w:pprchange', 'w:rprchange', 'w:tcprchange', 'w:rt']);

/** A paragraph that is being read. */
interface OpenParagraph {
  text: string;
  style: string;
  list: string | undefined;
  level: number | undefined;
  /** 1 to 9, or 10 for text, where the paragraph itself says so. */
  outline: number | undefined;
}

const emptyParagraph = (): OpenParagraph => ({
  text: '',
  style: '',
  list: undefined,
  level: undefined,
  outline: undefined,
});

class DocumentReader {
  readonly writer = new DocumentWriter();
  readonly #parts: DocumentParts;
  #paragraph = emptyParagraph();
  /** Those around a text box. */
  readonly #outer: OpenParagraph[] = [];
  #inText = false;
  /** Within what was deleted or moved away, how something looked before, or how a word is pronounced. */
  #left = 0;
  #link: OpenLink | undefined;
  /** Where the last formula of the paragraph ends. */
  #formulaEnd = 0;
  /** `superscript`, `subscript` or nothing. */
  #script = '';
  /** Columns that the open cells take, the innermost last. */
  readonly #columns: number[] = [];

  constructor(parts: DocumentParts) {
    this.#parts = parts;
  }

  read(xml: string): void {
    for (const event of withFormulas(xmlEvents(xml))) {
      if (this.writer.isFull) return;
      this.#take(event);
    }
  }

  /** Adds the notes of a part. */
  readNotes(xml: string, element: string, mark: string): void {
    let id = '';
    for (const event of xmlEvents(xml)) {
      if (this.writer.isFull) return;
      if (event.kind === 'text') this.#write(event.text);
      else if (event.name === element && event.kind === 'open') {
        // Lines between the text and its notes are notes as well.
        id = event.attribute('w:type') === '' ? event.attribute('w:id') : '';
        const author = event.attribute('w:author').slice(0, 100);
        this.#paragraph = { ...emptyParagraph(), text: author && `${author}: ` };
      } else if (event.name === element) {
        if (id !== '') this.writer.note(`${mark}${id}`, this.#paragraph.text);
        id = '';
      } else if (event.name === 'w:p') this.#paragraph.text += ' ';
      else this.#run(event);
    }
    this.#paragraph = emptyParagraph();
  }

  /** Adds a header or footer. */
  readMargin(xml: string): void {
    for (const event of xmlEvents(xml)) {
      if (event.kind === 'text') this.#write(event.text);
      else if (event.name === 'w:p') this.#paragraph.text += ' ';
      else this.#run(event);
    }
    this.writer.margin(this.#paragraph.text);
    this.#paragraph = emptyParagraph();
  }

  #take(event: EventOrFormula): void {
    if (event.kind === 'text') {
      this.#write(event.text);
      return;
    }
    if (event.kind === 'formula') {
      this.#writeFormula(event.text);
      return;
    }
    const { writer } = this;
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'w:p':
        if (isOpen) {
          this.#outer.push(this.#paragraph);
          this.#paragraph = emptyParagraph();
        } else this.#endParagraph();
        break;
      case 'w:hyperlink':
        if (isOpen) {
          const target = this.#parts.target(event.attribute('r:id'));
          this.#link = { target, start: this.#paragraph.text.length };
        } else if (this.#link) {
          this.#paragraph.text = withLink(this.#paragraph.text, this.#link);
          this.#link = undefined;
        }
        break;
      case 'w:tbl':
        if (isOpen) writer.openTable();
        else writer.closeTable();
        break;
      case 'w:tr':
        if (isOpen) writer.openRow();
        break;
      case 'w:tc':
        if (isOpen) this.#columns.push(1);
        else for (let left = this.#columns.pop() ?? 1; left > 0; left--) writer.closeCell();
        break;
      default:
        this.#run(event);
        if (isOpen && this.#left === 0) this.#property(event.name, event.attribute('w:val'), event.attribute('w:id'));
    }
  }

  #write(text: string): void {
    if (this.#inText && this.#left === 0) this.#paragraph.text += this.#scripted(text);
  }

  #writeFormula(text: string): void {
    if (this.#left > 0) return;
    const isNext = this.#paragraph.text !== '' && this.#paragraph.text.length === this.#formulaEnd;
    this.#paragraph.text += `${isNext ? ' ' : ''}${text}`;
    this.#formulaEnd = this.#paragraph.text.length;
  }

  /** What a paragraph or a cell is, and the notes that it refers to. */
  #property(name: string, value: string, id: string): void {
    const paragraph = this.#paragraph;
    if (name === 'w:pstyle') paragraph.style = value;
    else if (name === 'w:numid') paragraph.list = value;
    else if (name === 'w:ilvl') paragraph.level = Number(value) || 0;
    else if (name === 'w:outlinelvl') paragraph.outline = (Number(value) || 0) + 1;
    else if (name === 'w:gridspan') this.#columns.splice(-1, 1, Math.min(Number(value) || 1, MAX_SPAN));
    else if (name === 'w:footnotereference') paragraph.text += `[^${id}]`;
    else if (name === 'w:endnotereference') paragraph.text += `[^e${id}]`;
    else if (name === 'w:commentreference') paragraph.text += `[^c${id}]`;
  }

  /** Text and how it stands on its line. */
  #run(event: XmlEvent): void {
    if (event.kind === 'text') return;
    const isOpen = event.kind === 'open';
    if (event.name === 'w:t' || event.name === 'm:t') this.#inText = isOpen;
    else if (LEFT_OUT.has(event.name)) this.#left += isOpen ? 1 : -1;
    else if (event.name === 'w:r') this.#script = '';
    else if (!isOpen || this.#left > 0) return;
    else if (event.name === 'w:vertalign') this.#script = event.attribute('w:val');
    else if (event.name === 'w:tab' || event.name === 'w:ptab') this.#paragraph.text += ' ';
    else if (event.name === 'w:nobreakhyphen') this.#paragraph.text += '-';
    else if (event.name === 'w:br' || event.name === 'w:cr') this.#paragraph.text += '\n';
  }

  #scripted(text: string): string {
    if (this.#script === 'superscript') return superscript(text);
    return this.#script === 'subscript' ? subscript(text) : text;
  }

  #endParagraph(): void {
    const { text, style, list, level, outline } = this.#paragraph;
    this.#paragraph = this.#outer.pop() ?? emptyParagraph();
    if (text.trim() === '') return;
    const named = this.#parts.styles.get(style);
    const depth = outline ?? named?.heading;
    const heading = depth !== undefined && depth < 10 ? depth : undefined;
    const id = list ?? named?.list ?? '0';
    const item = id === '0' ? undefined : (level ?? named?.level ?? 0);
    const { number, label } = (item !== undefined && this.#parts.numbers.next(id, item)) || {};
    if (heading !== undefined) this.writer.paragraph(text, { heading, label });
    else this.writer.paragraph(text, number === undefined ? { item, label } : { item, number });
  }
}
