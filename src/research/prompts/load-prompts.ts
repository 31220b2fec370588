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
  const [research, answer, answerNow, continueAnswer, verify, read, repair] = [
    readPrompt('research'),
    readPrompt('answer'),
    readPrompt('answer-now'),
    readPrompt('continue'),
    readPrompt('verify'),
    readPrompt('read'),
    readPrompt('repair'),
  ];
  return {
    research: (values) => fill(research, { ...values, effort_advice: EFFORT_ADVICE[values.effort] }),
    answer: (values) => fill(answer, values),
    answerNow: () => answerNow,
    continueAnswer: () => continueAnswer,
    verify: () => verify,
    read: (values) => fill(read, values),
    repair: (values) => fill(repair, values),
  };
}

function readPrompt(name: string): string {
  const text = readFileSync(new URL(`./${name}.md`, import.meta.url), 'utf8');
  return text.replace(/^<!--[\s\S]*?-->\s*/, '').trimEnd();
}

/** Fills `{{name}}` in one pass, so that what is filled in is never read as a placeholder. */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '').trim();
}
