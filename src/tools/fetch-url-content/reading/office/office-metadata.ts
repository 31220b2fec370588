import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { xmlEvents } from './xml-events.ts';

/** Reads the properties of an Office document, or the metadata of an EPUB. */
export function officeMetadata(xml: string): Omit<ParsedDocument, 'content'> {
  const texts = firstTexts(xml);
  const first = (...names: string[]) => names.map((name) => texts.get(name)).find(Boolean) ?? '';
  const author = first('dc:creator', 'meta:initial-creator');
  const published = first('dcterms:created', 'meta:creation-date', 'dc:date');
  const updated = first('dcterms:modified');
  const language = first('dc:language');
  return {
    title: first('dc:title'),
    ...(author ? { author } : {}),
    ...(published ? { published } : {}),
    ...(updated && updated !== published ? { updated } : {}),
    ...(language ? { language } : {}),
  };
}

/** The texts of elements without children, by element name; only the first of each name. */
function firstTexts(xml: string): Map<string, string> {
  const texts = new Map<string, string>();
  let text = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += event.text;
    else {
      if (event.kind === 'close' && !texts.has(event.name)) texts.set(event.name, text.trim());
      text = '';
    }
  }
  return texts;
}
