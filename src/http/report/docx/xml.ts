import { escapedMarkup } from '../../../base/text.ts';

/** The namespaces of Word's parts, for their root elements. */
export const WORD_NAMESPACES =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
/** The namespace of relationships between parts, also the beginning of their types. */
export const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Text as text, in elements and in attributes. What XML 1.0 forbids is left out. */
export function xmlText(text: string): string {
  const allowed = text
    .toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, (letter) => (letter === '\n' || letter === '\t' ? letter : ''));
  return escapedMarkup(allowed);
}

/** A part with its declaration. */
export function xmlPart(content: string): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${content}`;
}
