/** Elements and text of a drawing. */

/** Creates an element. */
export function node(tag, attributes, children = []) {
  return { tag, attributes, children: children.map((child) => (typeof child === 'string' ? clean(child) : child)) };
}

/** Control characters, marks that change the direction of text, and characters that XML forbids. */
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/gu;

function clean(text) {
  return text.replace(/\s+/g, ' ').replace(INVISIBLE, '').toWellFormed();
}

/** Rounds a coordinate to a precision beyond which no difference is visible. */
export function round(value) {
  return Math.round(value * 10) / 10;
}

const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;
const MIRRORED_ANCHOR = { start: 'end', middle: 'middle', end: 'start' };

/** Creates one line of text. `anchor`: which of its ends is at `x`, counted from the left. */
export function textNode(text, { x, y, size, anchor = 'start', weight, soft, maxWidth }) {
  const isReversed = RIGHT_TO_LEFT.test(LETTER.exec(text)?.[0] ?? '');
  const isTooWide = maxWidth !== undefined && widthOf(text, size) > maxWidth;
  return node(
    'text',
    {
      ...{ x: round(x), y: round(y), 'font-size': String(size) },
      'text-anchor': isReversed ? MIRRORED_ANCHOR[anchor] : anchor,
      ...(isReversed && { direction: 'rtl' }),
      ...(weight && { 'font-weight': String(weight) }),
      ...(soft && { 'fill-opacity': '0.75' }),
      ...(isTooWide && { textLength: maxWidth, lengthAdjust: 'spacingAndGlyphs' }),
    },
    [text],
  );
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

/** The approximate width of a text. */
export function widthOf(text, size) {
  let width = 0;
  for (const letter of text) width += WIDE.test(letter) ? 1 : 0.56;
  return width * size;
}

/** Shortens a text to at most `max` characters. */
export function shortened(text, max) {
  const letters = [...text];
  if (letters.length <= max) return text;
  return `${letters
    .slice(0, max - 1)
    .join('')
    .trimEnd()}…`;
}

/** Wraps a text to at most `lines` lines; the last one is cut if the text is too long. */
export function wrapped(text, { width, size, lines }) {
  const wrappedLines = [''];
  for (const word of text.split(/\s+/)) {
    const line = wrappedLines[wrappedLines.length - 1];
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(longer, size) <= width) wrappedLines[wrappedLines.length - 1] = longer;
    else wrappedLines.push(word);
  }
  const rest = wrappedLines.splice(Math.min(lines, wrappedLines.length) - 1).join(' ');
  return [...wrappedLines, rest].map((line) =>
    shortened(line, Math.floor(width / widthOf(WIDE.test(line) ? '中' : 'n', size))),
  );
}
