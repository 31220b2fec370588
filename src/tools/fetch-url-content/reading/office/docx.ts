import { joinSpaces } from '../../../../base/text.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { subscript, superscript } from '../markdown/scripts.ts';
import { DocumentWriter, type OpenLink, withLink } from './document-writer.ts';
import { ListNumbers, listLevels } from './docx-lists.ts';
import { officeMetadata } from './office-metadata.ts';
import { type XmlEvent, xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** What the parts of a Word document beside its text say of it. */
interface DocumentParts {
  /** Levels of headings by the ids of their styles. */
  headings: ReadonlyMap<string, number>;
  /** Addresses by the ids of their relationships. */
  links: ReadonlyMap<string, string>;
  numbers: ListNumbers;
}

/** A Word document: headings, paragraphs, lists, links, tables and notes. Deleted text and field codes are left out. */
export async function readDocx(zip: ZipFile): Promise<ParsedDocument> {
  const reader = new DocumentReader({
    headings: headingStyles(await zip.text('word/styles.xml')),
    links: linkTargets(await zip.text('word/_rels/document.xml.rels')),
    numbers: new ListNumbers(listLevels(await zip.text('word/numbering.xml'))),
  });
  reader.read(await zip.text('word/document.xml'));
  reader.readNotes(await zip.text('word/footnotes.xml'), 'w:footnote', '');
  reader.readNotes(await zip.text('word/endnotes.xml'), 'w:endnote', 'e');
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: reader.writer.toString() };
}

class DocumentReader {
  readonly writer = new DocumentWriter();
  readonly #parts: DocumentParts;
  #text = '';
  #style = '';
  #list = '';
  #item: number | undefined;
  #inText = false;
  #deleted = 0;
  #link: OpenLink | undefined;
  /** `superscript`, `subscript` or nothing. */
  #script = '';

  constructor(parts: DocumentParts) {
    this.#parts = parts;
  }

  read(xml: string): void {
    for (const event of xmlEvents(xml)) {
      if (this.writer.isFull) return;
      if (event.kind !== 'text') this.#element(event);
      else if (this.#inText && this.#deleted === 0) this.#text += this.#scripted(event.text);
    }
  }

  /** Adds the notes of a part as `[^1]: text`, where the document refers to them. */
  readNotes(xml: string, element: string, mark: string): void {
    let id = '';
    for (const event of xmlEvents(xml)) {
      if (this.writer.isFull) return;
      if (event.kind === 'text') {
        if (this.#inText && id !== '') this.#text += this.#scripted(event.text);
      } else if (event.name === element && event.kind === 'open') {
        // Lines between the text and its notes are notes as well.
        id = event.attribute('w:type') === '' ? event.attribute('w:id') : '';
        this.#text = '';
      } else if (event.name === element) {
        const text = joinSpaces(this.#text).trim();
        if (id !== '' && text !== '') this.writer.note(`${mark}${id}`, text);
        id = '';
      } else if (event.name === 'w:p') this.#text += ' ';
      else this.#run(event);
    }
  }

  #element(event: XmlEvent): void {
    if (event.kind === 'text') return;
    const { writer } = this;
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'w:p':
        if (isOpen) [this.#text, this.#style, this.#list, this.#item] = ['', '', '', undefined];
        else this.#endParagraph();
        break;
      case 'w:hyperlink':
        if (isOpen) {
          const target = this.#parts.links.get(event.attribute('r:id')) ?? '';
          this.#link = { target, start: this.#text.length };
        } else if (this.#link) {
          this.#text = withLink(this.#text, this.#link);
          this.#link = undefined;
        }
        break;
      case 'w:del':
        this.#deleted += isOpen ? 1 : -1;
        break;
      case 'w:tbl':
        if (isOpen) writer.openTable();
        else writer.closeTable();
        break;
      case 'w:tr':
        if (isOpen) writer.openRow();
        break;
      case 'w:tc':
        if (!isOpen) writer.closeCell();
        break;
      default:
        this.#run(event);
        if (event.kind === 'open') this.#property(event.name, event.attribute('w:val'), event.attribute('w:id'));
    }
  }

  /** What a paragraph is, and the notes that it refers to. */
  #property(name: string, value: string, id: string): void {
    if (name === 'w:pstyle') this.#style = value;
    else if (name === 'w:numpr') this.#item = 0;
    else if (name === 'w:numid') this.#list = value;
    else if (name === 'w:ilvl' && this.#item !== undefined) this.#item = Number(value) || 0;
    else if (name === 'w:footnotereference') this.#text += `[^${id}]`;
    else if (name === 'w:endnotereference') this.#text += `[^e${id}]`;
  }

  /** Text and how it stands on its line. */
  #run(event: XmlEvent): void {
    if (event.kind === 'text') return;
    const isOpen = event.kind === 'open';
    if (event.name === 'w:t' || event.name === 'm:t') this.#inText = isOpen;
    else if (event.name === 'w:r') this.#script = '';
    else if (!isOpen) return;
    else if (event.name === 'w:vertalign') this.#script = event.attribute('w:val');
    else if (event.name === 'w:tab') this.#text += ' ';
    else if (event.name === 'w:br' || event.name === 'w:cr') this.#text += '\n';
  }

  #scripted(text: string): string {
    if (this.#script === 'superscript') return superscript(text);
    return this.#script === 'subscript' ? subscript(text) : text;
  }

  #endParagraph(): void {
    const { headings, numbers } = this.#parts;
    const level = this.#list === '0' ? undefined : this.#item;
    const heading = headings.get(this.#style);
    const number = level === undefined || this.#text.trim() === '' ? undefined : numbers.next(this.#list, level);
    this.writer.paragraph(this.#text, { heading, item: level, number });
    this.#text = '';
  }
}

/** Styles that are headings, by their own name or by their level in the outline: ids are translated, names are not. */
function headingStyles(xml: string): Map<string, number> {
  const levels = new Map<string, number>();
  let id = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    if (event.name === 'w:style') id = event.attribute('w:styleId');
    else if (event.name === 'w:name') {
      const name = event.attribute('w:val').toLowerCase();
      const level = /^heading (\d)$/.exec(name)?.[1];
      if (level) levels.set(id, Number(level));
      else if (name === 'title') levels.set(id, 1);
    } else if (event.name === 'w:outlinelvl' && !levels.has(id)) {
      const level = Number(event.attribute('w:val'));
      if (level < 6) levels.set(id, level + 1);
    }
  }
  return levels;
}

/** Addresses of relationships by their ids. */
export function linkTargets(xml: string): Map<string, string> {
  const targets = new Map<string, string>();
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'open' && event.name === 'relationship')
      targets.set(event.attribute('Id'), event.attribute('Target'));
  }
  return targets;
}
