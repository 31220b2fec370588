import { appendFile, readFile } from 'node:fs/promises';
import { messageOf } from '../../../src/base/errors.ts';
import { type EvaluatedGateway, startEvaluated } from './evaluated-gateway.ts';
import { type Judgement, judge } from './judge.ts';
import { type Benchmark, type BenchmarkQuestion, readQuestions } from './question-files.ts';

/** How one question went with one configuration: a line of the file of results. */
export type BenchmarkResult = {
  /** The file of the configuration. */
  config: string;
  id: string;
  status: string;
  tokens: number;
  /** What the run cost in the configured currency; null where no prices are configured. The judge is not in it. */
  cost: number | null;
  seconds: number;
} & ({ judgement: Judgement; error?: undefined } | { judgement?: undefined; error: string });

export interface BenchmarkOptions {
  benchmark: Benchmark;
  /** The file, or folder, of the questions. */
  questions: string;
  /** Files of the configurations that are compared; one where nothing is. */
  configs: readonly string[];
  /** The research model of each configuration, and its model that judges. */
  model: string;
  judge: string;
  limit: number;
  parallel: number;
  /** Where results are kept; a run that was broken off goes on from there. */
  results?: string | undefined;
  onResult?(result: BenchmarkResult): void;
}

/**
 * Asks every question of a set with each configuration and has the answers judged. Results are appended as they come:
 * what stands there already is not asked again, unless it failed. Neither questions nor answers are kept.
 */
export async function runBenchmark(options: BenchmarkOptions): Promise<BenchmarkResult[]> {
  const questions = (await readQuestions(options.benchmark, options.questions)).slice(0, options.limit);
  const known = await knownResults(options.results);
  const results: BenchmarkResult[] = [];
  for (const config of options.configs) {
    const done = known.filter((each) => each.config === config && questions.some(({ id }) => id === each.id));
    results.push(...done);
    const open = questions.filter(({ id }) => !done.some((each) => each.id === id));
    if (open.length === 0) continue;
    await using gateway = await startEvaluated(config);
    const next = open.values();
    const worker = async () => {
      for (const question of next) {
        const result = { config, id: question.id, ...(await askOne(question, gateway, options)) };
        results.push(result);
        if (options.results !== undefined) await appendFile(options.results, `${JSON.stringify(result)}\n`);
        options.onResult?.(result);
      }
    };
    await Promise.all(Array.from({ length: options.parallel }, worker));
  }
  return results;
}

async function askOne(
  question: BenchmarkQuestion,
  gateway: EvaluatedGateway,
  { model, judge: judging }: BenchmarkOptions,
): Promise<
  Pick<BenchmarkResult, 'status' | 'tokens' | 'cost' | 'seconds'> & ({ judgement: Judgement } | { error: string })
> {
  const began = performance.now();
  let spent = { status: 'failed', tokens: 0, cost: null as number | null, seconds: 0 };
  try {
    const response = await gateway.research(model, question.text);
    spent = {
      status: response.status,
      tokens: response.usage.total_tokens,
      cost: response.usage.cost?.total ?? null,
      seconds: (performance.now() - began) / 1000,
    };
    return { ...spent, judgement: await judge(question, response, (prompt) => gateway.chat(judging, prompt)) };
  } catch (thrown) {
    return { ...spent, error: messageOf(thrown) };
  }
}

async function knownResults(file: string | undefined): Promise<BenchmarkResult[]> {
  if (file === undefined) return [];
  const text = await readFile(file, 'utf8').catch(() => '');
  // The last line may have been cut where the process was killed.
  const lines = text.split('\n').flatMap((line): BenchmarkResult[] => {
    try {
      return line === '' ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  return lines.filter(({ error }) => error === undefined);
}
