import { estimateRequest } from '../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../upstream/turn.ts';

/** How much smaller a request becomes that was refused for its length. */
const SMALLER = 0.75;

/**
 * Leaves the oldest of a conversation out where no route can read all of it (`truncation: "auto"`, docs/api.md,
 * "Responses of plain models"). Providers say what does not fit: no window is believed before.
 */
export class Truncation {
  /** Tokens of the conversation at most, estimated. */
  #most = Number.POSITIVE_INFINITY;

  /**
   * What is sent. Instructions stay, and so do the last question and what came last; calls go with their results. What is
   * bound to messages that are gone is not sent back.
   */
  fitted(messages: readonly TurnMessage[]): TurnMessage[] {
    const steps = stepsOfThread(messages);
    const question = steps.findLastIndex(([first]) => first?.role === 'user');
    let tokens = estimateRequest(messages);
    let isCut = false;
    return steps.flatMap((step, index) => {
      const mayGo = step[0]?.role !== 'system' && index !== question && index !== steps.length - 1;
      if (mayGo && tokens > this.#most) {
        tokens -= estimateRequest(step);
        isCut = true;
        return [];
      }
      return isCut ? step.map((one) => (one.role === 'assistant' ? { ...one, rebased: true } : one)) : step;
    });
  }

  /** The conversation was too long as it was sent. False where no more of it can be left out. */
  refused(messages: readonly TurnMessage[]): boolean {
    const sent = this.fitted(messages);
    this.#most = estimateRequest(sent) * SMALLER;
    return this.fitted(messages).length < sent.length;
  }
}

/** Messages that stay together: a call and its results, and each other one. */
export function stepsOfThread(messages: readonly TurnMessage[]): TurnMessage[][] {
  const steps: TurnMessage[][] = [];
  for (const message of messages) {
    const last = steps.at(-1);
    if (message.role === 'tool' && last) last.push(message);
    else steps.push([message]);
  }
  return steps;
}
