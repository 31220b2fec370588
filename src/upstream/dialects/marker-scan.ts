/**
 * The length of the longest end of `text` that could be the start of a marker, to be held back until the next chunk
 * decides. Markers are compared in lower case.
 */
export function heldLength(text: string, markers: readonly string[]): number {
  const longest = markers.reduce((max, marker) => Math.max(max, marker.length), 0) - 1;
  const tail = lowerAscii(text.slice(-longest));
  for (let length = tail.length; length > 0; length -= 1) {
    const end = tail.slice(tail.length - length);
    if (markers.some((marker) => marker.length > length && marker.startsWith(end))) return length;
  }
  return 0;
}

/**
 * Looks for markers in one text, from front to back. Where a marker is next is remembered, so that going over the text
 * costs its length however many markers stand in it. Markers are compared in lower case.
 */
export class MarkerScan {
  readonly #lower: string;
  readonly #next = new Map<string, number>();

  constructor(text: string) {
    this.#lower = lowerAscii(text);
  }

  /** The first of `markers` from `from` on, which never goes back; of several in one place the longest. */
  find(markers: readonly string[], from: number): { at: number; marker: string } | undefined {
    let found: { at: number; marker: string } | undefined;
    for (const marker of markers) {
      const at = this.#placeOf(marker, from);
      if (at === -1) continue;
      if (found === undefined || at < found.at || (at === found.at && marker.length > found.marker.length)) {
        found = { at, marker };
      }
    }
    return found;
  }

  #placeOf(marker: string, from: number): number {
    const known = this.#next.get(marker);
    if (known !== undefined && (known === -1 || known >= from)) return known;
    const at = this.#lower.indexOf(marker, from);
    this.#next.set(marker, at);
    return at;
  }
}

/** Lower case without changing the length, as `toLowerCase` does for some letters. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}
