import { escapeMarkup } from '../../../base/text.ts';

/** The namespaces of Word's parts, for their root elements. */
export const WORD_NAMESPACES =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
/** The namespace of relationships between parts, and the prefix of their types. */
export const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Escapes text for elements and attributes. Characters that XML 1.0 forbids are removed. */
export function xmlText(text: string): string {
  const allowed = text
    .toWellFormed()
    .replace(/[\p{Cc}\ufffe\uffff]/gu, (letter) => (letter === '\n' || letter === '\t' ? letter : ''));
  return escapeMarkup(allowed);
}

/** A part with its XML declaration. */
export function xmlPart(content: string): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${content}`;
}
