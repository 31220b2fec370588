import { unfinishedLength } from '../../base/text.ts';

/** Receives the pieces of a text between markers, and the markers. */
interface MarkerSink {
  /** The markers to look for at this point, in lower case: one list for all calls with the same markers. */
  markers(): readonly string[];
  text(text: string): void;
  /** `written`: the marker as spelled in the text. */
  marker(marker: string, written: string): void;
}

/** The pattern of each list of markers. */
const patterns = new WeakMap<readonly string[], RegExp>();

/** Splits a text at markers, even where a chunk boundary cuts one. */
export class MarkerSplitter {
  readonly #sink: MarkerSink;
  /** Characters that may be the start of a marker. */
  #buffered = '';

  constructor(sink: MarkerSink) {
    this.#sink = sink;
  }

  get isBuffering(): boolean {
    return this.#buffered !== '';
  }

  push(chunk: string): void {
    const { markers, text, marker } = this.#sink;
    const whole = this.#buffered + chunk;
    for (let from = 0; ; ) {
      const wanted = markers();
      const pattern = patterns.getOrInsertComputed(wanted, patternOf);
      pattern.lastIndex = from;
      const found = pattern.exec(whole);
      if (!found) {
        const end = whole.length - partialMarkerLength(whole.slice(from), wanted);
        this.#buffered = whole.slice(end);
        text(whole.slice(from, end));
        return;
      }
      text(whole.slice(from, found.index));
      from = pattern.lastIndex;
      marker(lowerAscii(found[0]), found[0]);
    }
  }

  /** The text ends: what is buffered is no marker. */
  end(): void {
    const buffered = this.#buffered;
    this.#buffered = '';
    this.#sink.text(buffered);
  }
}

/** Keeps the white space at the start of a text, and drops that around what was removed, but for what parts two words. */
export class EdgeSpace {
  #edge: 'start' | 'cut' | undefined = 'start';
  #space = '';
  /** The text so far ends with a word. */
  #endsInWord = false;

  /** Whether nothing but white space came since something was removed. */
  get isAtCut(): boolean {
    return this.#edge === 'cut';
  }

  /** Something was removed here. */
  cut(): void {
    this.#edge = 'cut';
    this.#space = '';
  }

  /** The part of the text that is known to belong to it, with its leading space where that is kept. */
  trim(text: string): string {
    const trimmed = this.#edge === undefined ? text : this.#atEdge(text, this.#edge);
    if (trimmed !== '') this.#endsInWord = /\S$/.test(trimmed);
    return trimmed;
  }

  #atEdge(text: string, edge: 'start' | 'cut'): string {
    const rest = text.trimStart();
    this.#space += text.slice(0, text.length - rest.length);
    if (rest === '') return '';
    const trimmed = edge === 'start' || this.#endsInWord ? this.#space + rest : rest;
    this.#edge = undefined;
    this.#space = '';
    return trimmed;
  }

  /** The space of a text that consists of nothing else. */
  end(): string {
    return this.#edge === 'start' ? this.#space : '';
  }
}

/** The length of the longest end of `text` that could be the start of a marker, which the next chunk decides. */
function partialMarkerLength(text: string, markers: readonly string[]): number {
  const longest = markers.reduce((max, marker) => Math.max(max, marker.length), 0) - 1;
  return unfinishedLength(lowerAscii(text.slice(-longest)), markers);
}

/** Matches the first of these markers, the longest of several in one place; nothing where the list is empty. */
function patternOf(markers: readonly string[]): RegExp {
  const longestFirst = markers.toSorted((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map((marker) => RegExp.escape(marker)).join('|') || '(?!)', 'gi');
}

/** Lower case for ASCII only: `toLowerCase` changes the length of some other letters. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}
