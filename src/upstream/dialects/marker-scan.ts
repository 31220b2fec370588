import { unfinishedEnd } from '../../base/text.ts';

/** What takes a text apart: the pieces between markers, and the markers. */
interface Parts {
  /** The markers that are looked for at this place, in lower case. */
  markers(): readonly string[];
  text(text: string): void;
  /** `written`: the marker as it stands in the text. */
  marker(marker: string, written: string): void;
}

/** Takes a text apart at markers, wherever the chunks that it comes in cut them. */
export class MarkerSplitter {
  readonly #parts: Parts;
  /** Characters that may be the start of a marker. */
  #held = '';

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get holds(): boolean {
    return this.#held !== '';
  }

  push(chunk: string): void {
    const { markers, text, marker } = this.#parts;
    const whole = this.#held + chunk;
    const scan = new MarkerScan(whole);
    for (let from = 0; ; ) {
      const wanted = markers();
      const found = scan.find(wanted, from);
      if (found === undefined) {
        const end = whole.length - heldLength(whole.slice(from), wanted);
        this.#held = whole.slice(end);
        text(whole.slice(from, end));
        return;
      }
      text(whole.slice(from, found.at));
      from = found.at + found.marker.length;
      marker(found.marker, whole.slice(found.at, from));
    }
  }

  /** The text ends: what was held back is no marker. */
  end(): void {
    const held = this.#held;
    this.#held = '';
    this.#parts.text(held);
  }
}

/** White space at the start of a text, which belongs to it, and beside what was taken out of it, which does not. */
export class EdgeSpace {
  #edge: 'start' | 'cut' | undefined = 'start';
  #space = '';

  /** Something was taken out here. */
  cut(): void {
    this.#edge = 'cut';
    this.#space = '';
  }

  /** What of a text is known to belong to it, with the space before it. */
  give(text: string): string {
    if (this.#edge === undefined) return text;
    const rest = text.trimStart();
    this.#space += text.slice(0, text.length - rest.length);
    if (rest === '') return '';
    const given = this.#edge === 'start' ? this.#space + rest : rest;
    this.#edge = undefined;
    this.#space = '';
    return given;
  }

  /** The space of a text that is nothing else. */
  end(): string {
    return this.#edge === 'start' ? this.#space : '';
  }
}

/**
 * The length of the longest end of `text` that could be the start of a marker, to be held back until the next chunk
 * decides.
 */
function heldLength(text: string, markers: readonly string[]): number {
  const longest = markers.reduce((max, marker) => Math.max(max, marker.length), 0) - 1;
  return unfinishedEnd(lowerAscii(text.slice(-longest)), markers);
}

/**
 * Looks for markers in one text, from front to back. Where a marker is next is remembered, so that going over the text
 * costs its length however many markers stand in it.
 */
class MarkerScan {
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
