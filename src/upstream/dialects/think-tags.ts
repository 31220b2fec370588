import { EdgeSpace, MarkerSplitter } from './marker-scan.ts';

/** Tags between which models write their reasoning into the text, in lower case. */
const TAGS: Readonly<Record<string, string>> = {
  '<think>': '</think>',
  '<thinking>': '</thinking>',
  '<thought>': '</thought>',
  '<reasoning>': '</reasoning>',
  '<seed:think>': '</seed:think>',
  '[think]': '[/think]',
  '◁think▷': '◁/think▷',
};
const OPENINGS = Object.keys(TAGS);
/** A closing tag without its opening one: the chat template wrote the opening into the prompt (DeepSeek-R1, QwQ). */
const BARE_CLOSINGS = ['</think>', '[/think]', '◁/think▷', '</seed:think>'];
const IN_TEXT = [...OPENINGS, ...BARE_CLOSINGS];

export type Section = 'reasoning' | 'text';
type Emit = (section: Section, text: string) => void;

/**
 * Tells reasoning written between tags from text, wherever the chunks cut the tags. Tags in code (after a backtick or
 * inside a fence) are text. White space around the tags is dropped.
 */
export class ThinkTags {
  readonly #emit: Emit;
  readonly #onBareClosing: () => void;
  readonly #splitter = new MarkerSplitter({
    markers: () => this.#markers(),
    text: (text) => this.#give(text),
    marker: (marker, written) => this.#cross(marker, written),
  });
  readonly #edge = new EdgeSpace();
  /** The closing tag waited for, while inside. */
  #closing: string | undefined;
  #fenced = false;
  #afterTick = false;
  /** Backticks at the end that a fence may begin with. */
  #ticks = '';
  /** What came since the start, where reasoning is expected without an opening tag: it may have been text after all. */
  #expected: string | undefined;

  /**
   * `startsInside`: the model is known to begin with reasoning without an opening tag. `onBareClosing`: a closing tag
   * came without an opening one, so that what was given as text before it was reasoning.
   */
  constructor(emit: Emit, options: { startsInside?: boolean; onBareClosing?: () => void } = {}) {
    this.#emit = emit;
    this.#onBareClosing = options.onBareClosing ?? (() => {});
    if (!options.startsInside) return;
    this.#closing = '</think>';
    this.#edge.cut();
    this.#expected = '';
  }

  /** Whether reasoning was expected without an opening tag and did not come: the text was given as reasoning. */
  get missedClosing(): boolean {
    return this.#expected !== undefined;
  }

  push(text: string): void {
    if (this.#closing === undefined && !this.#splitter.holds && !/[<[◁]/.test(text)) this.#give(text);
    else this.#splitter.push(text);
  }

  /**
   * Gives what was held back. Text that was taken for reasoning is given once more, as text, unless the answer was
   * `cut` or went on otherwise.
   */
  end(options: { cut: boolean }): void {
    this.#splitter.end();
    const space = this.#edge.end();
    if (space !== '') this.#emit('text', space);
    if (this.#expected && !options.cut) this.#emit('text', this.#expected);
  }

  #markers(): readonly string[] {
    if (this.#closing === undefined) return IN_TEXT;
    return this.#expected === '' ? [this.#closing, ...OPENINGS] : [this.#closing];
  }

  #cross(marker: string, written: string): void {
    if (this.#closing === undefined && (this.#fenced || this.#afterTick)) {
      this.#give(written);
      return;
    }
    if (this.#closing !== undefined) {
      // An opening tag where none was expected is one all the same.
      this.#closing = marker === this.#closing ? undefined : TAGS[marker];
      this.#expected = undefined;
    } else if (TAGS[marker] !== undefined) this.#closing = TAGS[marker];
    else this.#onBareClosing();
    this.#edge.cut();
  }

  #give(text: string): void {
    const given = this.#edge.give(text);
    if (given === '') return;
    if (this.#closing === undefined) this.#watchFences(given);
    else if (this.#expected !== undefined) this.#expected += given;
    this.#emit(this.#closing === undefined ? 'text' : 'reasoning', given);
  }

  #watchFences(text: string): void {
    const joined = this.#ticks + text;
    for (let at = joined.indexOf('```'); at !== -1; at = joined.indexOf('```', at + 3)) this.#fenced = !this.#fenced;
    const trailing = /`*$/.exec(joined.slice(-64))?.[0].length ?? 0;
    this.#ticks = '`'.repeat(trailing % 3);
    this.#afterTick = trailing > 0;
  }
}
