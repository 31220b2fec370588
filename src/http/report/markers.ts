import type { Citation, Report } from '../../runs/projections/report.ts';

/** Stand for a marker in the text while Markdown is read; such letters of the text itself are replaced before. */
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

/** A piece of that text with its markers as they were written, for code and addresses. */
export function withMarkers(piece: string, { text, markers }: Report): string {
  return piece.replace(PLACEHOLDER, (_, index) => {
    const marker = markers[Number(index)];
    return marker ? text.slice(marker.start, marker.end) : '';
  });
}

/** A piece of that text in parts: what stands there, and what the markers cite. */
export function markerParts(piece: string, { markers }: Report): (string | readonly Citation[])[] {
  return piece
    .split(PLACEHOLDER)
    .map((part, at) => (at % 2 === 0 ? part : (markers[Number(part)]?.citations ?? [])))
    .filter((part) => part.length > 0);
}

/** Whether an address is one of the web or of mail, the only ones that links lead to. */
export function isWebAddress(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href) && URL.canParse(href);
}
