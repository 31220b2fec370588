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

/** The first marker in `text` from `from` on, or undefined. Markers are compared in lower case. */
export function findMarker(
  text: string,
  markers: readonly string[],
  from = 0,
): { at: number; marker: string } | undefined {
  const lower = lowerAscii(text);
  let found: { at: number; marker: string } | undefined;
  for (const marker of markers) {
    const at = lower.indexOf(marker, from);
    if (
      at !== -1 &&
      (found === undefined || at < found.at || (at === found.at && marker.length > found.marker.length))
    ) {
      found = { at, marker };
    }
  }
  return found;
}

/** Lower case without changing the length, as `toLowerCase` does for some letters. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}
