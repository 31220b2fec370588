import { readFileSync } from 'node:fs';
import type { Effort } from '../../config/schema.ts';

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

type Common = 'date' | 'language' | 'instructions';

export type Prompts = ReturnType<typeof loadPrompts>;

/**
 * Reads the prompts in `*.md` next to this file. Each file starts with a comment about its rationale, which is not sent;
 * words in double braces are placeholders. `mark` is the tag of the fence around text from outside.
 */
export function loadPrompts() {
  const research = readPrompt<Common | 'tools' | 'effort' | 'effort_advice' | 'plan_advice' | 'mark'>('research');
  const answer = readPrompt<'forced' | 'sources' | 'format' | 'notes' | 'charts'>('answer');
  const section = readPrompt<Common | 'mark' | 'charts'>('section');
  const advice = `\n${readPrompt('charts')()}`;
  return {
    /**
     * System prompt of every turn. `plans`, `clarifies`: whether there are tools for it. `lanes`: how many parts of the
     * plan may be researched at the same time.
     */
    research({
      plans,
      lanes,
      clarifies,
      effort,
      ...values
    }: Record<Common | 'tools' | 'mark', string> & {
      plans: boolean;
      lanes: number;
      clarifies: boolean;
      effort: Effort;
    }) {
      const plan_advice = (clarifies ? CLARIFY_ADVICE : '') + (plans ? (lanes > 1 ? LANES_ADVICE : PLAN_ADVICE) : '');
      return research({ ...values, effort, effort_advice: EFFORT_ADVICE[effort], plan_advice });
    },
    /** Asks for the answer. `format`: of a structured answer. `charts`: whether it may have charts. */
    answer: ({ charts, ...values }: Record<'forced' | 'sources' | 'format' | 'notes', string> & { charts: boolean }) =>
      answer({ ...values, charts: charts ? advice : '' }),
    /** Added if the first attempt wrote nothing. */
    answerNow: readPrompt('answer-now'),
    continueAnswer: readPrompt('continue'),
    /** Shows the model its plan. */
    plan: readPrompt<'plan'>('plan'),
    /** System prompt of a run that only proposes a plan. */
    propose: readPrompt<Common>('propose'),
    proposeNow: readPrompt('propose-now'),
    openItems: readPrompt<'items'>('open-items'),
    /** Asks a lane for its parts of the plan. */
    lane: readPrompt<'tasks'>('lanes/lane'),
    /** Asks for one of several attempts at the question. */
    attempt: readPrompt<'count' | 'number' | 'beginning'>('lanes/attempt'),
    /** Announces the end of all lanes, and lists those that ended early. */
    joined: readPrompt<'count' | 'failed'>('lanes/joined'),
    /** Asks for a comparison of the attempts' conclusions. */
    compare: readPrompt<'count' | 'conclusions'>('lanes/compare'),
    /** Asks for the outline of a report. */
    outline: readPrompt<'records'>('outline'),
    /** Names the sections without evidence. */
    gaps: readPrompt<'sections'>('gaps'),
    /** System prompt of the turns that write sections. */
    section: ({ charts, ...values }: Record<Common | 'mark', string> & { charts: boolean }) =>
      section({ ...values, charts: charts ? advice : '' }),
    report: readPrompt<'question' | 'outline'>('report'),
    writeSection: readPrompt<'number' | 'count' | 'section' | 'before' | 'length' | 'records'>('write-section'),
    /** System prompt of the turn that verifies doubtful sentences. */
    check: readPrompt<'date' | 'mark'>('check'),
    /** Reads a piece of a huge page. */
    read: readPrompt<'question' | 'goal' | 'mark'>('read'),
    /** Asks once more for a structured answer. */
    repair: readPrompt<'problem' | 'schema'>('repair'),
  };
}

/** A prompt whose placeholders are filled in one pass, so that no value is ever read as a placeholder. */
function readPrompt(name: string): () => string;
function readPrompt<Key extends string>(name: string): (values: Readonly<Record<Key, string>>) => string;
function readPrompt(name: string): (values?: Readonly<Record<string, string>>) => string {
  const file = readFileSync(new URL(`./${name}.md`, import.meta.url), 'utf8');
  const text = file.replace(/^<!--[\s\S]*?-->\s*/, '');
  return (values = {}) => text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? '').trim();
}
