import { TextToolCalls } from '../dialects/text-tool-calls/text-tool-calls.ts';
import { ThinkTags } from '../dialects/think-tags.ts';
import type { TurnToolCall } from '../turn.ts';
import type { DecoderOptions, Deltas } from './decoded-turn.ts';

/** How much of the end of the reasoning is searched for calls, in UTF-16 code units: searching blocks the event loop. */
const MAX_SEARCHED = 256 * 1024;

/** An answer's text as models write it, with reasoning between tags, tool calls and special tokens in it. */
export class ModelText {
  readonly #deltas: Deltas;
  readonly #options: DecoderOptions;
  readonly #learned: NonNullable<DecoderOptions['learned']>;
  readonly #think: ThinkTags;
  readonly #calls: TextToolCalls | undefined;
  /** The text so far, without what is not text. */
  text = '';

  constructor(deltas: Deltas, options: DecoderOptions) {
    this.#deltas = deltas;
    this.#options = options;
    this.#learned = options.learned ?? { startsThinking: false, excludesReasoning: false };
    const calls = options.tools?.length
      ? new TextToolCalls(options.tools, (text) => this.#emit(text), options.isQuotation)
      : undefined;
    this.#calls = calls;
    this.#think = new ThinkTags(
      (section, text) => {
        if (section === 'reasoning') deltas.emit(section, text);
        else if (calls) calls.push(text);
        else this.#emit(text);
      },
      { startsInside: this.#learned.startsThinking, onBareClosing: () => this.#onBareClosing() },
    );
  }

  push(text: string): void {
    if (text === '') return;
    this.#deltas.count(text);
    this.#think.push(text);
  }

  /** Emits what is held back. `cut`: the answer was cut off; `hasCalls`: it has native calls. */
  end({ cut, hasCalls }: { cut: boolean; hasCalls: boolean }): void {
    this.#think.end({ cut: cut || hasCalls });
    this.#calls?.end({ cut });
  }

  /**
   * The calls of a whole answer that did not also come natively. If the answer holds nothing but reasoning, calls in it
   * count too: some models call without ending their reasoning first (Qwen3.5, Kimi K2).
   */
  finish(native: readonly TurnToolCall[], { cut }: { cut: boolean }): TurnToolCall[] {
    if (this.#think.missedClosing && this.#deltas.text !== '') this.#learned.startsThinking = false;
    const { tools = [], isQuotation } = this.#options;
    let written = this.#calls?.calls ?? [];
    if (tools.length > 0 && native.length + written.length === 0 && this.#deltas.text.trim() === '') {
      const inReasoning = new TextToolCalls(tools, () => {}, isQuotation);
      inReasoning.push(this.#deltas.reasoning.slice(-MAX_SEARCHED));
      inReasoning.end({ cut });
      written = inReasoning.calls.filter(({ name }) => tools.some((tool) => tool.name === name));
    }
    return written.filter(
      (call) => !native.some((other) => other.name === call.name && other.arguments === call.arguments),
    );
  }

  #emit(text: string): void {
    this.text += text;
    this.#deltas.emit('text', text);
  }

  /** An answer has one reasoning without an opening tag, before its text. After that a closing tag is a word of the text. */
  #onBareClosing(): boolean {
    if (this.#deltas.reasoning.trim() !== '') return this.text.trim() === '';
    this.text = '';
    this.#deltas.reclassifyAsReasoning();
    this.#learned.startsThinking = true;
    return true;
  }
}
