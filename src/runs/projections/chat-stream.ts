import { publicId, type RunId } from '../../base/ids.ts';
import type { ChatChunk } from '../../protocol/chat.ts';
import { isTerminal, type RunEvent } from '../../protocol/events.ts';
import { decodeFrames } from '../../protocol/frames.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { LogBatch } from '../../store/run-store.ts';
import { chatSources, finishReason, toChatUsage, toToolCall } from './chat.ts';
import { progressLine, toReasoningStep } from './chat-steps.ts';

type Choice = ChatChunk['choices'][number];
type Delta = Choice['delta'];

export interface ChatStreamOptions {
  id: RunId;
  model: string;
  /** Unix seconds. */
  created: number;
  /** Whether the usage goes into a chunk of its own, as `stream_options.include_usage` requests. */
  includeUsage?: boolean;
}

/** The fields that all chunks of a stream share, and a function that makes a chunk of a delta. */
export function chunksOf({ id, created, model, includeUsage }: ChatStreamOptions) {
  const base = { id: publicId('chat_completions', id), object: 'chat.completion.chunk' as const, created, model };
  const chunk = (
    delta: Delta,
    { finish_reason = null, logprobs = null }: Partial<Pick<Choice, 'finish_reason' | 'logprobs'>> = {},
  ): ChatChunk => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason, logprobs }],
    ...(includeUsage && { usage: null }),
  });
  return { base, chunk };
}

/**
 * The chunks of a chat stream (docs/api.md, "Chat completions"): role, reasoning steps, content, and a last one with
 * `finish_reason`, usage and sources; on a failure it has a top-level `error`. If the log ends early, there is no last
 * chunk.
 */
export async function* chatStream(
  batches: AsyncIterable<LogBatch>,
  options: ChatStreamOptions,
): AsyncGenerator<ChatChunk, void> {
  const { base, chunk } = chunksOf(options);
  const reasoning = new ReasoningDeltas();
  yield chunk({ role: 'assistant', content: '' });
  for await (const batch of batches) {
    for (const event of decodeFrames(batch.frames)) {
      const delta = event.type === 'response.output_text.delta' ? { content: event.delta } : reasoning.deltaOf(event);
      if (delta) yield chunk(delta);
      if (!isTerminal(event)) continue;
      const { response } = event;
      const usage = toChatUsage(response.usage);
      const separate = options.includeUsage === true && response.status !== 'failed';
      yield { ...base, ...lastChunk(response), usage: separate ? null : usage };
      if (separate) yield { ...base, choices: [], usage };
    }
  }
}

function lastChunk(response: ResponseObject): Pick<ChatChunk, 'choices' | 'search_results' | 'citations' | 'warnings'> {
  const { annotations, ...sources } = chatSources(response);
  const finish_reason = finishReason(response);
  return {
    choices: [{ index: 0, delta: { annotations }, finish_reason, logprobs: null }],
    ...sources,
    ...(finish_reason === 'error' && response.error ? { error: response.error } : {}),
  };
}

/** Turns reasoning and tool calls into deltas: as steps, and as text with a paragraph for each thought and a line for each call. */
class ReasoningDeltas {
  /**
   * The indexes of the steps: 0, 1, 2, ... in the order in which they first appear. The Python SDK's helper puts each step
   * at its index, and mixes steps up or throws if one comes out of order; parallel calls end in any order.
   */
  readonly #indexes = new Map<number, number>();
  /** The output index of the thought that the text last came from. */
  #thought: number | undefined;
  /** How many of the client's functions were called. */
  #calls = 0;
  #last: 'nothing' | 'thought' | 'line' = 'nothing';

  deltaOf(event: RunEvent): Delta | undefined {
    switch (event.type) {
      case 'response.reasoning_text.delta': {
        const { output_index, delta } = event;
        const reasoning_content = `${this.#beforeThought(output_index)}${delta}`;
        const step = { index: this.#indexOf(output_index), type: 'thinking' as const, thought: delta };
        return { reasoning_content, reasoning_steps: [step] };
      }
      case 'response.output_item.added':
        if (event.item.type !== 'tool_call') return undefined;
        return { reasoning_content: `${this.#beforeLine()}${progressLine(event.item)}` };
      case 'response.output_item.done': {
        if (event.item.type === 'function_call')
          return { tool_calls: [{ index: this.#calls++, ...toToolCall(event.item) }] };
        if (event.item.type !== 'tool_call') return undefined;
        const step = toReasoningStep(event.item, this.#indexOf(event.output_index));
        return step && { reasoning_steps: [step] };
      }
      default:
        return undefined;
    }
  }

  #beforeThought(outputIndex: number): string {
    const isSame = this.#last === 'thought' && this.#thought === outputIndex;
    const before = isSame || this.#last === 'nothing' ? '' : '\n\n';
    this.#last = 'thought';
    this.#thought = outputIndex;
    return before;
  }

  #beforeLine(): string {
    const before = { nothing: '', thought: '\n\n', line: '\n' }[this.#last];
    this.#last = 'line';
    return before;
  }

  #indexOf(outputIndex: number): number {
    return this.#indexes.getOrInsertComputed(outputIndex, () => this.#indexes.size);
  }
}
