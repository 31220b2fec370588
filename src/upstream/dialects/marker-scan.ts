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
  /** What was looked for so far, by its markers. */
  readonly #patterns = new Map<string, RegExp>();
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
    for (let from = 0; ; ) {
      const wanted = markers();
      const pattern = this.#patterns.getOrInsertComputed(wanted.join('|'), () => patternOf(wanted));
      pattern.lastIndex = from;
      const found = pattern.exec(whole);
      if (!found) {
        const end = whole.length - heldLength(whole.slice(from), wanted);
        this.#held = whole.slice(end);
        text(whole.slice(from, end));
        return;
      }
      text(whole.slice(from, found.index));
      from = pattern.lastIndex;
      marker(lowerAscii(found[0]), found[0]);
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

/** Finds the first of these markers, none where there are none; of several in one place the longest. */
function patternOf(markers: readonly string[]): RegExp {
  const longestFirst = markers.toSorted((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map((marker) => RegExp.escape(marker)).join('|') || '(?!)', 'gi');
}

/** Lower case without changing the length, as `toLowerCase` does for some letters. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}
