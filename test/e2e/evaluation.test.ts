import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Evaluation, evaluate } from '../../bench/eval/evaluate.ts';
import { askQuestions, planOf } from '../../bench/eval/questions.ts';
import { report } from '../../bench/eval/report.ts';
import { runReports } from '../../bench/eval/reports/run-reports.ts';
import { startResearcher } from '../../bench/eval/researcher-server.ts';
import { summarise } from '../../bench/eval/scores.ts';
import { makeWorld } from '../../bench/eval/world.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';

const RUN = fileURLToPath(new URL('../../bench/eval/run.ts', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/evaluation.md', import.meta.url));

describe('the evaluation', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let evaluation: Evaluation;
  before(async () => {
    evaluation = await evaluate({ seed: 1, questions: 14, effort: 'medium', parallel: 4 });
  });

  it('asks multi-hop questions about at least 200 documents, and every run completes', () => {
    assert.ok(evaluation.documents >= 200);
    assert.equal(evaluation.scores.length, 14);
    assert.deepEqual(new Set(evaluation.scores.map((each) => each.hops)), new Set([1, 2, 3, 4]));
    assert.ok(evaluation.scores.every((each) => each.completed));
  });

  it('finds, reads and cites what is needed, well above chance', () => {
    const { recallAt5, correct, citationPrecision, citationRecall, unverified } = summarise(evaluation.scores);
    assert.ok(recallAt5 > 0.6, `recall at 5 is ${recallAt5}`);
    assert.ok(correct > 0.5, `${correct} of the answers are right`);
    assert.ok(citationPrecision > 0.6 && citationRecall > 0.6, `${citationPrecision}, ${citationRecall}`);
    assert.equal(unverified, 0);
  });

  it('gives the same scores every time', async () => {
    const again = await evaluate({ seed: 1, questions: 5, effort: 'medium', parallel: 2 });
    const comparable = ({ scores }: Evaluation) =>
      scores.slice(0, 5).map(({ tokens: _, seconds: __, ...rest }) => rest);
    assert.deepEqual(comparable(again), comparable(evaluation));
  });

  it('makes the same questions from the same seed, others from another, and understands each', () => {
    const questions = (seed: number) => askQuestions(makeWorld(seed), { seed, count: 70 });
    assert.deepEqual(questions(1), questions(1));
    assert.notDeepEqual(questions(1), questions(2));
    for (const question of [...questions(1), ...questions(5)]) {
      assert.ok(planOf(question.text), question.text);
      assert.ok(question.needed.length >= 2 && question.answer !== '');
      assert.ok(question.text.includes(question.needed[0] ?? ''));
    }
  });

  it('runs against a provider named on the command line, and never prints its key', async () => {
    await using provider = await startResearcher();
    const flags = ['--base-url', provider.url, '--model', 'some-model', '--api-key', 'sk-canary', '--questions', '2'];
    await using run = new Spawned(process.execPath, [RUN, ...flags]);
    assert.equal(await run.closed(), 0, run.output.err);
    assert.match(run.output.out, /^\| questions +\| +1 \| +1 \| +2 \|$/m);
    assert.doesNotMatch(run.output.out + run.output.err, /sk-canary/);
  });

  it('detects the inventions planted in reports', async () => {
    const { text } = await runReports({ reports: 1, json: true });
    const scores: { sentences: number; found: number; doubted: number; misquoted: number; broken: number }[] =
      JSON.parse(text);
    const [alone, checked] = scores;
    assert.ok(
      scores.every(({ misquoted, broken }) => misquoted + broken === 0) && checked && checked.found >= 0.95,
      text,
    );
    assert.ok(alone && alone.sentences > 30 && alone.found > 0.4 && alone.doubted < 0.5, text);
    assert.ok(checked.found > alone.found || alone.found === 1, text);
  });

  it('rejects flags that do not fit together', async () => {
    await using run = new Spawned(process.execPath, [RUN, '--base-url', 'http://127.0.0.1:1/v1']);
    assert.equal(await run.closed(), 2);
    assert.match(run.output.err, /--base-url and --model belong together/);
  });

  it('has its results in the documentation, in the format that it prints', () => {
    const results = /<!-- results -->\n([\s\S]*?)\n<!-- end of results -->/.exec(readFileSync(DOCUMENT, 'utf8'))?.[1];
    const names = (table: string) => [...table.matchAll(/^\| ([a-z][^|]*?) +\|/gm)].map((match) => match[1]);
    assert.deepEqual(names(results ?? ''), names(report(evaluation)));
  });
});
