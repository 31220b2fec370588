import type { BenchmarkResult } from './run-benchmark.ts';
import { bootstrap, type Estimate, wilson } from './statistics.ts';

/** What a configuration reached. */
export interface BenchmarkSummary {
  config: string;
  questions: number;
  /** Questions that failed, or whose answer could not be judged: they count as wrong. */
  failed: number;
  /** The share of right answers, or the mean RACE score. */
  score: Estimate;
  dimensions: Record<string, number>;
  fact?: { accuracy: number; supportedPerQuestion: number };
  tokens: number;
  /** Of a question; null where no prices are configured. */
  cost: number | null;
  seconds: number;
}

export interface BenchmarkReport {
  configs: BenchmarkSummary[];
  /** The second configuration against the first, by the questions that both were asked. */
  difference?: Estimate & { questions: number };
}

export function summariseBenchmark(results: readonly BenchmarkResult[]): BenchmarkReport {
  const byConfig = [...Map.groupBy(results, ({ config }) => config)];
  const configs = byConfig.map(([config, own]) => summaryOf(config, own));
  const [first, second] = byConfig.map(([, own]) => own);
  if (!first || !second) return { configs };
  const differences = second.flatMap((result) => {
    const before = first.find(({ id }) => id === result.id);
    return before ? [scoreOf(result) - scoreOf(before)] : [];
  });
  return { configs, difference: { ...bootstrap(differences), questions: differences.length } };
}

function scoreOf({ judgement }: BenchmarkResult): number {
  return judgement?.score ?? 0;
}

function summaryOf(config: string, results: readonly BenchmarkResult[]): BenchmarkSummary {
  const judged = results.flatMap(({ judgement }) => (judgement ? [judgement] : []));
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const scores = results.map(scoreOf);
  const isGraded = scores.every((score) => score === 0 || score === 1);
  const names = [...new Set(judged.flatMap(({ dimensions = {} }) => Object.keys(dimensions)))];
  const facts = judged.flatMap(({ fact }) => (fact ? [fact] : []));
  const [cited, supported] = [facts.map((fact) => fact.cited), facts.map((fact) => fact.supported)];
  const costs = results.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  return {
    config,
    questions: results.length,
    failed: results.length - judged.length,
    score: isGraded ? wilson(scores.filter((score) => score === 1).length, scores.length) : bootstrap(scores),
    dimensions: Object.fromEntries(
      names.map((name) => [name, mean(judged.flatMap(({ dimensions = {} }) => dimensions[name] ?? []))]),
    ),
    ...(facts.length > 0 && {
      fact: {
        accuracy: mean(supported) / Math.max(Number.EPSILON, mean(cited)),
        supportedPerQuestion: mean(supported),
      },
    }),
    tokens: Math.round(mean(results.map(({ tokens }) => tokens))),
    cost: costs.length === 0 ? null : mean(costs),
    seconds: mean(results.map(({ seconds }) => seconds)),
  };
}

export function benchmarkTable({ configs, difference }: BenchmarkReport): string {
  const lines = configs.map(({ config, questions, failed, score, dimensions, fact, tokens, cost, seconds }) =>
    [
      `${config}: ${questions} questions${failed > 0 ? `, ${failed} failed` : ''}`,
      `  score ${percents(score)}`,
      ...Object.entries(dimensions).map(([name, value]) => `  ${name} ${percent(value)}`),
      ...(fact
        ? [`  citations that hold ${percent(fact.accuracy)}, ${fact.supportedPerQuestion.toFixed(1)} a question`]
        : []),
      `  a question: ${tokens} tokens, ${cost === null ? 'no prices configured' : `cost ${cost.toFixed(4)}`}, ${seconds.toFixed(1)} s`,
    ].join('\n'),
  );
  if (difference) {
    const isSure = difference.low > 0 || difference.high < 0;
    lines.push(
      `The second against the first, ${difference.questions} questions of both: ${percents(difference)}: ${isSure ? 'a difference' : 'no sure difference'}.`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function percents({ mean, low, high }: Estimate): string {
  return `${percent(mean)} (95 % sure between ${percent(low)} and ${percent(high)})`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
