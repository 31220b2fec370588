import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { MAX_CONTENT } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { officeMetadata } from './office-metadata.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** A book: its chapters in the order of reading. */
export async function readEpub(zip: ZipFile, url: string): Promise<ParsedDocument> {
  let path = '';
  for (const event of xmlEvents(await zip.text('META-INF/container.xml'))) {
    if (event.kind === 'open' && event.name === 'rootfile') path ||= event.attribute('full-path');
  }
  const book = await zip.text(path);
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const chapters: string[] = [];
  let length = 0;
  for (const name of readingOrder(book)) {
    if (length > MAX_CONTENT) break;
    const chapter = readWhole(await zip.text(joined(folder, name)), url);
    if (chapter === '') continue;
    chapters.push(chapter);
    length += chapter.length;
  }
  return { ...officeMetadata(book), content: chapters.join('\n\n') };
}

function readingOrder(book: string): string[] {
  const files = new Map<string, string>();
  const order: string[] = [];
  for (const event of xmlEvents(book)) {
    if (event.kind !== 'open') continue;
    if (/^(opf:)?item$/.test(event.name)) files.set(event.attribute('id'), event.attribute('href'));
    else if (/^(opf:)?itemref$/.test(event.name)) order.push(event.attribute('idref'));
  }
  return order.flatMap((id) => files.get(id) ?? []);
}

/** A path within the book, percent-encoding undone. */
function joined(folder: string, name: string): string {
  const path = URL.parse(name.split('#', 1)[0] ?? '', `file:///${folder}`)?.pathname.slice(1) ?? '';
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
