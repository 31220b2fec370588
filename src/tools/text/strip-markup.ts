import { decodeHTML } from 'entities/decode';
import { collapseSpaces } from '../../base/text.ts';

/** Text without markup on one trimmed line, for titles and snippets of search services. */
export function stripMarkup(text: string): string {
  return removeMarkup(text).trim();
}

/** Removes tags, soft hyphens and line breaks, and decodes character references. */
export function removeMarkup(text: string): string {
  const untagged = text.replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, '');
  const decoded = decodeHTML(untagged).replaceAll('\u00ad', '');
  // Long runs are shortened first: one of tens of millions overflows the stack of the regular expression engine.
  return collapseSpaces(decoded.replace(/\s{2,4096}/g, ' '));
}
