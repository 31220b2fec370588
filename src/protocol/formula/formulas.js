/** How formulas are written in Markdown, for its reader: each becomes a token `formula` with its source. */

/** What no formula is without: `\[1]` and `\(see there\)` are words that escape their brackets. */
const MATHEMATICS = /[\\^_=+<>]|^\s*-?\p{L}\w?\s*$/u;
/** A sum of money, and what stands up to the next one. */
const MONEY = /^\d[\d.,]*(?:\s|$)/;
/** Citations stand in for themselves by these letters while Markdown is read. */
const PLACEHOLDER = /[\u{e000}\u{e001}]/u;

/** None goes beyond the next beginning: a text that is full of them is read once. */
const BLOCKS = [/^ {0,3}\$\$([^$]{1,4000})\$\$ *(?:\n+|$)/, /^ {0,3}\\\[((?:[^\\]|\\[^\][]){1,4000})\\\] *(?:\n+|$)/];
const INLINE = [
  { rule: /^\$\$([^$\n]{1,2000})\$\$/, display: true },
  { rule: /^\$(?=\S)((?:\\.|[^\\$\n]){1,1000}?)(?<=\S)\$(?!\d)/, display: false },
  { rule: /^\\\[((?:[^\\\n]|\\[^\][\n]){1,2000})\\\]/, display: true },
  { rule: /^\\\(((?:[^\\\n]|\\[^)(\n]){1,1000})\\\)/, display: false },
];

function token(found, display) {
  const [raw, source] = found;
  if (PLACEHOLDER.test(raw) || /\n\s*\n/.test(source)) return undefined;
  if (!raw.trimStart().startsWith('$$') && !MATHEMATICS.test(source)) return undefined;
  if (!display && MONEY.test(source) && !/[\\^_=]/.test(source)) return undefined;
  return { type: 'formula', raw, source: source.trim(), display };
}

function block(text) {
  for (const rule of BLOCKS) {
    const found = rule.exec(text);
    const made = found && token(found, true);
    if (made) return made;
  }
  return undefined;
}

function inline(text) {
  for (const { rule, display } of INLINE) {
    const found = rule.exec(text);
    const made = found && token(found, display);
    if (made) return made;
  }
  return undefined;
}

/** Of the rest of a text so much is looked through for the next formula, each time that a piece of it was read. */
const SEEN = 2000;

/** Where the next block may begin: within this paragraph, of which the reader asks. */
function nextBlock(text) {
  const end = text.search(/\n[ \t]*\n/);
  const found = (end === -1 ? text : text.slice(0, end)).search(/\n {0,3}(?:\$\$|\\\[)/);
  return found === -1 ? undefined : found;
}

/** Where the next formula may begin; where none is near, where the reader asks again, between two words. */
function nextInline(text) {
  const seen = text.slice(0, SEEN);
  const found = seen.search(/\$|\\[([]/);
  if (found !== -1) return found;
  if (text.length <= SEEN) return undefined;
  const space = seen.lastIndexOf(' ');
  return space > 0 ? space : SEEN;
}

/** The reader's own form of extensions. */
export const FORMULAS = {
  block: [block],
  inline: [inline],
  startBlock: [nextBlock],
  startInline: [nextInline],
  childTokens: {},
  renderers: {},
};
