import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { DocumentWriter, type OpenLink, withLink } from './document-writer.ts';
import { officeMetadata } from './office-metadata.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** A Word document: headings, paragraphs, lists, links and tables. Deleted text and field codes are left out. */
export async function readDocx(zip: ZipFile): Promise<ParsedDocument> {
  const headings = headingStyles(await zip.text('word/styles.xml'));
  const links = linkTargets(await zip.text('word/_rels/document.xml.rels'));
  const writer = new DocumentWriter();
  let text = '';
  let style = '';
  let item: number | undefined;
  let inText = false;
  let deleted = 0;
  let link: OpenLink | undefined;
  for (const event of xmlEvents(await zip.text('word/document.xml'))) {
    if (writer.isFull) break;
    if (event.kind === 'text') {
      if (inText && deleted === 0) text += event.text;
      continue;
    }
    const isOpen = event.kind === 'open';
    switch (event.name) {
      case 'w:p':
        if (isOpen) [text, style, item] = ['', '', undefined];
        else writer.paragraph(text, { heading: headings.get(style), item });
        if (!isOpen) text = '';
        break;
      case 'w:pstyle':
        if (isOpen) style = event.attribute('w:val');
        break;
      case 'w:numpr':
        if (isOpen) item = 0;
        break;
      case 'w:ilvl':
        if (isOpen && item !== undefined) item = Number(event.attribute('w:val')) || 0;
        break;
      case 'w:t':
      case 'm:t':
        inText = isOpen;
        break;
      case 'w:del':
        deleted += isOpen ? 1 : -1;
        break;
      case 'w:tab':
        if (isOpen) text += ' ';
        break;
      case 'w:br':
      case 'w:cr':
        if (isOpen) text += '\n';
        break;
      case 'w:hyperlink':
        if (isOpen) link = { target: links.get(event.attribute('r:id')) ?? '', start: text.length };
        else if (link) {
          text = withLink(text, link);
          link = undefined;
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
        if (!isOpen) writer.closeCell();
        break;
    }
  }
  return { ...officeMetadata(await zip.text('docProps/core.xml')), content: writer.toString() };
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
