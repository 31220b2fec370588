/** A word that is longer is cut: Chinese has no blanks. In characters. */
const LONGEST = 40;

/** The first place from `at` on where a word begins. */
export function wordStart(text, at) {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  const blank = text.slice(at - 1, at + LONGEST).search(/\s/);
  return blank === -1 ? wholeLetter(text, at) : at + blank;
}

/** The last place up to `at` where a word ends. */
export function wordEnd(text, at) {
  if (at >= text.length) return text.length;
  const from = Math.max(0, at - LONGEST);
  const blank = text.slice(from, at + 1).search(/\s\S*$/);
  return blank === -1 ? wholeLetter(text, at) : from + blank;
}

/** Not between the two halves of a letter. */
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
/** Letters that tell the direction of a table or a list. */
const LOOKED_AT = 300;

/**
 * `rtl` or `ltr`, as most of a text's letters are written. A browser's own `auto` goes by the first letter alone, and does
 * not look into cells and entries that have a direction themselves.
 */
export function directionOf(text) {
  let right = 0;
  let seen = 0;
  for (const [letter] of text.replace(ADDRESSES, ' ').matchAll(LETTERS)) {
    if (RIGHT_TO_LEFT.test(letter)) right += 1;
    seen += 1;
    if (seen === LOOKED_AT) break;
  }
  return right * 2 > seen ? 'rtl' : 'ltr';
}
