import type { Citation, Report } from '../../runs/projections/report.ts';

/** Enclose the placeholder of a marker while Markdown is parsed. They are removed from the text itself first. */
const OPEN = '\u{e000}';
const CLOSE = '\u{e001}';
const PRIVATE = /[\u{e000}\u{e001}]/gu;
const PLACEHOLDER = /\u{e000}(\d+)\u{e001}/gu;

/** The text with its markers replaced by placeholders that Markdown leaves alone. */
export function withPlaceholders({ text, markers }: Report): string {
  const clean = text.replace(PRIVATE, '\u{fffd}');
  let written = '';
  let at = 0;
  for (const [index, { start, end }] of markers.entries()) {
    written += `${clean.slice(at, start)}${OPEN}${index}${CLOSE}`;
    at = end;
  }
  return written + clean.slice(at);
}

/** Restores the original markers in a piece of that text, for code and addresses. */
export function withMarkers(piece: string, { text, markers }: Report): string {
  return piece.replace(PLACEHOLDER, (_, index) => {
    const marker = markers[Number(index)];
    return marker ? text.slice(marker.start, marker.end) : '';
  });
}

/** Splits a piece of that text into its text and the citations of its markers. */
export function markerParts(piece: string, { markers }: Report): (string | readonly Citation[])[] {
  return piece
    .split(PLACEHOLDER)
    .map((part, at) => (at % 2 === 0 ? part : (markers[Number(part)]?.citations ?? [])))
    .filter((part) => part.length > 0);
}

/** Whether an address is a web or mail address. Links to anything else are not made. */
export function isWebAddress(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href) && URL.canParse(href);
}
