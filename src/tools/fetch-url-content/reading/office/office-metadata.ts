import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { textOfElement } from './xml-events.ts';

/** What the properties of an Office document, or the metadata of an EPUB, tell of it. */
export function officeMetadata(xml: string): Omit<ParsedDocument, 'content'> {
  const first = (names: readonly string[]) =>
    names
      .map((name) => textOfElement(xml, name))
      .find((value) => value !== '')
      ?.slice(0, 300) ?? '';
  const author = first(['dc:creator', 'meta:initial-creator']);
  const published = first(['dcterms:created', 'meta:creation-date', 'dc:date']);
  const updated = first(['dcterms:modified']);
  const language = first(['dc:language']);
  return {
    title: first(['dc:title']),
    ...(author ? { author } : {}),
    ...(published ? { published } : {}),
    ...(updated && updated !== published ? { updated } : {}),
    ...(language ? { language } : {}),
  };
}
