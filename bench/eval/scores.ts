import { answerPart } from '../../src/protocol/items.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import type { Question } from './questions.ts';

/** How one question went. Shares are between 0 and 1. */
export interface Score {
  question: string;
  hops: number;
  completed: boolean;
  /** The expected answer stands in the answer that was given. */
  correct: boolean;
  /** Needed documents that stood among the first five results of a search. */
  recallAt5: number;
  /** Cited addresses that are needed ones; 0 where nothing was cited. */
  citationPrecision: number;
  /** Needed documents that were cited. */
  citationRecall: number;
  /** Citations of addresses that the run never saw. */
  unverified: number;
  /** Turns of the model, the answer included, as far as reasoning items show them. */
  turns: number;
  toolCalls: number;
  searches: number;
  tokens: number;
  seconds: number;
}

/** Results of a search that count for recall. */
const FIRST = 5;

/** Scores a run's response. `urls`: the addresses of the needed documents. */
export function score(
  question: Question,
  run: { response: ResponseObject; urls: ReadonlySet<string>; seconds: number },
): Score {
  const { response, urls } = run;
  const found = new Set(
    response.output.flatMap((item) => (item.type === 'tool_call' ? firstResults(item.result) : [])),
  );
  const annotations = response.output.flatMap((item) =>
    item.type === 'message' ? (answerPart(item)?.annotations ?? []) : [],
  );
  const cited = new Set(annotations.map((annotation) => annotation.url));
  const citedNeeded = [...cited].filter((url) => urls.has(url)).length;
  return {
    question: question.text,
    hops: question.hops,
    completed: response.status === 'completed',
    correct: isCorrect(response.output_text, question.answer),
    recallAt5: [...urls].filter((url) => found.has(url)).length / urls.size,
    citationPrecision: cited.size === 0 ? 0 : citedNeeded / cited.size,
    citationRecall: citedNeeded / urls.size,
    unverified: annotations.filter((annotation) => !annotation.verified).length,
    turns: response.output.filter((item) => item.type === 'reasoning').length + 1,
    toolCalls: response.usage.num_tool_calls,
    searches: response.usage.num_search_queries,
    tokens: response.usage.total_tokens,
    seconds: run.seconds,
  };
}

function firstResults(result: string | undefined): string[] {
  try {
    const { results }: { results?: { url: string }[] } = JSON.parse(result ?? '{}');
    return (results ?? []).slice(0, FIRST).map(({ url }) => url);
  } catch {
    return [];
  }
}

/** The last line that begins with `Answer:` counts, or the whole text where there is none. */
export function isCorrect(text: string, expected: string): boolean {
  const lines = text.split('\n').filter((line) => /^\W*answer\W/i.test(line));
  return (lines.at(-1) ?? text).toLowerCase().includes(expected.toLowerCase());
}

/** The means of many scores, by the names that the report uses. */
export interface Summary {
  questions: number;
  completed: number;
  correct: number;
  recallAt5: number;
  citationPrecision: number;
  citationRecall: number;
  unverified: number;
  turns: number;
  toolCalls: number;
  searches: number;
  tokens: number;
  seconds: number;
}

/** Means over all questions; `unverified` is a sum. */
export function summarise(scores: readonly Score[]): Summary {
  const mean = (value: (each: Score) => number | boolean) =>
    scores.reduce((sum, each) => sum + Number(value(each)), 0) / Math.max(1, scores.length);
  return {
    questions: scores.length,
    completed: mean((each) => each.completed),
    correct: mean((each) => each.correct),
    recallAt5: mean((each) => each.recallAt5),
    citationPrecision: mean((each) => each.citationPrecision),
    citationRecall: mean((each) => each.citationRecall),
    unverified: scores.reduce((sum, each) => sum + each.unverified, 0),
    turns: mean((each) => each.turns),
    toolCalls: mean((each) => each.toolCalls),
    searches: mean((each) => each.searches),
    tokens: mean((each) => each.tokens),
    seconds: mean((each) => each.seconds),
  };
}
