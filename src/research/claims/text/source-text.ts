import { allSteps } from '../../../base/load/event-loop.ts';
import { betweenCharacters, naturalEnd } from '../../text/prose.ts';
import { NO_STOP } from './abbreviations.ts';
import { foldText } from './fold.ts';
import { type Parsed, parseSentence } from './parsed.ts';
import { standsAlone } from './words.ts';

/** The text of a source as the run was shown it, ready to be held against claims. */
export class SourceText {
  readonly title: string;
  readonly text: string;
  #folded = '';
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #parsed = new Map<number, Parsed>();
  #parsedTitle: Parsed | undefined;
  /** The folded text without its dots: `U.S.` is `us`. */
  #undotted: string | undefined;

  private constructor(title: string, text: string) {
    this.title = title.slice(0, LONGEST_TITLE);
    this.text = text.length > MOST ? text.slice(0, betweenCharacters(text, MOST)) : text;
  }

  /** Takes a text apart at once; for long ones there is `opening`. */
  static open(source: { title: string; text: string }): SourceText {
    return allSteps(SourceText.opening(source));
  }

  /** The same in steps. */
  static *opening({ title, text }: { title: string; text: string }): Generator<undefined, SourceText> {
    const source = new SourceText(title, text);
    for (let at = 0; at < source.text.length; ) {
      at = source.#read(at);
      yield;
    }
    return source;
  }

  /** The folded text. */
  get folded(): string {
    return this.#folded;
  }

  /** Whether folded letters stand anywhere in the text. */
  says(letters: string): boolean {
    return this.folded.includes(letters);
  }

  /** Whether folded letters stand in the text as a word of their own, with dots between them or without. */
  saysAlone(letters: string): boolean {
    this.#undotted ??= this.folded.replaceAll('.', '');
    return standsAlone(letters, this.#undotted);
  }

  get sentences(): number {
    return this.#starts.length;
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  end(index: number): number {
    return this.#ends[index] ?? 0;
  }

  get parsedTitle(): Parsed {
    this.#parsedTitle ??= parseSentence(this.title);
    return this.#parsedTitle;
  }

  sentence(index: number): Parsed {
    const known = this.#parsed.get(index);
    if (known) return known;
    const [start, end] = [this.start(index), this.end(index)];
    const parsed = parseSentence(this.text.slice(start, end), this.folded.slice(start, end));
    this.#parsed.set(index, parsed);
    return parsed;
  }

  /** The sentence at a place of the text. */
  indexAt(place: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Reads one step of the text; gives the place behind it. */
  #read(from: number): number {
    const end = naturalEnd(this.text, { from: from + STEP / 2, limit: from + STEP, marks: ['\n', ' '] });
    this.#folded += foldText(this.text.slice(from, end));
    let start = from;
    for (const { 0: gap, index } of this.text.slice(from, end).matchAll(SENTENCE_END)) {
      this.#add(start, from + index);
      start = from + index + gap.length;
    }
    this.#add(start, end);
    return end;
  }

  #add(from: number, to: number): void {
    let start = from;
    while (start < to && /\s/.test(this.text[start] ?? '')) start++;
    while (to - start > LONGEST) {
      const cut = cutAt(this.text, start);
      this.#push(start, cut);
      start = cut;
    }
    this.#push(start, to);
  }

  #push(start: number, end: number): void {
    if (this.text.slice(start, end).trim() === '') return;
    this.#starts.push(start);
    this.#ends.push(end);
  }
}

/** What is read of a title, in UTF-16 code units. */
const LONGEST_TITLE = 500;
/** The most of one source that is looked at, and of one step, in UTF-16 code units. */
const MOST = 400_000;
const STEP = 10_000;
/** Longer sentences are tables or lists: they are cut. */
const LONGEST = 300;
/** Where a sentence ends. A line that goes on with a small letter is one that was wrapped. */
const SENTENCE_END = new RegExp(
  `(?<=[.!?…][)"'”’»]?)${NO_STOP}\\s+(?=[\\p{Lu}\\p{Lo}\\p{N}"'“„«([#*-])|(?<=[。！？।॥؟۔።։])\\s*|\\n\\s*\\n\\s*|\\n\\s*(?=[\\p{Lu}\\p{Lo}|#*•–-]|\\d+[.)]\\s)`,
  'gu',
);

function cutAt(text: string, start: number): number {
  const part = text.slice(start, start + LONGEST);
  const place = Math.max(
    part.lastIndexOf(', '),
    part.lastIndexOf('; '),
    part.lastIndexOf(' | '),
    part.lastIndexOf('，'),
  );
  if (place > LONGEST / 3) return start + place + 1;
  const space = part.lastIndexOf(' ');
  return space > LONGEST / 3 ? start + space + 1 : betweenCharacters(text, start + LONGEST);
}
