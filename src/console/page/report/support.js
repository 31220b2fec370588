import { numberOf } from '../run/fold.js';

/** What a citation's `support` means, in a word and as a sentence. */
const SUPPORT = {
  quoted: { word: 'quoted', about: 'The source says this.' },
  partial: { word: 'partial', about: 'The source says a part of this.' },
  none: { word: 'not found', about: 'What was read of this source does not say this.' },
  unchecked: { word: 'not read', about: 'The run saw this source only in search results.' },
};
const UNVERIFIED = { word: 'unverified', about: 'The run did not read this address.' };

/**
 * How well a source supports the sentence that cites it: `{kind, word, about, doubt}`; undefined if that is unknown, as in
 * older logs.
 */
export function supportOf(annotation, source) {
  if (annotation.verified === false) return { kind: 'unverified', ...UNVERIFIED, doubt: true };
  const { support: kind } = annotation;
  if (kind === 'unchecked' && source?.state === 'read') return undefined;
  return SUPPORT[kind] && { kind, ...SUPPORT[kind], doubt: kind !== 'quoted' };
}

/** The name of a citation for screen readers. */
export function nameOfCitation(annotation, source) {
  const support = supportOf(annotation, source);
  const doubt = support?.doubt ? ` (${support.word})` : '';
  return `Source ${numberOf(annotation)}: ${annotation.title || annotation.url}${doubt}`;
}
