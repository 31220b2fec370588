import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { subscript, superscript } from '../markdown/scripts.ts';
import { symbolOf } from '../symbol-fonts.ts';
import { writeChartValues } from './chart.ts';
import { addressInField, closeLink, DocumentWriter, type OpenLink } from './document-writer.ts';
import { ListNumbers, readLists } from './docx-lists.ts';
import { type NamedStyle, paragraphStyles } from './docx-styles.ts';
import { foreignChunks } from './foreign-chunks.ts';
import { officeMetadata } from './office-metadata.ts';
import { type EventOrFormula, withFormulas } from './omml.ts';
import { PackagePart } from './package-parts.ts';
import { writeShapes } from './pptx.ts';
import { type XmlEvent, xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** What other parts of a Word document define for its text. */
interface DocumentParts {
  styles: ReadonlyMap<string, NamedStyle>;
  /** The target of a relationship of the document. */
  target: (id: string) => string;
  numbers: ListNumbers;
  /** Chunks of other formats as Markdown, by their paths. */
  chunks: ReadonlyMap<string, string>;
}

/** The kinds of notes: their element, and the prefix of their ids in references. */
const NOTES = [
  { type: 'footnotes', element: 'w:footnote', mark: '' },
  { type: 'endnotes', element: 'w:endnote', mark: 'e' },
  { type: 'comments', element: 'w:comment', mark: 'c' },
] as const;

/**
 * Reads a Word document: headings, paragraphs, lists, links, tables, diagrams, charts, notes, comments, and each header and
 * footer once. Deleted and hidden text and field codes are left out.
 */
export async function readDocx(zip: ZipFile): Promise<ParsedDocument> {
  const main = await PackagePart.main(zip, 'word/document.xml');
  const reader = new DocumentReader({
    styles: paragraphStyles(await main.textOf('styles')),
    target: (id) => main.target(id),
    numbers: new ListNumbers(readLists(await main.textOf('numbering'))),
    chunks: await foreignChunks(zip, main),
  });
  reader.read(await main.text());
  for (const diagram of main.related('diagramData')) writeShapes(await zip.text(diagram), reader.writer);
  for (const chart of main.related('chart')) writeChartValues(await zip.text(chart), reader.writer);
  for (const { type, element, mark } of NOTES) reader.readNotes(await main.textOf(type), element, mark);
  const margins = new Set([...main.related('header'), ...main.related('footer')]);
  for (const path of margins) reader.readMargin(await zip.text(path));
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: reader.writer.toString() };
}

/** The most columns that a cell spans. */
const MAX_SPAN = 100;
/** Elements whose text is not part of the current document: deletions, moves, former properties, ruby annotations. */
const EXCLUDED = new Set(['w:del', 'w:movefrom', 'w:pprchange', 'w:rprchange', 'w:tcprchange', 'w:rt']);

/** A paragraph that is being read. */
interface OpenParagraph {
  text: string;
  style: string;
  list: string | undefined;
  level: number | undefined;
  /** The paragraph's own outline level: 1 to 9 for headings, 10 for text. */
  outline: number | undefined;
}

const emptyParagraph = (): OpenParagraph => ({
  text: '',
  style: '',
  list: undefined,
  level: undefined,
  outline: undefined,
});

/** A field that is being read: its code and, once its result begins, where that is. */
interface OpenField {
  code: string;
  result?: { paragraph: OpenParagraph; start: number };
}

/** The longest code of a field that is read, in UTF-16 code units. */
const MAX_CODE_LENGTH = 4000;

class DocumentReader {
  readonly writer = new DocumentWriter();
  readonly #parts: DocumentParts;
  #paragraph = emptyParagraph();
  /** The paragraphs around a text box. */
  readonly #outer: OpenParagraph[] = [];
  #inText = false;
  /** How many excluded elements are open. */
  #skipped = 0;
  #link: OpenLink | undefined;
  /** The open fields, the innermost last. */
  readonly #fields: OpenField[] = [];
  #inCode = false;
  /** The end of the paragraph's last formula in its text. */
  #formulaEnd = 0;
  /** `superscript`, `subscript` or empty. */
  #script = '';
  /** Whether the run is hidden, and its font. */
  #isHidden = false;
  #font = '';
  /** How many columns each open cell spans, the innermost last. */
  readonly #columns: number[] = [];

  constructor(parts: DocumentParts) {
    this.#parts = parts;
  }

  read(xml: string): void {
    for (const event of withFormulas(xmlEvents(xml))) {
      if (this.writer.isFull) return;
      this.#handle(event);
    }
  }

  /** Adds the notes of a part. */
  readNotes(xml: string, element: string, mark: string): void {
    let id = '';
    for (const event of xmlEvents(xml)) {
      if (this.writer.isFull) return;
      if (event.kind === 'text') this.#write(event.text);
      else if (event.name === element && event.kind === 'open') {
        // Separator lines are stored as notes with a type.
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

  #handle(event: EventOrFormula): void {
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
          this.#paragraph.text = closeLink(this.#paragraph.text, this.#link);
          this.#link = undefined;
        }
        break;
      case 'w:altchunk':
        if (isOpen) writer.markdown(this.#parts.chunks.get(this.#parts.target(event.attribute('r:id'))) ?? '');
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
        else for (let count = this.#columns.pop() ?? 1; count > 0; count--) writer.closeCell();
        break;
      default:
        this.#run(event);
        if (event.name === 'w:instrtext') this.#inCode = isOpen;
        if (!isOpen || this.#skipped > 0) break;
        if (event.name === 'w:fldchar') this.#field(event.attribute('w:fldCharType'));
        else this.#property(event.name, event.attribute('w:val'), event.attribute('w:id'));
    }
  }

  #write(text: string): void {
    const field = this.#inCode ? this.#fields.at(-1) : undefined;
    if (field) field.code = (field.code + text).slice(0, MAX_CODE_LENGTH);
    if (this.#inText && this.#skipped === 0 && !this.#isHidden) this.#paragraph.text += this.#toScript(text);
  }

  #writeFormula(text: string): void {
    if (this.#skipped > 0) return;
    const isNext = this.#paragraph.text !== '' && this.#paragraph.text.length === this.#formulaEnd;
    this.#paragraph.text += `${isNext ? ' ' : ''}${text}`;
    this.#formulaEnd = this.#paragraph.text.length;
  }

  /** Begins, divides or ends a field. The result of one with an address becomes a link. */
  #field(mark: string): void {
    const field = this.#fields.at(-1);
    if (mark === 'begin') this.#fields.push({ code: '' });
    else if (mark === 'separate' && field)
      field.result = { paragraph: this.#paragraph, start: this.#paragraph.text.length };
    else if (mark === 'end') {
      const { code = '', result } = this.#fields.pop() ?? {};
      if (!result || result.paragraph !== this.#paragraph) return;
      this.#paragraph.text = closeLink(this.#paragraph.text, { target: addressInField(code), start: result.start });
    }
  }

  /** Handles properties of paragraphs and cells, and references to notes. */
  #property(name: string, value: string, id: string): void {
    const paragraph = this.#paragraph;
    if (name === 'w:pstyle') paragraph.style = value;
    else if (name === 'w:numid') paragraph.list = value;
    else if (name === 'w:ilvl') paragraph.level = Number(value) || 0;
    else if (name === 'w:outlinelvl') paragraph.outline = (Number(value) || 0) + 1;
    else if (name === 'w:gridspan') this.#columns.splice(-1, 1, Math.min(Number(value) || 1, MAX_SPAN));
    else if (name === 'w:gridbefore') this.writer.closeCell(Math.min(Number(value) || 0, MAX_SPAN));
    else if (name === 'w:footnotereference') paragraph.text += `[^${id}]`;
    else if (name === 'w:endnotereference') paragraph.text += `[^e${id}]`;
    else if (name === 'w:commentreference') paragraph.text += `[^c${id}]`;
  }

  /** Handles runs of text and their position on the line. */
  #run(event: XmlEvent): void {
    if (event.kind === 'text') return;
    const isOpen = event.kind === 'open';
    if (event.name === 'w:t' || event.name === 'm:t') this.#inText = isOpen;
    else if (EXCLUDED.has(event.name)) this.#skipped += isOpen ? 1 : -1;
    else if (event.name === 'w:r') [this.#script, this.#isHidden, this.#font] = ['', false, ''];
    else if (!isOpen || this.#skipped > 0) return;
    else if (event.name === 'w:vertalign') this.#script = event.attribute('w:val');
    else if (event.name === 'w:vanish') this.#isHidden = !/^(?:0|false|off)$/.test(event.attribute('w:val'));
    else if (event.name === 'w:rfonts') this.#font = event.attribute('w:ascii') || event.attribute('w:hAnsi');
    else if (this.#isHidden) return;
    else if (event.name === 'w:sym') {
      this.#paragraph.text += symbolOf(event.attribute('w:font'), Number.parseInt(event.attribute('w:char'), 16));
    } else if (event.name === 'w:tab' || event.name === 'w:ptab') this.#paragraph.text += ' ';
    else if (event.name === 'w:nobreakhyphen') this.#paragraph.text += '-';
    else if (event.name === 'w:br' || event.name === 'w:cr') this.#paragraph.text += '\n';
  }

  #toScript(written: string): string {
    const text = written.replace(/[\uf020-\uf0ff]/g, (sign) => symbolOf(this.#font, sign.charCodeAt(0)));
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
