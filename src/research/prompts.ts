import { readFileSync } from 'node:fs';
import type { Effort } from '../config/schema.ts';

/**
 * The prompts in `prompts/*.md`. Each file begins with a comment that gives its rationale and is not sent; words in
 * double braces are filled in.
 */
export interface Prompts {
  research(values: { date: string; tools: string; effort: Effort; instructions: string }): string;
  answer(values: { forced: string; sources: string }): string;
  continueAnswer(): string;
}

const EFFORT_ADVICE: Readonly<Record<Effort, string>> = {
  low: 'Answer from a few good sources; one or two rounds of tool calls are enough.',
  medium: 'Cover the question well; several rounds of tool calls are fine.',
  high: 'Be thorough: follow leads, compare sources, and look for what would prove you wrong.',
};

/** Reads the prompt files once. */
export function loadPrompts(): Prompts {
  const research = readPrompt('research');
  const answer = readPrompt('answer');
  const continueAnswer = readPrompt('continue');
  return {
    research: (values) => fill(research, { ...values, effort_advice: EFFORT_ADVICE[values.effort] }),
    answer: (values) => fill(answer, values),
    continueAnswer: () => continueAnswer,
  };
}

function readPrompt(name: string): string {
  const text = readFileSync(new URL(`./prompts/${name}.md`, import.meta.url), 'utf8');
  return text.replace(/^<!--[\s\S]*?-->\s*/, '').trimEnd();
}

/** Fills `{{name}}` in one pass, so that what is filled in is never read as a placeholder. */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '').trim();
}
