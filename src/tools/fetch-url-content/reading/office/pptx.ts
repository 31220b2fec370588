import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { DocumentWriter } from './document-writer.ts';
import { officeMetadata } from './office-metadata.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** A presentation, slide by slide: the title as a heading, then its text and tables. */
export async function readPptx(zip: ZipFile): Promise<ParsedDocument> {
  const writer = new DocumentWriter();
  const slides = zip.names
    .flatMap((name) => {
      const number = /^ppt\/slides\/slide(\d{1,5})\.xml$/.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number);
  for (const [at, { name }] of slides.entries()) {
    if (writer.isFull) break;
    writer.paragraph(`[Slide ${at + 1}]`);
    writeSlide(await zip.text(name), writer);
  }
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: writer.toString() };
}

function writeSlide(xml: string, writer: DocumentWriter): void {
  let isTitle = false;
  let level = 0;
  let text = '';
  let inText = false;
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') {
      if (inText) text += event.text;
      continue;
    }
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'p:sp':
        isTitle = false;
        break;
      case 'p:ph':
        if (isOpen) isTitle = /title/i.test(event.attribute('type')) && !/sub/i.test(event.attribute('type'));
        break;
      case 'a:p':
        if (isOpen) [text, level] = ['', 0];
        else writer.paragraph(text, isTitle ? { heading: 2 } : level > 0 ? { item: level } : {});
        break;
      case 'a:ppr':
        if (isOpen) level = Number(event.attribute('lvl')) || 0;
        break;
      case 'a:t':
      case 'm:t':
        inText = isOpen;
        break;
      case 'a:br':
        if (isOpen) text += '\n';
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
}
