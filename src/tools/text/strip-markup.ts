import { decodeHTML } from 'entities/decode';
import { joinSpaces } from '../../base/text.ts';

/** Markup-free text on one line, for titles and snippets of search services. */
export function stripMarkup(text: string): string {
  return unmarked(text).trim();
}

/** Text without tags, references, soft hyphens and breaks. */
export function unmarked(text: string): string {
  const untagged = text.replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, '');
  const decoded = decodeHTML(untagged).replaceAll('\u00ad', '');
  // In pieces first: a run of tens of millions overflows the stack of an expression that is interpreted.
  return joinSpaces(decoded.replace(/\s{2,4096}/g, ' '));
}
