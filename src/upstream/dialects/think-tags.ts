import { EdgeSpace, MarkerSplitter } from './marker-scan.ts';

/** Tags around the reasoning that models write into their text, in lower case. */
const TAGS: Readonly<Record<string, string>> = {
  '<think>': '</think>',
  '<thinking>': '</thinking>',
  '<thought>': '</thought>',
  '<reasoning>': '</reasoning>',
  '<seed:think>': '</seed:think>',
  '[think]': '[/think]',
  '◁think▷': '◁/think▷',
  // Gemma, gpt-oss, Command A.
  '<|channel>thought': '<channel|>',
  '<|channel|>analysis<|message|>': '<|end|>',
  '<|start|>assistant<|channel|>analysis<|message|>': '<|end|>',
  '<|start_thinking|>': '<|end_thinking|>',
};
const OPENINGS = Object.keys(TAGS);
/** Closing tags that may come without an opening one, which the chat template put into the prompt (DeepSeek-R1, QwQ). */
const BARE_CLOSINGS = ['</think>', '[/think]', '◁/think▷', '</seed:think>'];
/** Special tokens that servers leave around an answer and its calls: of gpt-oss, GLM and MiniMax. */
const AROUND = [
  '<|channel|>final<|message|>',
  '<|start|>assistant<|channel|>final<|message|>',
  '<|begin_of_box|>',
  '<|end_of_box|>',
  ']<]minimax[>[',
];
/** Special tokens that servers leave at the end of an answer. Elsewhere they are text. */
const AT_END = [
  ...['<|im_end|>', '<|endoftext|>', '<|end_of_text|>', '<|eot_id|>', '<|end|>', '<|return|>', '<end_of_turn>'],
  ...['<turn|>', '<eos>', '<｜end▁of▁sentence｜>', '<|user|>', '<|observation|>'],
];
/** What ends reasoning, by its closing tag, and reasoning that was only presumed. */
const INSIDE = new Map(Object.values(TAGS).map((closing) => [closing, [closing]]));
const PRESUMED = ['</think>', ...OPENINGS];
const IN_TEXT = [...OPENINGS, ...BARE_CLOSINGS, ...AROUND, ...AT_END];

export type Section = 'reasoning' | 'text';
type Emit = (section: Section, text: string) => void;

/**
 * Separates reasoning written between tags from text, and removes special tokens, even where a chunk boundary cuts them.
 * Tags in code (after a backtick or inside a fence) are text. White space around the tags is dropped.
 */
export class ThinkTags {
  readonly #emit: Emit;
  readonly #onBareClosing: () => boolean;
  readonly #splitter = new MarkerSplitter({
    markers: () => this.#markers(),
    text: (text) => this.#emitTrimmed(text),
    marker: (marker, written) => this.#onMarker(marker, written),
  });
  readonly #edges = { text: new EdgeSpace(), reasoning: new EdgeSpace() };
  /** Special tokens that may be the end of the answer, with white space. */
  #ending = '';
  /** The expected closing tag, while inside reasoning. */
  #closing: string | undefined;
  #fenced = false;
  #afterTick = false;
  /** Trailing backticks that may begin a fence. */
  #ticks = '';
  /** Output so far that is taken for reasoning without an opening tag; without a closing tag it turns out to be text. */
  #presumed: string | undefined;

  /**
   * `startsInside`: the model is known to begin with reasoning without an opening tag. `onBareClosing`: called when a
   * closing tag comes without an opening one, so that the text emitted before it was reasoning; false if the tag is text.
   */
  constructor(emit: Emit, options: { startsInside?: boolean; onBareClosing?: () => boolean } = {}) {
    this.#emit = emit;
    this.#onBareClosing = options.onBareClosing ?? (() => true);
    if (!options.startsInside) return;
    this.#closing = '</think>';
    this.#edges.reasoning.cut();
    this.#presumed = '';
  }

  /** Whether presumed reasoning was never closed, so that text was emitted as reasoning. */
  get missedClosing(): boolean {
    return this.#presumed !== undefined;
  }

  push(text: string): void {
    if (this.#closing === undefined && !this.#splitter.isBuffering && !/[<[\]◁]/.test(text)) this.#emitTrimmed(text);
    else this.#splitter.push(text);
  }

  /**
   * Emits what is buffered. Presumed reasoning that was never closed is emitted again as text, unless `cut`: the answer
   * was cut off, or with native tool calls.
   */
  end(options: { cut: boolean }): void {
    this.#splitter.end();
    const space = this.#edges.text.end();
    if (space !== '') this.#emit('text', space);
    if (this.#presumed && !options.cut) this.#emit('text', this.#presumed);
  }

  #markers(): readonly string[] {
    if (this.#closing === undefined) return IN_TEXT;
    return (this.#presumed === '' ? PRESUMED : INSIDE.get(this.#closing)) ?? [];
  }

  #onMarker(marker: string, written: string): void {
    // An opening tag counts only before presumed reasoning has begun.
    const isText =
      this.#closing === undefined ? this.#fenced || this.#afterTick : marker !== this.#closing && this.#presumed !== '';
    if (isText) {
      this.#emitTrimmed(written);
      return;
    }
    if (AT_END.includes(marker) && this.#closing === undefined) {
      this.#ending += written;
      return;
    }
    if (this.#closing !== undefined) {
      this.#closing = marker === this.#closing ? undefined : TAGS[marker];
      this.#presumed = undefined;
    } else if (TAGS[marker] !== undefined) this.#closing = TAGS[marker];
    else if (BARE_CLOSINGS.includes(marker) && !this.#onBareClosing()) {
      this.#emitTrimmed(written);
      return;
    }
    this.#edges.text.cut();
    this.#edges.reasoning.cut();
  }

  #emitTrimmed(text: string): void {
    const section = this.#closing === undefined ? 'text' : 'reasoning';
    if (section === 'text' && this.#ending !== '' && text.trim() === '') {
      this.#ending += text;
      return;
    }
    const trimmed = this.#edges[section].trim(section === 'text' ? this.#ending + text : text);
    this.#ending = '';
    if (trimmed === '') return;
    if (section === 'text') this.#watchFences(trimmed);
    else if (this.#presumed !== undefined) this.#presumed += trimmed;
    this.#emit(section, trimmed);
  }

  #watchFences(text: string): void {
    const joined = this.#ticks + text;
    for (let at = joined.indexOf('```'); at !== -1; at = joined.indexOf('```', at + 3)) this.#fenced = !this.#fenced;
    const trailing = /`*$/.exec(joined.slice(-64))?.[0].length ?? 0;
    this.#ticks = '`'.repeat(trailing % 3);
    this.#afterTick = trailing > 0;
  }
}
