import type { TurnTool, TurnToolCall } from '../../turn.ts';
import { EdgeSpace, MarkerSplitter } from '../marker-scan.ts';
import { newCallId } from '../native-tool-calls.ts';
import { type FoundCall, jsonCalls, MAX_CALLS, OfferedTools, sections } from './offered-tools.ts';
import { bareCalls, deepseekCalls, fencedCalls, harmonyCalls, headedCalls, kimiCalls } from './token-block.ts';
import { namedTagCall, xmlCalls } from './xml-block.ts';

/** A block longer than this is no tool call, in characters. */
const MAX_BLOCK = 256 * 1024;

/** How a kind of block begins and ends, and how the calls in it are read. Markers in lower case. */
interface BlockFormat {
  /** Closing markers; if there are none, the block extends to the end of the text. */
  closings: readonly string[];
  /** The opening marker is a part of the call, so it is read with the block. */
  keepsOpening?: boolean;
  read(block: string, offered: OfferedTools): FoundCall[] | undefined;
}

function anyBlock(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const inner = sections(block, { opening: '<tool_call>', closing: '</tool_call>' });
  if (inner.length > 0) {
    const lists = inner.map((text) => anyBlock(text, offered));
    return lists.every((list) => list !== undefined) ? lists.flat() : undefined;
  }
  const bare = unfenced(block.trim());
  return jsonCalls(bare, offered) ?? xmlCalls(bare, offered) ?? headedCalls(bare, offered);
}

/** A call without the tags that belong around it, which may also be prose about such calls. */
function openCall(block: string, offered: OfferedTools): FoundCall[] | undefined {
  return offered.only(xmlCalls(block, offered));
}

function unfenced(block: string): string {
  const body = block.replace(/^```[\w-]*/, '');
  return (body.endsWith('```') ? body.slice(0, -'```'.length) : body).trim();
}

/** Tags around calls, by name. DeepSeek writes its own between bars, which some servers double or draw as one. */
const BARS = ['｜dsml｜', '｜｜dsml｜｜', '‖dsml‖'];
const TAGS = [
  ...['', 'minimax:', 'seed:', ...BARS].flatMap((prefix) => [`${prefix}tool_call`, `${prefix}tool_calls`]),
  ...['', 'antml:', ...BARS].flatMap((prefix) => [`${prefix}function_call`, `${prefix}function_calls`]),
  'toolcall',
  'longcat_tool_call',
];
const INVOKES = ['', 'antml:', 'steptml:', ...BARS].map((prefix) => `${prefix}invoke`);

const FORMATS: Readonly<Record<string, BlockFormat>> = {
  ...Object.fromEntries(TAGS.map((tag) => [`<${tag}>`, { closings: [`</${tag}>`], read: anyBlock }])),
  ...Object.fromEntries(
    INVOKES.map((tag) => [`<${tag} name=`, { closings: [`</${tag}>`], keepsOpening: true, read: openCall }]),
  ),
  '<use_mcp_tool>': { closings: ['</use_mcp_tool>'], read: xmlCalls },
  '<function=': { closings: ['</function>'], keepsOpening: true, read: openCall },
  // Gemma, Granite and Phi, LFM, Llama 4, Command A, InternLM.
  '<|tool_call>': { closings: ['<tool_call|>'], read: anyBlock },
  '<|tool_call|>': { closings: ['<|/tool_call|>'], read: anyBlock },
  '<|tool_call_start|>': { closings: ['<|tool_call_end|>'], read: anyBlock },
  '<|python_start|>': { closings: ['<|python_end|>'], read: anyBlock },
  '<|start_action|>': { closings: ['<|end_action|>'], read: anyBlock },
  '<|action_start|><|plugin|>': { closings: ['<|action_end|>'], read: anyBlock },
  '<|tool_calls_section_begin|>': { closings: ['<|tool_calls_section_end|>'], read: kimiCalls },
  // Step 3, DeepSeek.
  '<｜tool_calls_begin｜>': { closings: ['<｜tool_calls_end｜>'], read: xmlCalls },
  '<｜tool▁calls▁begin｜>': { closings: ['<｜tool▁calls▁end｜>'], read: deepseekCalls },
  '[tool_calls]': { closings: [], read: anyBlock },
  '<|python_tag|>': { closings: ['<|eom_id|>', '<|eot_id|>'], read: anyBlock },
  '<|channel|>commentary': { closings: ['<|call|>'], read: harmonyCalls },
  '<|start|>assistant<|channel|>commentary': { closings: ['<|call|>'], read: harmonyCalls },
  '<|start|>assistant to=': { closings: ['<|call|>'], keepsOpening: true, read: harmonyCalls },
  '```': { closings: ['```'], read: fencedCalls },
};

/** Qwen3 Coder often omits the opening tag around `<function=...>`, but not the closing one. */
const ORPHAN = '</tool_call>';
/** Text that is nothing but a call: JSON (Llama), which may follow a word (Phi-4, GigaChat), or Python in brackets. */
const BARE: BlockFormat = { closings: [], read: (text, offered) => bareCalls(text.replace(LEAD, ''), offered) };
const LEADS = ['functools[', 'function call{', 'function call<|role_sep|>'];
const LEAD = /^\s*(?:functools|function call(?:<\|role_sep\|>)?)/;
/** A call in bare JSON or Python has named its tool by then, in UTF-16 code units. */
const BARE_HEAD = 160;

/**
 * Finds tool calls that a model wrote into its text, even across chunk boundaries, and removes them from the text.
 * A block that turns out to be no call is emitted as text, exactly as it came.
 */
export class TextToolCalls {
  readonly #emit: (text: string) => void;
  readonly #offered: OfferedTools;
  readonly #isQuotation: (block: string) => boolean;
  readonly #formats: Readonly<Record<string, BlockFormat>>;
  readonly #openings: readonly string[];
  /** The calls found so far. */
  readonly calls: TurnToolCall[] = [];
  readonly #splitter = new MarkerSplitter({
    markers: () => this.#block?.format.closings ?? this.#openings,
    text: (text) => this.#onText(text),
    marker: (marker, written) => this.#onMarker(marker, written),
  });
  readonly #edge = new EdgeSpace();
  readonly #bareHead: RegExp;
  /** The start of the text, while it may be a bare call. */
  #start: string | undefined = '';
  /** The block in progress, with its opening marker as written. */
  #block: { format: BlockFormat; opening: string; text: string } | undefined;

  /** @param isQuotation whether a block repeats what the model was given to read, and so is no call. */
  constructor(
    tools: readonly TurnTool[],
    emit: (text: string) => void,
    isQuotation: (block: string) => boolean = () => false,
  ) {
    this.#emit = emit;
    this.#isQuotation = isQuotation;
    this.#offered = new OfferedTools(tools);
    this.#formats = { ...FORMATS, ...namedTags(this.#offered) };
    this.#openings = [...Object.keys(this.#formats), ORPHAN];
    const names = this.#offered.names.map((name) => RegExp.escape(name)).join('|');
    this.#bareHead = new RegExp(
      `^(?:(?:\\[|functools\\[|function call(?:<\\|role_sep\\|>)?)?\\s*\\{[^{}]{0,60}"(?:name|function)"\\s*:\\s*"(?:${names})"|\\[\\s*(?:${names})\\()`,
    );
  }

  push(text: string): void {
    if (this.#start === undefined) {
      this.#read(text);
      return;
    }
    this.#start += text;
    const head = this.#start.trimStart().slice(0, BARE_HEAD);
    const isBare = this.#bareHead.test(head);
    if (!isBare && head.length < BARE_HEAD && mayBeBare(head)) return;
    this.#endStart(isBare);
  }

  /** Goes on behind the start of the text, which is that of a bare call or not. */
  #endStart(isBare: boolean): void {
    const start = this.#start ?? '';
    this.#start = undefined;
    if (isBare) this.#block = { format: BARE, opening: '', text: '' };
    this.#read(start);
  }

  #read(text: string): void {
    if (this.#block === undefined && !this.#splitter.isBuffering && !/[<[`]/.test(text)) this.#emitTrimmed(text);
    else this.#splitter.push(text);
  }

  /**
   * Reads a block that was not closed, and emits what is buffered. `cut`: the answer was cut off, so an open block is no
   * call.
   */
  end(options: { cut: boolean }): void {
    if (this.#start !== undefined) this.#endStart(false);
    this.#splitter.end();
    const block = this.#block;
    if (block && (!options.cut || block.opening === '```')) this.#close(block, '');
    this.#block = undefined;
    const space = this.#edge.end();
    if (space !== '') this.#emit(space);
  }

  #onText(text: string): void {
    const block = this.#block;
    if (block === undefined) {
      this.#emitTrimmed(text);
      return;
    }
    block.text += text;
    if (block.text.length <= MAX_BLOCK) return;
    this.#block = undefined;
    this.#emitTrimmed(block.opening + block.text);
  }

  #onMarker(marker: string, written: string): void {
    const block = this.#block;
    const format = this.#formats[marker];
    if (block) this.#close(block, written);
    else if (format) this.#block = { format, opening: written, text: '' };
    else if (!this.#edge.isAtCut) this.#emitTrimmed(written);
  }

  #close(block: { format: BlockFormat; opening: string; text: string }, closing: string): void {
    this.#block = undefined;
    const { format, opening, text } = block;
    const whole = format.keepsOpening ? opening + text + closing : text;
    const found = this.calls.length < MAX_CALLS ? format.read(whole, this.#offered) : undefined;
    if (found === undefined || this.calls.length + found.length > MAX_CALLS || this.#isQuotation(whole)) {
      this.#emitTrimmed(opening + text + closing);
      return;
    }
    this.#edge.cut();
    for (const call of found) this.calls.push({ ...call, id: this.#uniqueId(call.id) });
  }

  #emitTrimmed(text: string): void {
    const trimmed = this.#edge.trim(text);
    if (trimmed !== '') this.#emit(trimmed);
  }

  #uniqueId(id: string | undefined): string {
    return id !== undefined && !this.calls.some((call) => call.id === id) ? id : newCallId();
  }
}

/** Whether a text, so far, may be a bare call. */
function mayBeBare(head: string): boolean {
  return head === '' || /^[[{]/.test(head) || LEADS.some((lead) => lead.startsWith(head) || head.startsWith(lead));
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
