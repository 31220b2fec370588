import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readQuestions } from '../../bench/eval/benchmarks/question-files.ts';
import { benchmarkTable, summariseBenchmark } from '../../bench/eval/benchmarks/report-benchmark.ts';
import { type BenchmarkOptions, runBenchmark } from '../../bench/eval/benchmarks/run-benchmark.ts';
import { bootstrap, wilson } from '../../bench/eval/benchmarks/statistics.ts';
import { startResearcher, type TakeTurn } from '../../bench/eval/researcher-server.ts';
import { patience } from '../support/time-limit.ts';

const xor = (text: string, key: Buffer) =>
  Buffer.from(Buffer.from(text).map((byte, at) => byte ^ (key[at % key.length] ?? 0))).toString('base64');

/** Answers questions about towers, and grades answers by the number they give. */
const model: TakeTurn = (messages) => {
  const text = messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
  const say = (answer: string) => ({ text: answer, calls: [] });
  if (text.includes('You grade an answer')) {
    const [, expected, given] = /Expected answer: (.*)\n\nGiven answer: (.*)/.exec(text) ?? [];
    return say(`Here it is: {"reason": "x", "grade": "${given?.includes(expected ?? '?') ? 'correct' : 'incorrect'}"}`);
  }
  if (text.includes('You compare two reports')) {
    const scores = [{ criterion: 'Depth', article_1_score: 6, article_2_score: 4 }];
    return say(JSON.stringify({ insight: scores, readability: scores }));
  }
  return say(/tower B/.test(text) ? 'It is 222 m tall.' : 'It is 111 m tall.');
};

describe('benchmarks from files of the operator', function () {
  // Gateways are started.
  this.timeout(patience(60));
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-benchmark-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const save = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };

  it('are read in the format of their authors, encrypted ones too', async () => {
    const simple = await save(
      'simple.csv',
      'metadata,problem,answer\n"{\'topic\': \'a, b\'}","How tall is ""tower A""?\nIn metres.",111\n{},Who?,Ann\n',
    );
    assert.deepEqual(await readQuestions('simpleqa', simple), [
      { id: '1', text: 'How tall is "tower A"?\nIn metres.', answer: '111' },
      { id: '2', text: 'Who?', answer: 'Ann' },
    ]);
    const canary = 'canary-1';
    const hash = createHash('sha256').update(canary).digest();
    const long = 'Which tower is it? '.repeat(4);
    const browse = await save(
      'browse.csv',
      `problem,answer,problem_topic,canary\n${xor(long, hash)},${xor('Tower Ä', hash)},x,${canary}\n`,
    );
    assert.deepEqual(await readQuestions('browsecomp', browse), [{ id: '1', text: long, answer: 'Tower Ä' }]);
    const key = Buffer.from(canary);
    const xbench = await save(
      'xbench.csv',
      `\ufeffid,prompt,answer,canary\r\n7,${xor('塔有多高？', key)},${xor('111', key)},${canary}\r\n`,
    );
    assert.deepEqual(await readQuestions('xbench', xbench), [{ id: '7', text: '塔有多高？', answer: '111' }]);
    await assert.rejects(readQuestions('browsecomp', simple), /row 1 has no canary/);
  });

  it('report a reproducible confidence interval', () => {
    const { low, high } = wilson(8, 10);
    assert.ok(Math.abs(low - 0.49) < 0.005 && Math.abs(high - 0.943) < 0.005);
    assert.deepEqual(bootstrap([0, 1, 1]), bootstrap([0, 1, 1]));
    assert.deepEqual(bootstrap([1, 1]), { mean: 1, low: 1, high: 1 });
  });

  it('are run, judged, compared, and resumed after an interruption, without storing any question', async () => {
    await using provider = await startResearcher(model);
    const config = () =>
      JSON.stringify({
        providers: { p: { base_url: provider.url } },
        models: {
          asked: {
            kind: 'research',
            routes: [{ provider: 'p', model: 'm' }],
            research: { tools: [] },
          },
          judging: { kind: 'research', routes: [{ provider: 'p', model: 'm' }], research: { tools: [] } },
        },
        keys: [{ id: 'own', secret: 'sk-own' }],
      });
    const configs = [await save('a.yaml', config()), await save('b.yaml', config())];
    const rows = ['A', 'B'].map((name, at) => ({
      id: name,
      question: `How tall is tower ${name}?`,
      answer: String(111 * (at + 1)),
    }));
    const questions = await save('own.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    const results = join(folder, 'results.jsonl');
    const options: BenchmarkOptions = {
      benchmark: 'jsonl',
      questions,
      configs,
      model: 'asked',
      judge: 'judging',
      limit: 10,
      parallel: 2,
      results,
    };
    const questionsRun: string[] = [];
    const first = await runBenchmark({ ...options, limit: 1 });
    assert.equal(first.length, 2, JSON.stringify(first));
    await appendFile(results, '{"config":"cut');
    await appendFile(results, '\n');
    const all = await runBenchmark({ ...options, onResult: ({ id }) => questionsRun.push(id) });
    assert.deepEqual(questionsRun, ['B', 'B']);
    assert.doesNotMatch(await readFile(results, 'utf8'), /How tall|tall/);
    const report = summariseBenchmark(all);
    assert.deepEqual(
      report.configs.map(({ questions: count, failed, score }) => [count, failed, score.mean]),
      [
        [2, 0, 1],
        [2, 0, 1],
      ],
      JSON.stringify(all),
    );
    assert.equal(report.difference?.questions, 2);
    assert.match(benchmarkTable(report), /no sure difference/);
    assert.ok(all.every(({ tokens }) => tokens > 0));

    await mkdir(join(folder, 'deep'));
    const criteria = (name: string) => ({ [name]: [{ criterion: 'Depth', explanation: 'x', weight: 1 }] });
    const deep = {
      'query.jsonl': { id: 1, language: 'en', prompt: 'Write about tower A.' },
      'criteria.jsonl': {
        id: 1,
        dimension_weight: { insight: 0.7, readability: 0.3 },
        criterions: { ...criteria('insight'), ...criteria('readability') },
      },
      'reference.jsonl': { id: 1, prompt: 'x', article: 'A reference.' },
    };
    for (const [name, row] of Object.entries(deep)) await save(join('deep', name), JSON.stringify(row));
    const [race] = await runBenchmark({
      ...options,
      benchmark: 'deepresearch',
      questions: join(folder, 'deep'),
      configs: configs.slice(0, 1),
      results: undefined,
    });
    assert.ok(race?.judgement, JSON.stringify(race));
    assert.ok(Math.abs(race.judgement.score - 0.6) < 1e-9);
    assert.deepEqual(race.judgement.fact, { cited: 0, supported: 0 });
  });
});
