import { publicId, type RunId } from '../../base/ids.ts';
import type { ChatChunk } from '../../protocol/chat.ts';
import { isTerminal, type RunEvent } from '../../protocol/events.ts';
import { decodeFrames } from '../../protocol/frames.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { LogBatch } from '../../store/run-store.ts';
import { chatSources, finishReason, logprobsOf, toChatUsage, toToolCall } from './chat.ts';
import { progressLine, toReasoningStep } from './chat-steps.ts';

type Choice = ChatChunk['choices'][number];
export type ChatDelta = Choice['delta'];
type Logprobs = Choice['logprobs'];

export interface ChatStreamOptions {
  id: RunId;
  model: string;
  /** Unix seconds. */
  created: number;
  /** Whether the usage goes into a chunk of its own, as `stream_options.include_usage` requests. */
  includeUsage?: boolean;
}

/** How a run appears in a chat stream. */
export interface ChatStreamFormat {
  /** Turns the events of one stream into deltas. */
  deltas(): { deltaOf(event: RunEvent): ChatDelta | undefined };
  /** What the last chunk tells besides how the run ended. `includesUsage`: no chunk of its own follows with it. */
  lastOf(response: ResponseObject, options: { includesUsage: boolean }): Partial<ChatChunk> & { delta: ChatDelta };
}

/** The stream of a research run: role, reasoning steps, content, and a last chunk with usage and sources. */
export const RESEARCH_STREAM: ChatStreamFormat = {
  deltas: () => new ReasoningDeltas(),
  lastOf(response, { includesUsage }) {
    const { annotations, ...sources } = chatSources(response);
    return { delta: { annotations }, ...sources, usage: includesUsage ? toChatUsage(response.usage) : null };
  },
};

/**
 * The chunks of a chat stream (docs/api.md, "Chat completions"): a first one with the role, deltas, and a last one with
 * `finish_reason`; on a failure it has a top-level `error`. With `includeUsage` one more has the usage. If the log ends
 * early, there is no last chunk.
 */
export async function* chatStream(
  batches: AsyncIterable<LogBatch>,
  { id, created, model, includeUsage = false }: ChatStreamOptions,
  format: ChatStreamFormat = RESEARCH_STREAM,
): AsyncGenerator<ChatChunk, void> {
  const base = { id: publicId('chat_completions', id), object: 'chat.completion.chunk' as const, created, model };
  const chunk = (
    delta: ChatDelta,
    finish_reason: Choice['finish_reason'] = null,
    logprobs: Logprobs = null,
  ): ChatChunk => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason, logprobs }],
    ...(includeUsage && { usage: null }),
  });
  const deltas = format.deltas();
  yield chunk({ role: 'assistant', content: '' });
  for await (const batch of batches) {
    for (const event of decodeFrames(batch.frames)) {
      const delta = deltas.deltaOf(event);
      if (delta) yield chunk(delta, null, logprobsOfDelta(event, delta));
      if (!isTerminal(event)) continue;
      const { response } = event;
      const isFailed = response.status === 'failed';
      const isSeparate = includeUsage && !isFailed;
      const { delta: last, ...fields } = format.lastOf(response, { includesUsage: !isSeparate });
      const error = isFailed && response.error ? { error: response.error } : {};
      yield { ...chunk(last, finishReason(response)), ...fields, ...error };
      if (isSeparate) yield { ...base, choices: [], usage: toChatUsage(response.usage) };
    }
  }
}

/** The log probabilities of a delta of the content, if the provider told them. */
function logprobsOfDelta(event: RunEvent, { content }: ChatDelta): Logprobs {
  return content !== undefined && event.type === 'response.output_text.delta' ? logprobsOf(event.logprobs) : null;
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

  deltaOf(event: RunEvent): ChatDelta | undefined {
    switch (event.type) {
      case 'response.output_text.delta':
        return { content: event.delta };
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
