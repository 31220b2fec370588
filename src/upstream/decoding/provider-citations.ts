import { pageAddress } from '../../base/hosts.ts';
import { isObject } from '../../base/json.ts';

/** A citation that the provider made, of a page that it found itself. */
export interface ProviderCitation {
  /** The range that rests on the page, in UTF-16 code units of the turn's text. */
  start: number;
  end: number;
  url: string;
  /** Empty if the provider names none. */
  title: string;
}

/** How many citations of one answer are read. */
const MAX_CITATIONS = 1000;
/** How much of a text is searched for markers, in UTF-16 code units: more would hold the event loop. */
const MAX_SEARCHED = 200_000;
/** The longest title, in characters. */
const MAX_LENGTH = 4096;
/** The length of a text that is not complete yet. */
const WHOLE = Number.MAX_SAFE_INTEGER;
const MARKER = /\[(\d{1,3})\]/g;
const CODE = /```[^`]*```|`[^`\n]*`/g;

/** Collects the citations of a turn while it is decoded. */
export class ProviderCitations {
  /** By place and address: many providers repeat the list with every delta. */
  readonly #found = new Map<string, ProviderCitation>();
  /** What the markers `[1]`, `[2]` of the text stand for (Perplexity). */
  #numbered: readonly unknown[] = [];
  #results: readonly unknown[] = [];

  /**
   * Adds the annotations of a text (chat completions, Responses) or the citations of a block (Messages). `at` and `length`:
   * that text in the turn's; default: all of it. A citation without a range is one of the whole text.
   */
  add(annotations: unknown, { at, length }: { at: number; length: number } = { at: 0, length: WHOLE }): void {
    for (const annotation of Array.isArray(annotations) ? annotations : []) {
      const fields = isObject(annotation) && isObject(annotation.url_citation) ? annotation.url_citation : annotation;
      if (!isObject(fields)) continue;
      const [from, to] = [fields.start_index ?? 0, fields.end_index ?? length];
      if (!Number.isInteger(from) || !Number.isInteger(to)) continue;
      this.#push(fields.url, fields.title, { start: at + Number(from), end: at + Number(to) });
    }
  }

  /** Reads the lists of pages beside the choices of a chat completion, which each of its chunks repeats. */
  readLists({ citations, search_results: results }: Record<string, unknown>): void {
    if (Array.isArray(citations)) this.#numbered = citations;
    if (Array.isArray(results)) this.#results = results;
  }

  /** The citations of the complete text, in its order. */
  of(text: string): ProviderCitation[] {
    if (this.#found.size === 0 && this.#numbered.length > 0) this.#readMarkers(text);
    const all = [...this.#found.values()];
    const bounded = all.map((each) => (each.end === WHOLE ? { ...each, end: text.length } : each));
    const within = bounded.filter(({ start, end }) => start >= 0 && start < end && end <= text.length);
    return within.sort((a, b) => a.end - b.end || a.start - b.start);
  }

  #readMarkers(text: string): void {
    const prose = text.slice(0, MAX_SEARCHED).replace(CODE, (code) => ' '.repeat(code.length));
    for (const { 0: marker, 1: number, index: start } of prose.matchAll(MARKER)) {
      const place = Number(number) - 1;
      const result = this.#results[place];
      this.#push(this.#numbered[place], isObject(result) ? result.title : '', { start, end: start + marker.length });
    }
  }

  #push(named: unknown, title: unknown, range: { start: number; end: number }): void {
    const url = typeof named === 'string' ? pageAddress(named) : undefined;
    if (url === undefined) return;
    const key = `${range.start} ${range.end} ${url}`;
    if (this.#found.size >= MAX_CITATIONS || this.#found.has(key)) return;
    this.#found.set(key, { ...range, url, title: typeof title === 'string' ? title.slice(0, MAX_LENGTH) : '' });
  }
}
