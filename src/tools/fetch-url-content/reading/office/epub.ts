import { onOneLine } from '../../../../base/text.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { officeMetadata } from './office-metadata.ts';
import { partPath } from './package-parts.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** In UTF-16 code units. */
const LONGEST_TITLE = 200;

/** A book: its chapters in the order of reading. */
export async function readEpub(zip: ZipFile, url: string): Promise<ParsedDocument> {
  let path = '';
  for (const event of xmlEvents(await zip.text('META-INF/container.xml'))) {
    if (event.kind === 'open' && event.name === 'rootfile') path ||= event.attribute('full-path');
  }
  const book = await zip.text(path);
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const titles = await chapterTitles(zip, { book, folder });
  const chapters: string[] = [];
  let length = 0;
  for (const name of readingOrder(book)) {
    if (length > MAX_CONTENT) break;
    const chapter = readWhole(await zip.text(partPath(name, folder)), url);
    if (chapter === '') continue;
    const title = titles.get(partPath(name, folder));
    // Without a title in the contents it goes on with the chapter before it.
    chapters.push(title === undefined || chapter.startsWith('#') ? chapter : `# ${title}\n\n${chapter}`);
    length += chapter.length;
  }
  return { ...officeMetadata(book), content: chapters.join('\n\n') };
}

/** What the table of contents calls the parts of a book, by their paths: that of EPUB 3, or of EPUB 2. */
async function chapterTitles(zip: ZipFile, { book, folder }: { book: string; folder: string }) {
  const titles = new Map<string, string>();
  for (const event of xmlEvents(book)) {
    if (event.kind !== 'open' || event.name !== 'item') continue;
    const isNav = /\bnav\b/.test(event.attribute('properties'));
    if (!isNav && event.attribute('media-type') !== 'application/x-dtbncx+xml') continue;
    const path = partPath(event.attribute('href'), folder);
    const within = path.slice(0, path.lastIndexOf('/') + 1);
    let text = '';
    let target = '';
    for (const part of xmlEvents(await zip.text(path))) {
      if (part.kind === 'text') text += part.text;
      else if (part.kind === 'open' && (part.name === 'a' || part.name === 'navlabel')) text = '';
      if (part.kind === 'open' && part.name === 'a') target = part.attribute('href');
      if (part.kind === 'open' && part.name === 'content') target = part.attribute('src');
      const isWhole = part.kind === 'open' ? part.name === 'content' : part.kind === 'close' && part.name === 'a';
      const title = onOneLine(text).slice(0, LONGEST_TITLE);
      const chapter = isWhole ? partPath(target, within) : '';
      if (isWhole && title !== '' && target !== '' && !titles.has(chapter)) titles.set(chapter, title);
    }
  }
  return titles;
}

function readingOrder(book: string): string[] {
  const files = new Map<string, string>();
  const order: string[] = [];
  for (const event of xmlEvents(book)) {
    if (event.kind !== 'open') continue;
    if (event.name === 'item') files.set(event.attribute('id'), event.attribute('href'));
    else if (event.name === 'itemref') order.push(event.attribute('idref'));
  }
  return order.flatMap((id) => files.get(id) ?? []);
}
