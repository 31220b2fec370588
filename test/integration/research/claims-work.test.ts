import assert from 'node:assert/strict';
import { CLAIM_FILES, readPairs } from '../../../bench/eval/claims/pairs.ts';
import { scoreClaims } from '../../../bench/eval/claims/run-claims.ts';
import { leavesOf } from '../../../src/research/claims/json-leaves.ts';
import { citeLeaves } from '../../../src/research/claims/leaf-sources.ts';
import { findSupport } from '../../../src/research/claims/support.ts';
import { parseSentence } from '../../../src/research/claims/text/parse-sentence.ts';
import { SourceText } from '../../../src/research/claims/text/source-text.ts';
import { claimsOf } from '../../support/claims-of.ts';
import { collectAll } from '../../support/collect-garbage.ts';
import { growsTooFast } from '../../support/fair-time.ts';

describe('a sentence of very many figures and dates', () => {
  for (const part of ['7 a ', 'in 1999 ', 'one hundred ', '12,5 % ', 'May ']) {
    it(`is read in linear time: “${part.trim()} …”`, () => {
      const grows = growsTooFast((share) => {
        const text = part.repeat(16_000 * share);
        return () => parseSentence(text);
      });
      assert.ok(!grows);
    });
  }
});

describe('the claim pairs that the rules were made with', () => {
  it('are judged no worse than before by the rules, and as required with a model', async () => {
    const { found, doubted, withModel } = await scoreClaims('made-with');
    assert.ok(found >= 0.79 && doubted <= 0.12, `by rules alone found ${found}, doubted ${doubted}`);
    assert.ok(withModel.found >= 0.99 && withModel.doubted <= 0.015, `found ${withModel.found}`);
  });

  it('get passages that stand word for word in their source, of 400 characters at most', async () => {
    const longOf = (passage: string) => `Before it.\n\n${passage}\n${passage.repeat(3)}`;
    // Sentences of one passage follow each other.
    let source = SourceText.open({ title: '', text: '' });
    let opened: { passage?: string; subject?: string } = {};
    for (const { sentence, passage, subject } of (await Promise.all(CLAIM_FILES.map(readPairs))).flat()) {
      const long = longOf(passage);
      if (opened.passage !== passage || opened.subject !== subject) {
        source = SourceText.open({ title: subject, text: long });
        opened = { passage, subject };
      }
      const { passage: range } = findSupport(parseSentence(sentence), source);
      if (!range) continue;
      const cited = source.text.slice(range.start, range.end);
      assert.ok(cited.length <= 400 && cited.trim() !== '' && long.includes(cited), sentence);
    }
  });
});

describe('the values of a structured answer', () => {
  it('are looked up in a million sentences', async () => {
    const { claims, sources } = await claimsOf(`${'A 1\n'.repeat(99_000)}The harbour has 1.25 million guests.`);
    const citedOf = async (...guests: number[]) =>
      (await citeLeaves(JSON.stringify({ guests }), { marked: [], claims, sources })).length;
    assert.equal(await citedOf(1_250_000), 1);
    assert.equal(await citedOf(...Array.from({ length: 10 }, (_, n) => 1_300_001 + n), 1_250_000), 0);
  });

  it('are looked up with pauses, and leave none of the sentences in memory', async () => {
    const towns = Array.from({ length: 5000 }, (_, n) => `Town ${n} of the land had ${n * 7} people in 2019.`);
    const { claims, sources } = await claimsOf(towns.join('\n'));
    const [[, text] = []] = await claims.read(sources);
    assert.ok(text);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    const heap = () => {
      collectAll();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    setImmediate(count);
    await citeLeaves('{"opened":"2019"}', { marked: [], claims, sources });
    isOver = true;
    assert.ok(turns > 20, `${turns} turns of the event loop`);
    for (let index = 0; index < text.sentences; index++) text.sentence(index);
    const kept = heap() - before;
    assert.ok(kept < 8e6, `${kept} bytes are kept`);
  });
});

describe('the values of a structured answer, counted', () => {
  it('take linear time if there are very many, nested or side by side', () => {
    const long = 'x'.repeat(10_000);
    const answers: ((share: number) => string)[] = [
      (share) => `[${'"a",'.repeat(16_000 * share)}1]`,
      (share) => `[${'1,'.repeat(32_000 * share)}1]`,
      (share) => `{${Array.from({ length: 10_000 * share }, (_, n) => `"k${n}":"v"`).join()}}`,
      (share) => `${'['.repeat(5000 * share)}${'1,'.repeat(10_000 * share)}1${']'.repeat(5000 * share)}`,
      (share) => `{"${long}":[${'1,'.repeat(20_000 * share)}1]}`,
      (share) => `${'{"a":'.repeat(40_000 * share)}1${'}'.repeat(40_000 * share)}`,
    ];
    for (const answer of answers) {
      const grows = growsTooFast((share) => {
        const json = answer(share);
        return () => [...leavesOf(json)].at(-1);
      });
      assert.ok(!grows, answer(1).slice(0, 20));
    }
    const deep = (levels: number) => [...leavesOf(`${'['.repeat(levels)}1${']'.repeat(levels)}`)].length;
    assert.deepEqual([deep(64), deep(65)], [1, 0], 'nobody reads what lies deeper');
    assert.equal(leavesOf(`{"${long}":[1]}`).next().value?.about[0]?.length, 200);
  });
});
