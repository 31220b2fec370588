import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { evaluate } from './evaluate.ts';
import { report } from './report.ts';

/** `npm run eval`: see docs/evaluation.md. */
const { values } = parseArgs({
  options: {
    'base-url': { type: 'string' },
    'api-key': { type: 'string', default: process.env.EVAL_API_KEY ?? '' },
    model: { type: 'string' },
    questions: { type: 'string', default: '70' },
    seed: { type: 'string', default: '1' },
    effort: { type: 'string', default: 'medium' },
    parallel: { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run eval -- [options]

Without options the scripted researcher is the model: no key, no network, the same numbers every time.

  --base-url URL    an OpenAI-compatible provider, such as https://api.openai.com/v1
  --api-key KEY     its key; better in the environment variable EVAL_API_KEY
  --model NAME      its model
  --questions N     how many questions (70)
  --seed N          another world, other questions (1)
  --effort E        low, medium or high (medium)
  --parallel N      questions at a time (4)
  --json            every score as JSON instead of the table
  --write           put the table into docs/evaluation.md
`;
const DOCUMENT = new URL('../../docs/evaluation.md', import.meta.url);

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const { 'base-url': baseUrl, 'api-key': apiKey, model, effort } = values;
if ((baseUrl === undefined) !== (model === undefined)) refuse('--base-url and --model belong together.');
if (effort !== 'low' && effort !== 'medium' && effort !== 'high') refuse('--effort is low, medium or high.');
const evaluation = await evaluate({
  seed: wholeNumber('seed'),
  questions: wholeNumber('questions'),
  parallel: wholeNumber('parallel'),
  effort,
  ...(baseUrl === undefined || model === undefined
    ? {}
    : { provider: { baseUrl, model, ...(apiKey === '' ? {} : { apiKey }) } }),
  onScore: ({ question, correct, tokens }) => {
    process.stderr.write(`${correct ? 'right' : 'wrong'}  ${String(tokens).padStart(7)} tokens  ${question}\n`);
  },
});
const table = report(evaluation);
process.stdout.write(values.json ? `${JSON.stringify(evaluation, null, 2)}\n` : `${table}\n`);
if (values.write) {
  const text = await readFile(DOCUMENT, 'utf8');
  const written = text.replace(
    /(<!-- results -->\n)[\s\S]*?(\n<!-- end of results -->)/,
    (_, open, close) => `${open}\n${table}\n${close}`,
  );
  await writeFile(DOCUMENT, written);
}

function wholeNumber(name: 'seed' | 'questions' | 'parallel'): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1) refuse(`--${name} is a whole number from 1.`);
  return value;
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n\n${HELP}`);
  process.exit(2);
}
