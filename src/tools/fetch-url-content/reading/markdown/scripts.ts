const RAISED = new Map(zip('0123456789+-−=()n', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ'));
const LOWERED = new Map(zip('0123456789+-−=()', '₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎'));

function zip(letters: string, others: string): [string, string][] {
  const signs = [...others];
  return [...letters].map((letter, at) => [letter, signs[at] ?? letter]);
}

/** A short text as the signs of its script, or behind its mark; as it is where it is more than that. */
function scripted(text: string, signs: ReadonlyMap<string, string>, mark: string): string {
  const isWordEnd = /^(?:st|nd|rd|th|er|re|e|ème|me|os?|as?|ª|º|TM|SM|[™®©*†‡])$/iu.test(text);
  if (text === '' || text.length > 12 || isWordEnd) return text;
  if ([...text].every((letter) => signs.has(letter))) return [...text].map((letter) => signs.get(letter)).join('');
  if (/^[\p{L}\p{N}]$/u.test(text)) return `${mark}${text}`;
  return /^[\p{L}\p{N}+\-−=,()]+$/u.test(text) ? `${mark}(${text.replace(/^\((.*)\)$/, '$1')})` : text;
}

/** A short text that is raised: `mc²`. */
export function superscript(text: string): string {
  return scripted(text, RAISED, '^');
}

/** A short text that is lowered: `H₂O`. */
export function subscript(text: string): string {
  return scripted(text, LOWERED, '_');
}
