import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { xmlEvents } from './xml-events.ts';

/** No further author is added to a longer list, in UTF-16 code units. */
const MAX_AUTHORS_LENGTH = 250;

/** Reads the properties of an Office document, or the metadata of an EPUB. */
export function officeMetadata(xml: string): Omit<ParsedDocument, 'content'> {
  const texts = firstTexts(xml);
  const first = (...names: string[]) => names.map((name) => texts.get(name)).find(Boolean) ?? '';
  // In OpenDocument `dc:creator` and `dc:date` are of the last change.
  return {
    title: first('dc:title'),
    author: first('meta:initial-creator', 'dc:creator'),
    published: first('dcterms:created', 'meta:creation-date', 'dc:date'),
    updated: first('dcterms:modified', 'dc:date'),
    language: first('dc:language'),
  };
}

/** The texts of elements without children, by element name: all authors, of any other name the first. */
function firstTexts(xml: string): Map<string, string> {
  const texts = new Map<string, string>();
  let text = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind === 'text') text += event.text;
    else {
      const known = texts.get(event.name);
      const isNext = known && event.name === 'dc:creator' && text.trim() !== '' && known.length < MAX_AUTHORS_LENGTH;
      if (event.kind === 'close' && (known === undefined || isNext)) {
        texts.set(event.name, (isNext ? `${known}, ` : '') + text.trim());
      }
      text = '';
    }
  }
  return texts;
}
