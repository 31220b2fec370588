import { decodeXML } from 'entities';
import { toSingleLine } from '../../../../base/text.ts';
import { MAX_CONTENT, type ParsedDocument } from '../../parsing/parse-job.ts';
import { readWhole } from '../html/html.ts';
import { officeMetadata } from './office-metadata.ts';
import { partPath } from './package-parts.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

/** The longest title of a chapter, in UTF-16 code units. */
const MAX_TITLE_LENGTH = 200;

/** Reads a book, chapter by chapter in reading order. */
export async function readEpub(zip: ZipFile): Promise<ParsedDocument> {
  let path = '';
  for (const event of xmlEvents(await zip.text('META-INF/container.xml'))) {
    if (event.kind === 'open' && event.name === 'rootfile') path ||= event.attribute('full-path');
  }
  const book = await zip.text(path);
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const titles = await chapterTitles(zip, { book, folder });
  const chapters: string[] = [];
  let length = 0;
  let lastTitle: string | undefined;
  for (const name of readingOrder(book)) {
    if (length > MAX_CONTENT) break;
    const part = await zip.text(partPath(name, folder));
    // Its chapters and pictures have no addresses outside of the book.
    const chapter = readWhole(part, 'about:blank');
    if (chapter === '') continue;
    // A part without a title in the table of contents continues the chapter before it. If there is no such table, the
    // part's own title is taken, unless the part before has the same.
    const ownTitle = titles.size === 0 ? titleOf(part) : undefined;
    const title = titles.get(partPath(name, folder)) ?? (ownTitle === lastTitle ? undefined : ownTitle);
    lastTitle = ownTitle;
    chapters.push(title === undefined || chapter.startsWith('#') ? chapter : `# ${title}\n\n${chapter}`);
    length += chapter.length;
  }
  return { ...officeMetadata(book), content: chapters.join('\n\n') };
}

function titleOf(part: string): string | undefined {
  const title = /<title>([^<]{1,200})<\/title>/i.exec(part.slice(0, 20_000))?.[1] ?? '';
  return toSingleLine(decodeXML(title)) || undefined;
}

/** The titles of a book's parts in its table of contents (EPUB 3 or EPUB 2), by their paths. */
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
      const isEntryEnd = part.kind === 'open' ? part.name === 'content' : part.kind === 'close' && part.name === 'a';
      const title = toSingleLine(text).slice(0, MAX_TITLE_LENGTH);
      const chapter = isEntryEnd ? partPath(target, within) : '';
      if (isEntryEnd && title !== '' && target !== '' && !titles.has(chapter)) titles.set(chapter, title);
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
