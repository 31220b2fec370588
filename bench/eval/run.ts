import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { BENCHMARKS } from './benchmarks/question-files.ts';
import { benchmarkTable, summariseBenchmark } from './benchmarks/report-benchmark.ts';
import { runBenchmark } from './benchmarks/run-benchmark.ts';
import { runClaims } from './claims/report-claims.ts';
import { evaluate } from './evaluate.ts';
import { billed, type Prices, type RunCost } from './meter.ts';
import { PART_NAMES } from './parts/part-pages.ts';
import { partsOf, runParts } from './parts/run-parts.ts';
import { report } from './report.ts';
import { runReports } from './reports/run-reports.ts';
import { type Summary, summarise } from './scores.ts';

type MeteredRun = { question: string; cost: RunCost; outputTokens: number };

/** `npm run eval`: see docs/evaluation.md. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'base-url': { type: 'string' },
    'api-key': { type: 'string', default: process.env.EVAL_API_KEY ?? '' },
    model: { type: 'string' },
    parts: { type: 'string' },
    suite: { type: 'string' },
    file: { type: 'string' },
    config: { type: 'string' },
    compare: { type: 'string' },
    judge: { type: 'string' },
    results: { type: 'string' },
    questions: { type: 'string' },
    seed: { type: 'string', default: '1' },
    effort: { type: 'string', default: 'medium' },
    parallel: { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    cost: { type: 'boolean', default: false },
    price: { type: 'string', default: '2.5,0.25,10' },
    'min-correct': { type: 'string' },
    'min-recall': { type: 'string' },
    'min-citations': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run eval -- [options]

Without options the scripted researcher is the model: no key, no network, the same numbers every time.

  --base-url URL    an OpenAI-compatible provider, such as https://api.openai.com/v1
  --api-key KEY     its key; better in the environment variable EVAL_API_KEY
  --model NAME      its model
  --parts NAMES     other questions instead: all, or some of ${PART_NAMES.join(', ')}
  --suite claims    instead: pairs of a sentence and a passage, held against each other; no model
  --suite report    instead: reports that a scripted model writes, with sentences that their sources do not carry
  --suite NAME      instead: ${BENCHMARKS.join(', ')}, from files that you bring
  --file PATH       the questions of the suite: a file, of deepresearch the folder
  --config FILE     the gateway's configuration; --model is a research model of it
  --compare A B     two configurations, question by question
  --judge NAME      the model of the configuration that judges
  --results FILE    results are appended here; a run that was broken off goes on from there
  --questions N     how many questions (70; of each part 10)
  --seed N          another world, other questions (1)
  --effort E        low, medium or high (medium)
  --parallel N      questions at a time (4)
  --json            every score as JSON instead of the table
  --write           put the table into docs/evaluation.md
  --min-correct P   end with status 1 below P % of correct answers; the parts have limits of their own
  --min-recall P    ... of retrieval: recall at 5
  --min-citations P ... of citation precision or recall, or with a citation that is not verified
  --cost            what each run sends: tokens, tokens read anew, billed cost, largest request
  --price I,C,O     what a million tokens cost: input, cached input, output (2.5,0.25,10)
`;
const DOCUMENT = new URL('../../docs/evaluation.md', import.meta.url);

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const { 'base-url': baseUrl, 'api-key': apiKey, model, effort } = values;
if (values.suite === undefined && (baseUrl === undefined) !== (model === undefined))
  refuse('--base-url and --model belong together.');
if (effort !== 'low' && effort !== 'medium' && effort !== 'high') refuse('--effort is low, medium or high.');
const total = { runs: 0, sent: 0, anew: 0, billed: 0, largest: 0 };
pricesOf();
if (values.compare === undefined && positionals.length > 0) refuse(`${positionals[0]} is no option.`);
for (const name of ['min-correct', 'min-recall', 'min-citations'] as const) percentage(name);
if (values.suite !== undefined) await runSuite(values.suite);
else if (values.parts === undefined) await askMultiHop(effort);
else await askParts(values.parts);

async function runSuite(name: string): Promise<void> {
  const benchmark = BENCHMARKS.find((each) => each === name);
  if (benchmark) return runQuestions(benchmark);
  if (name !== 'claims' && name !== 'report') refuse(`--suite is claims, report, ${BENCHMARKS.join(', ')}.`);
  const { json } = values;
  const run = name === 'claims' ? runClaims({ json }) : runReports({ json, reports: wholeNumber('questions', 12) });
  const { text, isGood } = await run;
  process.stdout.write(text);
  if (!isGood) process.exitCode = 1;
}

async function runQuestions(benchmark: (typeof BENCHMARKS)[number]): Promise<void> {
  const { file, config, compare, judge, results } = values;
  const configs = compare === undefined ? [config] : [compare, positionals[0]];
  const named = configs.flatMap((each) => each ?? []);
  if (named.length < configs.length) refuse('--suite needs --config FILE, or --compare A B.');
  if (file === undefined || model === undefined || judge === undefined) {
    return refuse('--suite needs --file, --model and --judge.');
  }
  const all = await runBenchmark({
    benchmark,
    questions: file,
    configs: named,
    model,
    judge,
    limit: wholeNumber('questions', Number.MAX_SAFE_INTEGER),
    parallel: wholeNumber('parallel'),
    results,
    onResult: ({ id, judgement, error, tokens }) => {
      process.stderr.write(`${id}: ${error ?? judgement?.grade ?? judgement?.score.toFixed(3)}, ${tokens} tokens\n`);
    },
  });
  const report = summariseBenchmark(all);
  process.stdout.write(
    values.json ? `${JSON.stringify({ ...report, results: all }, null, 2)}\n` : benchmarkTable(report),
  );
}

async function askParts(list: string): Promise<void> {
  const names = partsOf(list) ?? refuse(`--parts is all, or some of ${PART_NAMES.join(', ')} with commas between.`);
  if (baseUrl !== undefined) refuse('--parts has a model of its own; leave --base-url and --model away.');
  const { isGood } = await runParts(names, {
    seed: wholeNumber('seed'),
    questions: wholeNumber('questions', 10),
    json: values.json,
    least: percentage('min-correct'),
  });
  if (!isGood) process.exitCode = 1;
}

async function askMultiHop(effort: 'low' | 'medium' | 'high'): Promise<void> {
  const evaluation = await evaluate({
    seed: wholeNumber('seed'),
    questions: wholeNumber('questions', 70),
    parallel: wholeNumber('parallel'),
    effort,
    ...(baseUrl === undefined || model === undefined
      ? {}
      : { provider: { baseUrl, model, ...(apiKey === '' ? {} : { apiKey }) } }),
    ...(values.cost && { onCost: printCost }),
    onScore: ({ question, correct, tokens }) => {
      process.stderr.write(`${correct ? 'right' : 'wrong'}  ${String(tokens).padStart(7)} tokens  ${question}\n`);
    },
  });
  const table = report(evaluation);
  const missed = missedThresholds(summarise(evaluation.scores));
  process.stdout.write(values.json ? `${JSON.stringify(evaluation, null, 2)}\n` : `${table}\n`);
  if (values.cost) process.stdout.write(`\n${total.runs} runs: ${costLine(total)}\n`);
  if (values.write) {
    const text = await readFile(DOCUMENT, 'utf8');
    const written = text.replace(
      /(<!-- results -->\n)[\s\S]*?(\n<!-- end of results -->)/,
      (_, open, close) => `${open}\n${table}\n${close}`,
    );
    await writeFile(DOCUMENT, written);
  }

  for (const line of missed) process.stderr.write(`${line}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

/** What lies below the thresholds that were given, in words. */
function missedThresholds(of: Summary): string[] {
  const below = (name: string, share: number, least: number | undefined) =>
    least !== undefined && share * 100 < least ? [`${name} ${(share * 100).toFixed(1)} % is below ${least} %`] : [];
  const citations = percentage('min-citations');
  return [
    ...below('correct answers', of.correct, percentage('min-correct')),
    ...below('recall at 5', of.recallAt5, percentage('min-recall')),
    ...below('citation precision', of.citationPrecision, citations),
    ...below('citation recall', of.citationRecall, citations),
    ...(citations !== undefined && of.unverified > 0 ? [`${of.unverified} citations are not verified`] : []),
  ];
}

function percentage(name: 'min-correct' | 'min-recall' | 'min-citations'): number | undefined {
  const given = values[name];
  if (given === undefined) return undefined;
  const value = Number(given);
  if (!(value >= 0 && value <= 100)) refuse(`--${name} is a percentage from 0 to 100.`);
  return value;
}

function printCost({ question, cost, outputTokens }: MeteredRun): void {
  const prices = pricesOf();
  total.runs++;
  total.sent += cost.sent;
  total.anew += cost.anew;
  total.billed += billed(cost, outputTokens, prices);
  total.largest = Math.max(total.largest, cost.largest);
  process.stderr.write(`${costLine({ ...cost, billed: billed(cost, outputTokens, prices) })}  ${question}\n`);
}

function costLine({ sent, anew, billed: money, largest }: Omit<typeof total, 'runs'>): string {
  const share = Math.round((1 - anew / Math.max(1, sent)) * 100);
  return `${sent} tokens sent, ${anew} read anew (${share} % known), billed ${money.toFixed(4)}, largest ${largest}`;
}

function pricesOf(): Prices {
  const [input, cached, output] = values.price.split(',').map(Number);
  const given = [input, cached, output].every((price) => price !== undefined && Number.isFinite(price) && price >= 0);
  if (!given || input === undefined || cached === undefined || output === undefined) {
    return refuse('--price is three numbers with commas between: input, cached input, output.');
  }
  return { input, cached, output };
}

function wholeNumber(name: 'seed' | 'questions' | 'parallel', otherwise?: number): number {
  const value = Number(values[name] ?? otherwise);
  if (!Number.isInteger(value) || value < 1) refuse(`--${name} is a whole number from 1.`);
  return value;
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n\n${HELP}`);
  process.exit(2);
}
