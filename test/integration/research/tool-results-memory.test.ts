import assert from 'node:assert/strict';
import { CitedAnswer } from '../../../src/research/answer/cited-answer.ts';
import { ClaimChecker } from '../../../src/research/claims/claim-checker.ts';
import { SourceText } from '../../../src/research/claims/text/source-text.ts';
import type { ResearchState } from '../../../src/research/run/state.ts';
import { readSources } from '../../support/cited-answer.ts';
import { collectAll } from '../../support/collect-garbage.ts';
import { lookups, runResearch, toolMessages } from '../../support/research-run.ts';
import { testConfig, testTool } from '../../support/run-harness.ts';

const LENGTH = 100_000;
const FIRST = 5;
const LAST = 45;

describe('tool results', () => {
  it('are held in memory once per run, by transcript, log and requests together', async () => {
    let calls = 0;
    let before = 0;
    let grown = 0;
    const long = testTool('lookup', ({ q }) => {
      calls++;
      if (calls === FIRST || calls === LAST) {
        collectAll();
        const { heapUsed } = process.memoryUsage();
        if (calls === FIRST) before = heapUsed;
        else grown = heapUsed - before;
      }
      return { result: JSON.stringify({ found: `${q} ${'.'.repeat(LENGTH)}` }), sources: [] };
    });
    const { asked } = await runResearch({
      config: testConfig({ model: { context_length: 4_000_000 } }),
      tools: [long],
      turns: Array.from({ length: LAST }, (_, n) => ({ calls: lookups(`word${n}`) })),
      request: { effort: 'high' },
    });
    const sent = toolMessages(asked.research.at(-1));
    assert.equal(calls, LAST);
    assert.ok(sent.length === LAST && sent.every((content) => content.length > LENGTH));
    const share = grown / ((LAST - FIRST) * LENGTH);
    assert.ok(share > 0.6 && share < 1.4, `${share.toFixed(2)} bytes are held for each that a tool said`);
  });
});

describe('texts of sources', () => {
  const opened: string[] = [];
  const { openInSteps } = SourceText;
  beforeEach(() => {
    opened.length = 0;
    SourceText.openInSteps = (source) => {
      opened.push(source.title);
      return openInSteps.call(SourceText, source);
    };
  });
  afterEach(() => {
    SourceText.openInSteps = openInSteps;
  });

  it('are parsed only if they are cited, once, and in steps', async () => {
    const sources = readSources('https://a.example/', 'https://b.example/', 'https://c.example/');
    const [a, b, c] = sources.all();
    assert.ok(a && b && c);
    const results: ResearchState['results'] = new Map(
      sources.all().map((source) => {
        const content = `The lake is 40 m deep. ${'It rains a lot here. '.repeat(10_000)}`;
        const result = JSON.stringify({ source_id: source.id, content });
        return [source.id, { t: 'result', call: 0, status: 'completed', result, sources: [source], queries: 0 }];
      }),
    );
    const claims = await ClaimChecker.of({ results, calls: new Map() });
    assert.deepEqual(opened, []);
    const answer = new CitedAnswer(sources, undefined, { claims });
    const said = 'The lake is 40 m deep [2]. It is 40 m deep [2].';
    const steps = [...answer.pushInSteps(said), ...answer.endInSteps()];
    assert.deepEqual(opened, [b.title]);
    assert.ok(steps.length > 20, `${steps.length} steps for 200 000 characters`);
    assert.deepEqual(
      steps.flatMap(({ annotations }) => annotations.map(({ support }) => support)),
      ['quoted', 'quoted'],
    );
    assert.deepEqual(
      (await claims.read([a, b])).map(([{ id }]) => id),
      [a.id, b.id],
    );
    assert.deepEqual(opened, [b.title, a.title]);
    assert.equal(claims.check('The lake is 40 m deep ', c).support, 'quoted');
  });
});
