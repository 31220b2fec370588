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
    /** Whether there is a tool for a plan. */
    plans: boolean;
    /** At most so many parts of the plan are researched at the same time. */
    lanes: number;
    /** Whether there is a tool to ask the user back. */
    clarifies: boolean;
    instructions: string;
    /** The mark of the fence around text from outside. */
    mark: string;
  }): string;
  /** Asks for the answer. `format`: of a structured one. `charts`: it may have some. */
  answer(values: { forced: string; sources: string; format: string; notes: string; charts: boolean }): string;
  /** Added where nothing was written the first time. */
  answerNow(): string;
  continueAnswer(): string;
  /** Shows the model its plan. */
  plan(values: { plan: string }): string;
  /** System prompt of a run that only proposes a plan. */
  propose(values: { date: string; language: string; instructions: string }): string;
  proposeNow(): string;
  openItems(values: { items: string }): string;
  /** Asks a lane for its parts of the plan. */
  lane(values: { tasks: string }): string;
  /** Asks for one of several attempts at the question. */
  attempt(values: { count: string; number: string; beginning: string }): string;
  /** Tells that all lanes have ended, and of those that ended early. */
  joined(values: { count: string; failed: string }): string;
  /** Has what attempts came to compared. */
  compare(values: { count: string; conclusions: string }): string;
  /** Asks what a report is to say, section by section. */
  outline(values: { records: string }): string;
  /** Names the sections that nothing was found for. */
  gaps(values: { sections: string }): string;
  /** System prompt of the turns that write sections. `mark`: of the fence around text from outside. */
  section(values: { date: string; language: string; instructions: string; mark: string; charts: boolean }): string;
  report(values: { question: string; outline: string }): string;
  writeSection(values: {
    number: string;
    count: string;
    section: string;
    before: string;
    length: string;
    records: string;
  }): string;
  /** System prompt of the turn that holds doubtful sentences against their sources. */
  check(values: { date: string; mark: string }): string;
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

const PLAN_ADVICE =
  '\n- A question of several parts: begin with update_plan, one item for each thing that has to be known, and keep it up to date. A simple question needs no plan. Where the conversation has a plan that the user agreed to or changed, work by that one.';

const LANES_ADVICE =
  '\n- A question of several parts: begin with update_plan, alone and before anything else, one item for each thing that has to be known. The items are then researched at the same time by others, who do not see each other: each has to be understood by itself, and none may need what another finds. A simple question needs no plan. Where the conversation has a plan that the user agreed to or changed, work by that one.';

const CLARIFY_ADVICE =
  '\n- Where the answer depends on something that only the user knows, and no good guess is at hand: call ask_user first, and nothing else. It ends this answer; the user comes back. Else do not ask: begin.';

/** Reads the prompt files once. */
export function loadPrompts(): Prompts {
  const research = readPrompt('research');
  const answer = readPrompt('answer');
  const section = readPrompt('section');
  const advice = `\n${readPrompt('charts')()}`;
  return {
    research: ({ plans, lanes, clarifies, ...values }) =>
      research({
        ...values,
        effort_advice: EFFORT_ADVICE[values.effort],
        plan_advice: (clarifies ? CLARIFY_ADVICE : '') + (plans ? (lanes > 1 ? LANES_ADVICE : PLAN_ADVICE) : ''),
      }),
    answer: ({ charts, ...values }) => answer({ ...values, charts: charts ? advice : '' }),
    answerNow: readPrompt('answer-now'),
    continueAnswer: readPrompt('continue'),
    plan: readPrompt('plan'),
    propose: readPrompt('propose'),
    proposeNow: readPrompt('propose-now'),
    openItems: readPrompt('open-items'),
    lane: readPrompt('lanes/lane'),
    attempt: readPrompt('lanes/attempt'),
    joined: readPrompt('lanes/joined'),
    compare: readPrompt('lanes/compare'),
    outline: readPrompt('outline'),
    gaps: readPrompt('gaps'),
    section: ({ charts, ...values }) => section({ ...values, charts: charts ? advice : '' }),
    report: readPrompt('report'),
    writeSection: readPrompt('write-section'),
    check: readPrompt('check'),
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
