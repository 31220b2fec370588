import { numberOf } from '../run/fold.js';

/** What a citation's `support` means, in a word and as a sentence. */
const SUPPORT = {
  quoted: { word: 'quoted', about: 'The source says this.' },
  partial: { word: 'partial', about: 'The source says a part of this.' },
  none: { word: 'not found', about: 'What was read of this source does not say this.' },
  unchecked: { word: 'not read', about: 'The run saw this source in a search result only.' },
};
const UNVERIFIED = { word: 'unsupported', about: 'The run never read this address.' };

/**
 * How far a source carries what it is cited for: `{kind, word, about, doubt}`; undefined where nothing is known, as in
 * logs of before it was looked at.
 */
export function supportOf(annotation, source) {
  if (annotation.verified === false) return { kind: 'unverified', ...UNVERIFIED, doubt: true };
  const { support: kind } = annotation;
  if (kind === 'unchecked' && source?.state === 'read') return undefined;
  return SUPPORT[kind] && { kind, ...SUPPORT[kind], doubt: kind !== 'quoted' };
}

/** How a citation is called by those who hear it. */
export function nameOfCitation(annotation, source) {
  const support = supportOf(annotation, source);
  const doubt = support?.doubt ? ` (${support.word})` : '';
  return `Source ${numberOf(annotation)}: ${annotation.title || annotation.url}${doubt}`;
}
