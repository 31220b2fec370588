import { readFileSync } from 'node:fs';
import type { Effort } from '../../config/schema.ts';

/**
 * The prompts in `*.md` beside this file. Each file begins with a comment that gives its rationale and is not sent; words in
 * double braces are filled in.
 */
export interface Prompts {
  /** System prompt of every turn. */
  research(values: {
    date: string;
    tools: string;
    effort: Effort;
    language: string;
    instructions: string;
    /** The mark of the fence around text from outside. */
    mark: string;
  }): string;
  /** Asks for the answer. `format` tells of a structured one. */
  answer(values: { forced: string; sources: string; format: string; notes: string }): string;
  /** Added where nothing was written the first time. */
  answerNow(): string;
  continueAnswer(): string;
  verify(): string;
  /** Reads a piece of a huge page. */
  read(values: { question: string; goal: string; mark: string }): string;
  /** Asks once more for a structured answer. */
  repair(values: { problem: string; schema: string }): string;
}

const EFFORT_ADVICE: Readonly<Record<Effort, string>> = {
  low: 'Answer from a few good sources; one or two rounds of tool calls are enough.',
  medium: 'Cover the question well; several rounds of tool calls are fine.',
  high: 'Be thorough: follow leads, compare sources, and look for what would prove you wrong.',
};

/** Reads the prompt files once. */
export function loadPrompts(): Prompts {
  const research = readPrompt('research');
  return {
    research: (values) => research({ ...values, effort_advice: EFFORT_ADVICE[values.effort] }),
    answer: readPrompt('answer'),
    answerNow: readPrompt('answer-now'),
    continueAnswer: readPrompt('continue'),
    verify: readPrompt('verify'),
    read: readPrompt('read'),
    repair: readPrompt('repair'),
  };
}

/** A prompt, filled in one pass: what is filled in is never read as a placeholder. */
function readPrompt(name: string): (values?: Readonly<Record<string, string>>) => string {
  const file = readFileSync(new URL(`./${name}.md`, import.meta.url), 'utf8');
  const text = file.replace(/^<!--[\s\S]*?-->\s*/, '');
  return (values = {}) => text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '').trim();
}
