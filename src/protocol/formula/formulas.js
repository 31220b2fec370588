/** An extension of marked for formulas in Markdown: each becomes a token `formula` with its source. */

/** Options of temml for formulas of anybody: what it does not understand throws; macros and sizes (em, pt) are bounded. */
export const FORMULA_OPTIONS = { throwOnError: true, maxExpand: 100, maxSize: [20, 240] };

/** Characters that every formula has. `\[1]` and `\(see there\)` are text with escaped brackets. */
const MATHEMATICS = /[\\^_=+<>]|^\s*-?\p{L}\w?\s*$/u;
/** An amount of money after `$`, with the text up to the next `$`. */
const MONEY = /^\d[\d.,]*(?:\s|$)/;
/** The characters that replace citations while Markdown is parsed. */
const PLACEHOLDER = /[\u{e000}\u{e001}]/u;

/** No pattern extends past the start of another formula, so that a text full of starts is read in linear time. */
const BLOCKS = [/^ {0,3}\$\$([^$]{1,4000})\$\$ *(?:\n+|$)/, /^ {0,3}\\\[((?:[^\\]|\\[^\][]){1,4000})\\\] *(?:\n+|$)/];
const INLINE = [
  { rule: /^\$\$([^$\n]{1,2000})\$\$/, display: true },
  { rule: /^\$(?=\S)((?:\\.|[^\\$\n]){1,1000}?)(?<=\S)\$(?!\d)/, display: false },
  { rule: /^\\\[((?:[^\\\n]|\\[^\][\n]){1,2000})\\\]/, display: true },
  { rule: /^\\\(((?:[^\\\n]|\\[^)(\n]){1,1000})\\\)/, display: false },
];

function toToken(match, display) {
  const [raw, source] = match;
  if (PLACEHOLDER.test(raw) || /\n\s*\n/.test(source)) return undefined;
  if (!raw.trimStart().startsWith('$$') && !MATHEMATICS.test(source)) return undefined;
  if (!display && MONEY.test(source) && !/[\\^_=]/.test(source)) return undefined;
  return { type: 'formula', raw, source: source.trim(), display };
}

function block(text) {
  for (const rule of BLOCKS) {
    const match = rule.exec(text);
    const token = match && toToken(match, true);
    if (token) return token;
  }
  return undefined;
}

function inline(text) {
  for (const { rule, display } of INLINE) {
    const match = rule.exec(text);
    const token = match && toToken(match, display);
    if (token) return token;
  }
  return undefined;
}

/** How far ahead to search for the next formula, each time marked asks; in characters. */
const LOOKAHEAD = 2000;

/** Where the next block may begin, within the current paragraph. */
function nextBlock(text) {
  const end = text.search(/\n[ \t]*\n/);
  const found = (end === -1 ? text : text.slice(0, end)).search(/\n {0,3}(?:\$\$|\\\[)/);
  return found === -1 ? undefined : found;
}

/** Where the next inline formula may begin. If none is near, a space at which marked stops and asks again. */
function nextInline(text) {
  const ahead = text.slice(0, LOOKAHEAD);
  const found = ahead.search(/\$|\\[([]/);
  if (found !== -1) return found;
  if (text.length <= LOOKAHEAD) return undefined;
  const space = ahead.lastIndexOf(' ');
  return space > 0 ? space : LOOKAHEAD;
}

/** The extension in marked's format. */
export const FORMULAS = {
  block: [block],
  inline: [inline],
  startBlock: [nextBlock],
  startInline: [nextInline],
  childTokens: {},
  renderers: {},
};
