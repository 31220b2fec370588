import { isObject, parseJson } from '../../base/json.ts';
import { UPDATE_PLAN } from '../../protocol/plan.ts';
import { notesInARow } from '../run/dialogue.ts';
import type { ResearchState } from '../run/state.ts';
import type { GuardName, TurnEntry } from '../run/transcript.ts';
import { isRefusal } from './refusals.ts';

/**
 * Guards against a model that goes in circles (docs/research.md). The model is told what is wrong; if that does not help,
 * the run starts a fresh attempt from notes, once, and after that the answer is forced (`stuck`).
 */

/** What a guard does after a turn: send the model a note, or end the attempt. */
export type GuardVerdict = { do: 'warn'; guard: GuardName; text: string } | { do: 'stop'; why: string } | undefined;

/** How many turns in a row may bring nothing new before the attempt is given up. */
const MAX_BAD_TURNS = 3;
/** How many times in a row a model gets the same note before the attempt is given up. */
const MAX_NOTES = 2;

/** Judges the last turn and its results, unless the gateway has responded to it already. */
export function verdictOn(state: ResearchState): GuardVerdict {
  const turn = state.unansweredTurn();
  if (!turn) return undefined;
  if (isStuck(state)) return { do: 'stop', why: 'the last rounds of tool calls brought nothing new' };
  const problem = problemOf(turn, state);
  if (!problem) return undefined;
  const notes = notesInARow(state.attempt(), problem.guard, { before: turn });
  if (notes < (problem.maxNotes ?? MAX_NOTES)) return { do: 'warn', guard: problem.guard, text: problem.text };
  return problem.why === undefined ? undefined : { do: 'stop', why: problem.why };
}

interface Problem {
  guard: GuardName;
  text: string;
  /** Why the attempt ends if notes do not help; undefined: the turn then counts as "ready". */
  why: string | undefined;
  /** Overrides `MAX_NOTES`. */
  maxNotes?: number;
}

function problemOf(turn: TurnEntry, state: ResearchState): Problem | undefined {
  const content = turn.message.content;
  if (turn.invented) {
    return {
      guard: 'invented_result',
      text: 'Your last message contained a tool result that you wrote yourself. Only the gateway gives tool results; what you wrote was removed. Call the tool to get a real one.',
      why: 'the model kept inventing tool results',
    };
  }
  if (turn.calls.length > 0) return foundNothing(turn, state) ? NOTHING_FOUND : undefined;
  if (turn.cut) return CUT;
  if (isRefusal(content)) {
    return {
      guard: 'refusal',
      text: 'You only look up public information here. Go on with the research; if part of the question cannot be answered, leave that part out and say so.',
      why: 'the model refused to research',
    };
  }
  if (content.trim() !== '') return undefined;
  const text =
    'You neither called a tool nor said anything. Call tools now, or say in one sentence that you are ready.';
  if (state.sources.size > 0) return { guard: 'said_nothing', text, why: undefined, maxNotes: 1 };
  return { guard: 'said_nothing', text, why: 'the model only thought' };
}

const NOTHING_FOUND: Problem = {
  guard: 'empty_result',
  text: 'Nothing was found. Use fewer, more general or other words, or another language.',
  why: 'searches kept finding nothing',
};

const CUT: Problem = {
  guard: 'cut',
  text: 'Your last message was stopped at its length limit. Think briefly: call a tool at once, or say in one sentence that you are ready.',
  why: 'the model kept writing until it was stopped',
};

function foundNothing(turn: TurnEntry, state: ResearchState): boolean {
  const calls = turn.calls.filter((call) => !isPlanCall(call));
  return (
    calls.length > 0 && calls.every((call) => 'call' in call && isEmptyResult(state.results.get(call.call)?.result))
  );
}

/** Whether the last turns brought nothing: every call was refused, failed or found nothing. */
function isStuck(state: ResearchState): boolean {
  const turns = state
    .attempt()
    .filter((entry) => entry.t === 'turn')
    .slice(-MAX_BAD_TURNS);
  return (
    turns.length === MAX_BAD_TURNS &&
    turns.every((turn) => turn.calls.length > 0 && turn.calls.every((call) => isFruitless(call, state)))
  );
}

function isFruitless(call: TurnEntry['calls'][number], state: ResearchState): boolean {
  if ('refused' in call || isPlanCall(call)) return true;
  const result = state.results.get(call.call);
  return result?.status === 'failed' || isEmptyResult(result?.result);
}

function isPlanCall(call: TurnEntry['calls'][number]): boolean {
  return 'call' in call && call.name === UPDATE_PLAN;
}

/** Whether a result is a search without hits. */
export function isEmptyResult(result: string | undefined): boolean {
  const value = result === undefined ? undefined : parseJson(result);
  return isObject(value) && Array.isArray(value.results) && value.results.length === 0;
}
