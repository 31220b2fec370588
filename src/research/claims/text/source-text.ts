import { drainSteps } from '../../../base/load/event-loop.ts';
import { characterStart, naturalEnd } from '../../../base/text.ts';
import { NO_STOP } from '../../text/abbreviations.ts';
import { foldText } from './fold.ts';
import { parseSentence, type Sentence } from './parse-sentence.ts';
import { containsWord } from './words.ts';

/** The text of a source as the run has seen it, split into sentences to compare claims with. */
export class SourceText {
  readonly title: string;
  readonly text: string;
  #folded = '';
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #parsed = new Map<number, Sentence>();
  #parsedTitle: Sentence | undefined;
  /** The folded text without its dots: `U.S.` is `us`. */
  #undotted: string | undefined;

  private constructor(title: string, text: string) {
    this.title = title.slice(0, LONGEST_TITLE);
    this.text = text.length > MAX_TEXT ? text.slice(0, characterStart(text, MAX_TEXT)) : text;
  }

  /** Splits a text at once; use `openInSteps` for long ones. */
  static open(source: { title: string; text: string }): SourceText {
    return drainSteps(SourceText.openInSteps(source));
  }

  static *openInSteps({ title, text }: { title: string; text: string }): Generator<undefined, SourceText> {
    const source = new SourceText(title, text);
    for (let at = 0; at < source.text.length; ) {
      at = source.#read(at);
      yield;
    }
    return source;
  }

  get folded(): string {
    return this.#folded;
  }

  /** Whether the folded text contains these letters. */
  says(letters: string): boolean {
    return this.folded.includes(letters);
  }

  /** Whether the folded text contains these letters as a separate word, with or without dots between them. */
  saysAlone(letters: string): boolean {
    this.#undotted ??= this.folded.replaceAll('.', '');
    return containsWord(letters, this.#undotted);
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

  get parsedTitle(): Sentence {
    this.#parsedTitle ??= parseSentence(this.title);
    return this.#parsedTitle;
  }

  /** A sentence, cached because claims share passages. */
  sentence(index: number): Sentence {
    if (this.#parsed.size >= MAX_PARSED && !this.#parsed.has(index)) this.#parsed.clear();
    return this.#parsed.getOrInsertComputed(index, () => this.parse(index));
  }

  /** A sentence, not cached. */
  parse(index: number): Sentence {
    return parseSentence(this.text.slice(this.start(index), this.end(index)), this.foldedSentence(index));
  }

  foldedSentence(index: number): string {
    return this.folded.slice(this.start(index), this.end(index));
  }

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

  /** Reads one step of the text, and returns where it ends. */
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
    while (to - start > MAX_SENTENCE) {
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

/** Longer titles are cut, in UTF-16 code units. */
const LONGEST_TITLE = 500;
/** How many parsed sentences are cached: one takes several kilobytes. */
const MAX_PARSED = 150;
/** How much of a source is used, and how much is read in one step, in UTF-16 code units. */
const MAX_TEXT = 400_000;
const STEP = 10_000;
/** Longer sentences are tables or lists: they are cut. */
const MAX_SENTENCE = 300;
/** Where a sentence ends. A line that starts with a lower-case letter continues a wrapped sentence. */
const SENTENCE_END = new RegExp(
  `(?<=[.!?…][)"'”’»]?)${NO_STOP}\\s+(?=[\\p{Lu}\\p{Lo}\\p{N}"'“„«([#*-])|(?<=[。！？।॥؟۔።։])\\s*|\\n\\s*\\n\\s*|\\n\\s*(?=[\\p{Lu}\\p{Lo}|#*•–-]|\\d+[.)]\\s)`,
  'gu',
);

function cutAt(text: string, start: number): number {
  const part = text.slice(start, start + MAX_SENTENCE);
  const place = Math.max(
    part.lastIndexOf(', '),
    part.lastIndexOf('; '),
    part.lastIndexOf(' | '),
    part.lastIndexOf('，'),
  );
  if (place > MAX_SENTENCE / 3) return start + place + 1;
  const space = part.lastIndexOf(' ');
  return space > MAX_SENTENCE / 3 ? start + space + 1 : characterStart(text, start + MAX_SENTENCE);
}
