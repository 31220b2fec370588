import { estimateRequest } from '../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../upstream/turn.ts';

/** After a request was refused as too long, the next one has at most this share of its tokens. */
const SMALLER = 0.75;

/**
 * Leaves out the oldest messages of a conversation if no route can read all of it (`truncation: "auto"`, docs/api.md,
 * "Responses of plain models"). It only acts on refusals of providers, not on configured context lengths.
 */
export class Truncation {
  /** The limit of the conversation, in estimated tokens. */
  #maxTokens = Number.POSITIVE_INFINITY;

  /**
   * The messages to send. Instructions, the last question and the last step always stay; a call goes together with its
   * results. Messages after a gap are `rebased`, so that data bound to earlier messages is not sent back.
   */
  fit(messages: readonly TurnMessage[]): TurnMessage[] {
    const steps = stepsOfThread(messages);
    const question = steps.findLastIndex(([first]) => first?.role === 'user');
    let tokens = estimateRequest(messages);
    let isCut = false;
    return steps.flatMap((step, index) => {
      const mayGo = step[0]?.role !== 'system' && index !== question && index !== steps.length - 1;
      if (mayGo && tokens > this.#maxTokens) {
        tokens -= estimateRequest(step);
        isCut = true;
        return [];
      }
      if (!isCut) return step;
      return step.map((message) => (message.role === 'assistant' ? { ...message, rebased: true } : message));
    });
  }

  /** A provider refused the conversation as too long. Returns false if nothing more can be left out. */
  refused(messages: readonly TurnMessage[]): boolean {
    const sent = this.fit(messages);
    this.#maxTokens = estimateRequest(sent) * SMALLER;
    return this.fit(messages).length < sent.length;
  }
}

/** Groups of messages that stay together: a call with its results, or a single message. */
export function stepsOfThread(messages: readonly TurnMessage[]): TurnMessage[][] {
  const steps: TurnMessage[][] = [];
  for (const message of messages) {
    const last = steps.at(-1);
    if (message.role === 'tool' && last) last.push(message);
    else steps.push([message]);
  }
  return steps;
}
