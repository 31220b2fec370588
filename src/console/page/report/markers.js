import { numberOf } from '../run/fold.js';

/** Enclose the placeholder of a marker while Markdown is parsed. The same characters in the text are replaced first. */
const OPEN = '\u{e000}';
const CLOSE = '\u{e001}';
export const PLACEHOLDER = /\u{e000}(\d+)\u{e001}/u;

/**
 * The text with its citation markers replaced by placeholders that Markdown leaves alone, and what each stands for:
 * `{original, annotations}`. Markers that name several sources have one annotation for each, with the same range.
 * @param known markers of the text before: those that stayed the same are the same objects.
 */
export function withPlaceholders(text, annotations, known = []) {
  const markers = [];
  for (const annotation of annotations) {
    const { start_index: start, end_index: end } = annotation;
    const original = text.slice(start, end);
    if (numberOf(annotation) === null || !/^[[【]/.test(original)) continue;
    const last = markers.at(-1);
    if (last?.start === start) last.annotations.push(annotation);
    else if (!last || start >= last.end) markers.push({ start, end, original, annotations: [annotation] });
  }
  for (const [index, marker] of markers.entries()) if (isSame(marker, known[index])) markers[index] = known[index];
  const clean = text.replace(/[\u{e000}\u{e001}]/gu, '\u{fffd}');
  let written = '';
  let at = 0;
  for (const [index, { start, end }] of markers.entries()) {
    written += `${clean.slice(at, start)}${OPEN}${index}${CLOSE}`;
    at = end;
  }
  return { text: written + clean.slice(at), markers };
}

function isSame(marker, known) {
  if (known?.start !== marker.start || known.end !== marker.end || known.original !== marker.original) return false;
  const { annotations } = marker;
  return (
    known.annotations.length === annotations.length && known.annotations.every((one, at) => one === annotations[at])
  );
}

/** Which markers a piece of text holds. */
export function markersIn(raw) {
  return Array.from(raw.matchAll(new RegExp(PLACEHOLDER, 'gu')), ([, index]) => Number(index));
}

/** The text with its markers as they were written. */
export function restored(text, markers) {
  return text.replace(new RegExp(PLACEHOLDER, 'gu'), (_, index) => markers[Number(index)]?.original ?? '');
}
