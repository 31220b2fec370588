import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { writeChartValues } from './chart.ts';
import { DocumentWriter } from './document-writer.ts';
import { officeMetadata } from './office-metadata.ts';
import { type EventOrFormula, withFormulas } from './omml.ts';
import { PackagePart } from './package-parts.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** Reads a presentation in the order of its slides: each title as a heading, then texts, tables, diagrams, charts, notes and comments. */
export async function readPptx(zip: ZipFile): Promise<ParsedDocument> {
  const writer = new DocumentWriter();
  for (const [at, path] of (await slidesOf(zip)).entries()) {
    if (writer.isFull) break;
    const slide = await PackagePart.at(zip, path);
    writer.paragraph(`[Slide ${at + 1}]`);
    writeShapes(await slide.text(), writer);
    for (const diagram of slide.related('diagramData')) writeShapes(await zip.text(diagram), writer);
    for (const chart of slide.related('chart')) writeChartValues(await zip.text(chart), writer);
    for (const notes of slide.related('notesSlide')) writeNotes(await zip.text(notes), writer);
    for (const comments of slide.related('comments')) writeComments(await zip.text(comments), writer);
  }
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: writer.toString() };
}

/** The paths of the slides in the order of the presentation; their names follow the order of creation. */
async function slidesOf(zip: ZipFile): Promise<string[]> {
  const main = await PackagePart.main(zip, 'ppt/presentation.xml');
  const slides: string[] = [];
  for (const event of xmlEvents(await main.text())) {
    if (event.kind === 'open' && event.name === 'p:sldid') slides.push(main.target(event.attribute('r:id')));
  }
  const found = slides.filter((path) => zip.has(path));
  return found.length > 0 ? found : slidesByName(zip);
}

function slidesByName(zip: ZipFile): string[] {
  const slides = zip.names.flatMap((name) => {
    const number = /^ppt\/slides\/slide(\d{1,5})\.xml$/.exec(name)?.[1];
    return number === undefined ? [] : [{ name, number: Number(number) }];
  });
  return slides.sort((a, b) => a.number - b.number).map(({ name }) => name);
}

function writeNotes(xml: string, writer: DocumentWriter): void {
  const notes = new DocumentWriter();
  writeShapes(xml, notes, /^(sldImg|sldNum|hdr|ftr|dt)$/);
  const text = notes.toString();
  if (text !== '') writer.paragraph(`Notes: ${text}`);
}

/** Writes the comments on a slide: in `p:text`, since PowerPoint 2021 in paragraphs. */
function writeComments(xml: string, writer: DocumentWriter): void {
  let text = '';
  let inText = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += inText ? event.text : '';
    else if (event.name === 'p:text' || event.name === 'a:t') inText = event.kind === 'open';
    else if (event.kind === 'close' && /:(?:cm|txbody)$/.test(event.name)) {
      if (text.trim() !== '') writer.paragraph(`Comment: ${text}`);
      text = '';
    } else if (event.kind === 'close' && event.name === 'a:p') text += ' ';
  }
}

/** Writes the text of the shapes, except for placeholders of the `excluded` types. */
export function writeShapes(xml: string, writer: DocumentWriter, excluded = /^(sldNum|sldImg)$/): void {
  const shape = new ShapeReader(writer, excluded);
  for (const event of withFormulas(xmlEvents(xml))) {
    if (writer.isFull) return;
    shape.handle(event);
  }
}

class ShapeReader {
  readonly #writer: DocumentWriter;
  readonly #excluded: RegExp;
  #isTitle = false;
  #isExcluded = false;
  #level = 0;
  #text = '';
  #inText = false;

  constructor(writer: DocumentWriter, excluded: RegExp) {
    this.#writer = writer;
    this.#excluded = excluded;
  }

  handle(event: EventOrFormula): void {
    if (event.kind === 'text' || event.kind === 'formula') {
      if (this.#inText || event.kind === 'formula') this.#text += event.text;
      return;
    }
    const isOpen = event.kind === 'open';
    const writer = this.#writer;
    switch (event.name) {
      case 'p:sp':
        this.#isTitle = this.#isExcluded = false;
        break;
      case 'p:ph':
        if (event.kind === 'open') this.#placeholder(event.attribute('type'));
        break;
      case 'a:p':
        if (isOpen) [this.#text, this.#level] = ['', 0];
        else this.#endParagraph();
        break;
      case 'a:ppr':
        if (event.kind === 'open') this.#level = Number(event.attribute('lvl')) || 0;
        break;
      case 'a:t':
        this.#inText = isOpen;
        break;
      case 'a:br':
      case 'a:tab':
        if (isOpen) this.#text += event.name === 'a:br' ? '\n' : ' ';
        break;
      case 'a:tbl':
        if (isOpen) writer.openTable();
        else writer.closeTable();
        break;
      case 'a:tr':
        if (isOpen) writer.openRow();
        break;
      case 'a:tc':
        if (!isOpen) writer.closeCell();
        break;
    }
  }

  #placeholder(type: string): void {
    this.#isTitle = /title/i.test(type) && !/sub/i.test(type);
    this.#isExcluded = this.#excluded.test(type);
  }

  #endParagraph(): void {
    if (this.#isExcluded) return;
    const level = this.#level;
    this.#writer.paragraph(this.#text, this.#isTitle ? { heading: 2 } : level > 0 ? { item: level } : {});
  }
}
