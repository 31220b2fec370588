import { isObject, parseJson } from '../base/json.ts';
import type { GuardName, ResearchState, TranscriptEntry, TurnEntry } from './transcript.ts';

/**
 * Guards against a model that goes in circles (architecture: "Research loop"). The model is told why; when that does
 * not help, the run begins anew with notes, once, and then the answer is forced (`stuck`).
 */

/** What a guard does after a turn. */
export type Verdict = { do: 'tell'; guard: GuardName; text: string } | { do: 'stop'; why: string } | undefined;

/** Turns in a row without anything new before the attempt is given up. */
const MAX_BAD_TURNS = 3;
/** How often a model is told the same before the attempt is given up. */
const MAX_TOLD = 2;

/** Looks at the last turn and its results. */
export function judge(state: ResearchState): Verdict {
  const turn = state.attempt().findLast((entry) => entry.t === 'turn');
  if (!turn) return undefined;
  if (isStuck(state)) return { do: 'stop', why: 'the last rounds of tool calls brought nothing new' };
  const told = problemOf(turn, state);
  if (!told) return undefined;
  if (state.noted(told.guard) >= MAX_TOLD) return { do: 'stop', why: told.why };
  return { do: 'tell', guard: told.guard, text: told.text };
}

interface Problem {
  guard: GuardName;
  /** To the model. */
  text: string;
  /** For the end of the attempt. */
  why: string;
}

function problemOf(turn: TurnEntry, state: ResearchState): Problem | undefined {
  const said = turn.message.content;
  if (inventedResult(said) !== -1) {
    return {
      guard: 'invented_result',
      text: 'Your last message contains a tool result that you wrote yourself. Only the gateway gives tool results; what you wrote was removed. Call the tool to get a real one.',
      why: 'the model kept inventing tool results',
    };
  }
  if (turn.calls.length === 0) {
    if (REFUSAL.test(said) && said.length < 600) {
      return {
        guard: 'refusal',
        text: 'You only look up public information here. Go on with the research; if part of the question cannot be answered, leave that part out and say so.',
        why: 'the model refused to research',
      };
    }
    if (said.trim() === '' && turn.thought && state.sources.size === 0) {
      return {
        guard: 'only_thinking',
        text: 'You only thought and neither called a tool nor said anything. Call tools now, or say in one sentence that you are ready.',
        why: 'the model only thought',
      };
    }
    return undefined;
  }
  if (turn.calls.every((call) => 'call' in call && isEmptyResult(state.results.get(call.call)?.result))) {
    return {
      guard: 'empty_result',
      text: 'Nothing was found. Use fewer, more general or other words, or another language.',
      why: 'searches kept finding nothing',
    };
  }
  return undefined;
}

/** Where a model's text begins to play the gateway's part, or -1. */
export function inventedResult(text: string): number {
  return text.search(
    /<\/?tool_(?:result|response|output)s?>|^\s*(?:Observation|Tool (?:result|output|response))s?\s*:/im,
  );
}

const REFUSAL =
  /\b(?:I(?:'m| am)? (?:sorry|cannot|can't|can not|won't|unable|not able)\b.{0,80}\b(?:help|assist|comply|provide|answer|fulfil|do that|support)|as an AI\b.{0,60}\b(?:cannot|can't|unable))/is;

/** Why a call is not made, in words for the model, or undefined. `turn`: the keys of this turn's calls so far. */
export function refuseRepeated(
  call: { name: string; arguments: string },
  state: ResearchState,
  turn: readonly string[],
): string | undefined {
  const wanted = callKey(call);
  if (turn.includes(wanted)) return 'This call stands twice in the same turn; it was made once.';
  const made = madeCalls(state.entries).filter(({ call: number }) => state.results.get(number)?.status === 'completed');
  if (made.some((earlier) => callKey(earlier) === wanted)) {
    return 'You made exactly this call before; its result is above. Use it, or ask for something else.';
  }
  if (call.name !== 'web_search') return undefined;
  const queries = queriesOf(call.arguments);
  const asked = made.filter(({ name }) => name === 'web_search').flatMap((earlier) => queriesOf(earlier.arguments));
  if (queries.length > 0 && queries.every((query) => asked.some((before) => nearlySame(query, before)))) {
    return 'You searched for nearly the same before; the results are above. Use other words or another angle.';
  }
  return undefined;
}

/** The same call in other spelling: order of keys, case and spaces of texts do not matter. */
export function callKey(call: { name: string; arguments: string }): string {
  return `${call.name} ${JSON.stringify(normal(parseJson(call.arguments)))}`;
}

/** Queries that no index tells apart: the same numbers, and nearly the same words. */
export function nearlySame(a: string, b: string): boolean {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  const numbers = (words: ReadonlySet<string>) =>
    [...words]
      .filter((word) => /\p{N}/u.test(word))
      .sort()
      .join(' ');
  if (numbers(left) !== numbers(right)) return false;
  const common = left.intersection(right).size;
  return common > 0 && common / left.union(right).size >= 0.85;
}

function wordsOf(query: string): Set<string> {
  return new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

function queriesOf(args: string): string[] {
  const value = parseJson(args);
  if (!isObject(value)) return [];
  const list = Array.isArray(value.queries) ? value.queries : [value.query];
  return list.filter((query) => typeof query === 'string');
}

function madeCalls(entries: readonly TranscriptEntry[]) {
  return entries
    .filter((entry) => entry.t === 'turn')
    .flatMap((turn) => turn.calls)
    .filter((call) => 'call' in call);
}

/** Whether the last turns brought nothing: every call was refused, failed or came back empty. */
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
  if ('refused' in call) return true;
  const result = state.results.get(call.call);
  return result?.status === 'failed' || isEmptyResult(result?.result);
}

function isEmptyResult(result: string | undefined): boolean {
  const value = result === undefined ? undefined : parseJson(result);
  return isObject(value) && Array.isArray(value.results) && value.results.length === 0;
}

function normal(value: unknown): unknown {
  if (typeof value === 'string') return value.trim().toLowerCase().replace(/\s+/g, ' ');
  if (Array.isArray(value)) return value.map(normal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, normal(inner)]),
  );
}
