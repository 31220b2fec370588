/** Elements and text of a drawing. */

/** An element. */
export function node(tag, attributes, children = []) {
  return { tag, attributes, children: children.map((child) => (typeof child === 'string' ? clean(child) : child)) };
}

/** Marks that turn the text around them, and what XML cannot hold. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/gu;

function clean(text) {
  return text.replace(/\s+/g, ' ').replace(UNSEEN, '').toWellFormed();
}

/** A place in the drawing, as precise as can be seen. */
export function round(value) {
  return Math.round(value * 10) / 10;
}

const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;
const OTHER_END = { start: 'end', middle: 'middle', end: 'start' };

/** One line of text. `anchor`: which of its ends stands at `x`, seen from the left. */
export function label(text, { x, y, size, anchor = 'start', weight, soft, most }) {
  const isReversed = RIGHT_TO_LEFT.test(LETTER.exec(text)?.[0] ?? '');
  const isTooWide = most !== undefined && widthOf(text, size) > most;
  return node(
    'text',
    {
      ...{ x: round(x), y: round(y), 'font-size': String(size) },
      'text-anchor': isReversed ? OTHER_END[anchor] : anchor,
      ...(isReversed && { direction: 'rtl' }),
      ...(weight && { 'font-weight': String(weight) }),
      ...(soft && { 'fill-opacity': '0.75' }),
      ...(isTooWide && { textLength: most, lengthAdjust: 'spacingAndGlyphs' }),
    },
    [text],
  );
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

/** About how wide a text is. */
export function widthOf(text, size) {
  let width = 0;
  for (const letter of text) width += WIDE.test(letter) ? 1 : 0.56;
  return width * size;
}

/** A text of so many letters at most. */
export function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  return `${letters
    .slice(0, most - 1)
    .join('')
    .trimEnd()}…`;
}

/** A text in lines that fit; the last one is cut where there are too many. */
export function wrapped(text, { width, size, lines }) {
  const found = [''];
  for (const word of text.split(/\s+/)) {
    const line = found[found.length - 1];
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(longer, size) <= width) found[found.length - 1] = longer;
    else found.push(word);
  }
  const shown = found.length <= lines ? found : [...found.slice(0, lines - 1), found.slice(lines - 1).join(' ')];
  return shown.map((line) => shortened(line, Math.floor(width / widthOf(WIDE.test(line) ? '中' : 'n', size))));
}
