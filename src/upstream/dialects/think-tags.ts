import { findMarker, heldLength } from './marker-scan.ts';

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
  /** The closing tag waited for, while inside. */
  #closing: string | undefined;
  /** Characters that may be the start of a tag. */
  #held = '';
  /** White space not yet known to stand beside a tag. */
  #space = '';
  #atEdge = true;
  #afterTag = false;
  #fenced = false;
  #afterTick = false;
  /** Backticks at the end that a fence may begin with. */
  #ticks = '';
  #bareClosing = false;

  /** `startsInside`: the model is known to begin with reasoning without an opening tag. */
  constructor(emit: Emit, options: { startsInside?: boolean } = {}) {
    this.#emit = emit;
    if (options.startsInside) this.#closing = '</think>';
  }

  /** Whether a closing tag came without an opening one: what was given as text before it was reasoning. */
  get sawBareClosing(): boolean {
    return this.#bareClosing;
  }

  push(text: string): void {
    if (this.#held === '' && this.#closing === undefined && !this.#atEdge && !/[<[◁]/.test(text)) {
      this.#give('text', text);
      return;
    }
    this.#scan(this.#held + text);
  }

  /** Gives what was held back. */
  end(): void {
    const held = this.#held;
    this.#held = '';
    if (held !== '') this.#give(this.#closing === undefined ? 'text' : 'reasoning', held);
    if (!this.#afterTag && this.#closing === undefined && this.#space !== '') this.#emit('text', this.#space);
    this.#space = '';
  }

  #scan(text: string): void {
    this.#held = '';
    let from = 0;
    for (;;) {
      const markers = this.#closing === undefined ? IN_TEXT : [this.#closing];
      const found = findMarker(text, markers, from);
      if (found === undefined) {
        const held = heldLength(text.slice(from), markers);
        this.#give(this.#closing === undefined ? 'text' : 'reasoning', text.slice(from, text.length - held));
        this.#held = text.slice(text.length - held);
        return;
      }
      this.#give(this.#closing === undefined ? 'text' : 'reasoning', text.slice(from, found.at));
      from = found.at + found.marker.length;
      if (this.#closing === undefined && this.#isCode()) this.#give('text', text.slice(found.at, from));
      else this.#cross(found.marker);
    }
  }

  #cross(marker: string): void {
    if (this.#closing !== undefined) this.#closing = undefined;
    else if (TAGS[marker] !== undefined) this.#closing = TAGS[marker];
    else this.#bareClosing = true;
    this.#space = '';
    this.#atEdge = true;
    this.#afterTag = true;
  }

  #isCode(): boolean {
    return this.#fenced || this.#afterTick;
  }

  #give(section: Section, text: string): void {
    if (text === '') return;
    let given = text;
    if (this.#atEdge) {
      const rest = text.trimStart();
      this.#space += text.slice(0, text.length - rest.length);
      if (rest === '') return;
      given = this.#afterTag ? rest : this.#space + rest;
      this.#space = '';
      this.#atEdge = false;
      this.#afterTag = false;
    }
    if (section === 'text') this.#watchFences(given);
    this.#emit(section, given);
  }

  #watchFences(text: string): void {
    const joined = this.#ticks + text;
    for (let at = joined.indexOf('```'); at !== -1; at = joined.indexOf('```', at + 3)) this.#fenced = !this.#fenced;
    const trailing = /`*$/.exec(joined.slice(-64))?.[0].length ?? 0;
    this.#ticks = '`'.repeat(trailing % 3);
    this.#afterTick = trailing > 0;
  }
}
