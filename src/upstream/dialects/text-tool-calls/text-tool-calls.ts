import type { TurnTool, TurnToolCall } from '../../turn.ts';
import { heldLength, MarkerScan } from '../marker-scan.ts';
import { newCallId } from '../native-tool-calls.ts';
import { jsonCalls } from './json-block.ts';
import { type FoundCall, OfferedTools } from './offered-tools.ts';
import { deepseekCalls, fencedCalls, harmonyCalls, kimiCalls, mistralCalls } from './token-block.ts';
import { namedTagCall, xmlCalls } from './xml-block.ts';

/** A block longer than this is no tool call, in characters. */
const MAX_BLOCK = 256 * 1024;

/** Calls in one turn at most. */
const MAX_CALLS = 64;

/** How a kind of block begins and ends, and how the calls in it are read. Markers in lower case. */
interface BlockFormat {
  /** Closing markers; none: the block goes on to the end of the text. */
  closings: readonly string[];
  /** What the opening marker itself tells is part of the block. */
  keepsOpening?: boolean;
  read(block: string, offered: OfferedTools): FoundCall[] | undefined;
}

function anyBlock(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const bare = unfenced(block.trim());
  return jsonCalls(bare, offered) ?? xmlCalls(bare, offered);
}

function unfenced(block: string): string {
  const body = block.replace(/^```[\w-]*/, '');
  return (body.endsWith('```') ? body.slice(0, -'```'.length) : body).trim();
}

const FORMATS: Readonly<Record<string, BlockFormat>> = {
  '<tool_call>': { closings: ['</tool_call>'], read: anyBlock },
  '<tool_calls>': { closings: ['</tool_calls>'], read: readEach },
  '<function_call>': { closings: ['</function_call>'], read: anyBlock },
  '<function_calls>': { closings: ['</function_calls>'], read: anyBlock },
  '<antml:function_calls>': { closings: ['</antml:function_calls>'], read: anyBlock },
  '<minimax:tool_call>': { closings: ['</minimax:tool_call>'], read: anyBlock },
  '<seed:tool_call>': { closings: ['</seed:tool_call>'], read: anyBlock },
  '<｜dsml｜function_calls>': { closings: ['</｜dsml｜function_calls>'], read: anyBlock },
  '<use_mcp_tool>': { closings: ['</use_mcp_tool>'], read: xmlCalls },
  '<function=': { closings: ['</function>'], keepsOpening: true, read: xmlCalls },
  '<invoke name=': { closings: ['</invoke>'], keepsOpening: true, read: xmlCalls },
  '<|tool_calls_section_begin|>': { closings: ['<|tool_calls_section_end|>'], read: kimiCalls },
  '<｜tool▁calls▁begin｜>': { closings: ['<｜tool▁calls▁end｜>'], read: deepseekCalls },
  '[tool_calls]': { closings: [], read: mistralCalls },
  '<|python_tag|>': { closings: ['<|eom_id|>', '<|eot_id|>'], read: jsonCalls },
  '<|channel|>commentary': { closings: ['<|call|>'], read: harmonyCalls },
  '```': { closings: ['```'], read: fencedCalls },
};

/**
 * Finds tool calls that a model wrote into its text, wherever the chunks cut them, and keeps them out of the text.
 * A block that turns out to be no call is text again, exactly as it came.
 */
export class TextToolCalls {
  readonly #emit: (text: string) => void;
  readonly #offered: OfferedTools;
  readonly #isQuotation: (block: string) => boolean;
  readonly #formats: Readonly<Record<string, BlockFormat>>;
  readonly #openings: readonly string[];
  readonly #calls: TurnToolCall[] = [];
  /** The block that is being collected, with its opening marker as it was written. */
  #block: { format: BlockFormat; opening: string; text: string } | undefined;
  /** Characters that may be the start of a marker. */
  #held = '';
  /** White space at the start of the text or after a call, not yet known to belong to text. */
  #space = '';
  #edge: 'start' | 'after call' | undefined = 'start';

  /** @param isQuotation tells blocks that repeat what the model was given to read: they are no calls. */
  constructor(
    tools: readonly TurnTool[],
    emit: (text: string) => void,
    isQuotation: (block: string) => boolean = () => false,
  ) {
    this.#emit = emit;
    this.#isQuotation = isQuotation;
    this.#offered = new OfferedTools(tools);
    this.#formats = { ...FORMATS, ...namedTags(this.#offered) };
    this.#openings = Object.keys(this.#formats);
  }

  get calls(): readonly TurnToolCall[] {
    return this.#calls;
  }

  push(text: string): void {
    if (this.#block === undefined && this.#held === '' && !/[<[`]/.test(text)) this.#give(text);
    else this.#scan(this.#held + text);
  }

  /**
   * Reads a block that was not closed, and gives what was held back. `cut`: the answer ended for its length, so that
   * an open block is no call.
   */
  end(options: { cut: boolean }): void {
    const block = this.#block;
    const held = this.#held;
    this.#block = undefined;
    this.#held = '';
    if (block === undefined) this.#give(held);
    else if (!options.cut || block.opening === '```') this.#close(block, held, '');
    if (this.#edge === 'start' && this.#space !== '') this.#emit(this.#space);
    this.#space = '';
  }

  #scan(text: string): void {
    const scan = new MarkerScan(text);
    let from = 0;
    this.#held = '';
    for (;;) {
      const block = this.#block;
      const markers = block === undefined ? this.#openings : block.format.closings;
      const found = scan.find(markers, from);
      if (found === undefined) {
        this.#keep(text.slice(from), markers);
        return;
      }
      const before = text.slice(from, found.at);
      from = found.at + found.marker.length;
      const marker = text.slice(found.at, from);
      const format = this.#formats[found.marker];
      if (block !== undefined) {
        this.#block = undefined;
        this.#close(block, before, marker);
      } else {
        this.#give(before);
        if (format) this.#block = { format, opening: marker, text: '' };
      }
    }
  }

  /** The rest of a chunk in which no further marker is whole. */
  #keep(rest: string, markers: readonly string[]): void {
    const held = heldLength(rest, markers);
    const sure = rest.slice(0, rest.length - held);
    this.#held = rest.slice(rest.length - held);
    const block = this.#block;
    if (block === undefined) {
      this.#give(sure);
      return;
    }
    block.text += sure;
    if (block.text.length <= MAX_BLOCK) return;
    this.#block = undefined;
    this.#give(block.opening + block.text);
  }

  #close(block: { format: BlockFormat; opening: string; text: string }, last: string, closing: string): void {
    const inner = block.text + last;
    const whole = block.format.keepsOpening ? block.opening + inner + closing : inner;
    const found = this.#calls.length < MAX_CALLS ? block.format.read(whole, this.#offered) : undefined;
    if (found === undefined || this.#isQuotation(whole)) {
      this.#give(block.opening + inner + closing);
      return;
    }
    this.#space = '';
    this.#edge = 'after call';
    for (const call of found) this.#calls.push({ ...call, id: this.#freeId(call.id) });
  }

  #give(text: string): void {
    if (text === '') return;
    if (this.#edge === undefined) {
      this.#emit(text);
      return;
    }
    const rest = text.trimStart();
    this.#space += text.slice(0, text.length - rest.length);
    if (rest === '') return;
    this.#emit(this.#edge === 'start' ? this.#space + rest : rest);
    this.#space = '';
    this.#edge = undefined;
  }

  #freeId(id: string | undefined): string {
    return id !== undefined && !this.#calls.some((call) => call.id === id) ? id : newCallId();
  }
}

/** `<tool_calls>` around several `<tool_call>` blocks, or around JSON. */
function readEach(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const inner = [...block.matchAll(/<tool_call>([\s\S]*?)(?:<\/tool_call>|$)/g)].map((match) => match[1] ?? '');
  if (inner.length === 0) return anyBlock(block, offered);
  const lists = inner.map((text) => anyBlock(text, offered));
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined;
}

/** Tags named after the tools themselves. */
function namedTags(offered: OfferedTools): Record<string, BlockFormat> {
  const formats: Record<string, BlockFormat> = {};
  for (const name of offered.names) {
    const lower = name.toLowerCase();
    formats[`<${lower}>`] = { closings: [`</${lower}>`], read: (block) => namedTagCall(name, block, offered) };
  }
  return formats;
}
