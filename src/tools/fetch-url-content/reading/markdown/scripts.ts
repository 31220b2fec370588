const SUPERSCRIPTS = new Map(zip('0123456789+-−=()n', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ'));
const SUBSCRIPTS = new Map(zip('0123456789+-−=()', '₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎'));

function zip(letters: string, others: string): [string, string][] {
  const characters = [...others];
  return [...letters].map((letter, at) => [letter, characters[at] ?? letter]);
}

/** Writes a short text in Unicode script characters, else after a mark such as `^`; a word ending or a longer text stays. */
function writeScript(text: string, glyphs: ReadonlyMap<string, string>, mark: string): string {
  const isWordEnd = /^(?:st|nd|rd|th|er|re|e|ème|me|os?|as?|ª|º|TM|SM|[™®©*†‡])$/iu.test(text);
  if (text === '' || text.length > 12 || isWordEnd) return text;
  if ([...text].every((letter) => glyphs.has(letter))) return [...text].map((letter) => glyphs.get(letter)).join('');
  if (/^[\p{L}\p{N}]$/u.test(text)) return `${mark}${text}`;
  return /^[\p{L}\p{N}+\-−=,()]+$/u.test(text) ? `${mark}(${text.replace(/^\((.*)\)$/, '$1')})` : text;
}

/** Writes a superscript: `mc²`. */
export function superscript(text: string): string {
  return writeScript(text, SUPERSCRIPTS, '^');
}

/** Writes a subscript: `H₂O`. */
export function subscript(text: string): string {
  return writeScript(text, SUBSCRIPTS, '_');
}
