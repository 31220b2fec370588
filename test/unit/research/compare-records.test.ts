import assert from 'node:assert/strict';
import { disagreements, foldDuplicates, uncoveredBy } from '../../../src/research/context/compare-records.ts';
import type { TurnFindings } from '../../../src/research/context/findings.ts';
import type { EvidenceRecord } from '../../../src/research/run/evidence.ts';

/** What a very long run found: as many notes as results, each result with six records. */
function longRun(): TurnFindings[] {
  const record = (by: EvidenceRecord['by'], turn: number, n: number): EvidenceRecord => {
    const text = `Tower ${n} of the ${n % 17}th city has ${n * 7} floors of granite, built by masons from harbour ${n}.`;
    const words = by === 'model' ? { quote: '', note: text } : { quote: text, note: '' };
    return { by, turn, source: n, weight: 1, at: null, ...words };
  };
  return Array.from({ length: 300 }, (_, turn) => {
    const numbers = [0, 1, 2, 3].map((n) => turn * 4 + n);
    const results = numbers.map((n) => ({
      call: { call: n, id: `c${n}`, name: 'web_search', arguments: '{}' },
      records: Array.from({ length: 6 }, (_, at) => record('tool', turn, n * 6 + at)),
    }));
    return { turn, notes: numbers.map((n) => record('model', turn, n)), results };
  });
}

/** How many turns of the event loop pass while this is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

describe('the findings of a run of 300 turns', () => {
  it('are compared with pauses for other work', async () => {
    const found = longRun();
    const notes = found.flatMap((turn) => turn.notes);
    const results = found.flatMap((turn) => turn.results);
    const about = new Set(['tower']);
    for (const work of [
      () => foldDuplicates(found, []),
      () => uncoveredBy(results, notes),
      () => disagreements(found, { earlier: [], about }),
    ])
      assert.ok((await turnsDuring(work)) > 2, String(work));
  });
});
