import { joinSpaces } from '../../../../base/text.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { DocumentWriter, type OpenLink, withLink } from './document-writer.ts';
import { officeMetadata } from './office-metadata.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** An OpenDocument text, spreadsheet or presentation. */
export async function readOdf(zip: ZipFile): Promise<ParsedDocument> {
  const writer = new DocumentWriter();
  const isSheet = (await zip.text('mimetype')).includes('spreadsheet');
  let text = '';
  let heading: number | undefined;
  let inParagraph = 0;
  let lists = 0;
  let notes = 0;
  let repeat = 1;
  let link: OpenLink | undefined;
  // An object may stand in a document any number of times; it is read once.
  const formulas = new Map<string, string>();
  for (const event of xmlEvents(await zip.text('content.xml'))) {
    if (writer.isFull) break;
    if (event.kind === 'text') {
      if (inParagraph > 0 && notes === 0) text += joinSpaces(event.text);
      continue;
    }
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'text:h':
      case 'text:p':
        inParagraph += isOpen ? 1 : -1;
        if (isOpen && inParagraph === 1) {
          text = '';
          heading = event.name === 'text:h' ? Number(event.attribute('text:outline-level')) || 1 : undefined;
        } else if (!isOpen && inParagraph === 0)
          writer.paragraph(text, { heading, item: lists > 0 ? lists - 1 : undefined });
        break;
      case 'text:list':
        lists += isOpen ? 1 : -1;
        break;
      case 'office:annotation':
      case 'text:tracked-changes':
        notes += isOpen ? 1 : -1;
        break;
      case 'text:s':
      case 'text:tab':
        if (isOpen) text += ' ';
        break;
      case 'text:line-break':
        if (isOpen) text += '\n';
        break;
      case 'text:a':
        if (isOpen) link = { target: event.attribute('xlink:href'), start: text.length };
        else if (link) {
          text = withLink(text, link);
          link = undefined;
        }
        break;
      case 'draw:object':
        if (isOpen) {
          const path = event.attribute('xlink:href');
          const known = formulas.get(path) ?? (await formula(zip, path));
          formulas.set(path, known);
          if (text.length < MAX_CONTENT) text += known;
        }
        break;
      case 'draw:page':
        if (isOpen) writer.paragraph(event.attribute('draw:name') || 'Slide', { heading: 2 });
        break;
      case 'table:table':
        if (isOpen) {
          const name = event.attribute('table:name');
          if (name !== '' && isSheet) writer.paragraph(name, { heading: 2 });
          writer.openTable();
        } else writer.closeTable();
        break;
      case 'table:table-row':
        if (isOpen) writer.openRow();
        break;
      case 'table:table-cell':
      case 'table:covered-table-cell':
        if (isOpen) repeat = Number(event.attribute('table:number-columns-repeated')) || 1;
        else writer.closeCell(repeat);
        break;
    }
  }
  return { ...officeMetadata(await zip.text('meta.xml')), content: writer.toString() };
}

/** A formula lies in a part of its own, as MathML. */
async function formula(zip: ZipFile, path: string): Promise<string> {
  return readWhole(await zip.text(`${path.replace(/^\.\//, '').replace(/\/$/, '')}/content.xml`), '');
}
