/** Longer words are cut, because Chinese has no blanks. In characters. */
const MAX_WORD = 40;

/** The first position from `at` on where a word begins. */
export function wordStart(text, at) {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const blank = text.slice(at - 1, at + MAX_WORD).search(/\s/);
  return blank === -1 ? wholeLetter(text, at) : at + blank;
}

/** The last position up to `at` where a word ends. */
export function wordEnd(text, at) {
  if (at >= text.length) return text.length;
  const from = Math.max(0, at - MAX_WORD);
  const blank = text.slice(from, at + 1).search(/\s\S*$/);
  return blank === -1 ? wholeLetter(text, at) : from + blank;
}

/** Moves a position that is between the two halves of a surrogate pair. */
function wholeLetter(text, at) {
  return /[\udc00-\udfff]/.test(text[at]) ? at + 1 : at;
}

/** A text without the marks of Markdown, for places of one line. */
export function unmarked(text) {
  return text
    .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+/gm, '')
    .replace(/!?\[([^\][]{0,200})\]\([^()\s]{0,400}\)/g, '$1')
    .replace(/(\*\*|__|~~|`)/g, '')
    .replace(/(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])/g, '');
}

const LETTERS = /\p{L}/gu;
/** Addresses are Latin in every language. */
const ADDRESSES = /\]\([^()\s]*\)|\bhttps?:\/\/\S+/g;
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** How many letters decide the direction of a table or a list. */
const MAX_LETTERS = 300;

/**
 * `rtl` or `ltr`, as most letters of a text. A browser's own `auto` uses only the first letter, and ignores cells and entries
 * with a direction of their own.
 */
export function directionOf(text) {
  let right = 0;
  let seen = 0;
  for (const [letter] of text.replace(ADDRESSES, ' ').matchAll(LETTERS)) {
    if (RIGHT_TO_LEFT.test(letter)) right += 1;
    seen += 1;
    if (seen === MAX_LETTERS) break;
  }
  return right * 2 > seen ? 'rtl' : 'ltr';
}
