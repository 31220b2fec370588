/** Normalises text for comparison. Every character keeps its index, so ranges are valid in both forms. */

/** Accented Latin letters, full-width forms, digits of other scripts, and variants of quotes and hyphens. */
const FOLDED = /[\u00c0-\u024f\u1e00-\u1eff\u0660-\u0669\u06f0-\u06f9\uff01-\uff5eё’‘′−‐‑]/g;

/** Lower case without accents, of the same length. */
export function foldText(text: string): string {
  const lower = text.toLowerCase();
  const even = lower.length === text.length ? lower : text.replace(/[\s\S]/g, lowerOfSameLength);
  return even.replace(FOLDED, foldOf);
}

function lowerOfSameLength(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === 1 ? lower : character;
}

function foldOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0).toLowerCase();
  if (code >= 0x0660 && code <= 0x0669) return String(code - 0x0660);
  if (code >= 0x06f0 && code <= 0x06f9) return String(code - 0x06f0);
  if ('’‘′'.includes(character)) return "'";
  if ('−‐‑'.includes(character)) return '-';
  return character.normalize('NFD')[0] ?? character;
}

/** Letters of scripts without spaces between words. */
export const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ]/;

/**
 * Letters of folded text in scripts with spaces, as a character class. In patterns of hundreds of words `\\p{L}` takes a
 * tenth of a second to compile.
 */
const LETTER = '[a-zß-ʯͰ-ӿ԰-ۿ]';

/** The source of a pattern for folded text, with the cheaper class in place of `\\p{L}`. */
export function foldedPattern(pattern: string): string {
  return pattern.replaceAll('\\p{L}', LETTER);
}
