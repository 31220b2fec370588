import type { Trait } from './trait.ts';

interface AnswerTraits {
  /** Reasoning is counted beside the completion, and the total leaves it out. */
  reasoningBeside: boolean;
  /** The model begins with reasoning and writes only the closing tag. */
  startsThinking: boolean;
}

/** What answers teach about reading the next ones. */
export const answerTraits: Trait<AnswerTraits> = {
  start: () => ({ reasoningBeside: false, startsThinking: false }),
};
