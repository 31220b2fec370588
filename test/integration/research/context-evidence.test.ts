import assert from 'node:assert/strict';
import type { TurnFindings } from '../../../src/research/context/findings.ts';
import { ledgerBlock } from '../../../src/research/context/ledger.ts';
import { notesIn } from '../../../src/research/context/model-notes.ts';
import { recordsOf } from '../../../src/research/context/result-records.ts';
import type { EvidenceRecord } from '../../../src/research/run/evidence.ts';
import { estimateTokens } from '../../../src/upstream/decoding/estimate.ts';
import { codesIn, handbook } from '../../support/handbook.ts';
import { longRun, readOrSearch } from '../../support/long-run.ts';
import type { TurnScript } from '../../support/scripted-provider.ts';
import { patience } from '../../support/time-limit.ts';

const NAMES = ['Ottilie Brandt', 'Kasimir Holt', 'Wanda Pell', 'Ruben Asch', 'Mira Tolk', 'Jonas Quist', 'Edda Varn'];

/** A fact that is in no page and shares no word with the question, so that it can reach the answer only as a note. */
const noteOf = (n: number) => `Lantern number ${n} belongs to ${NAMES[n % NAMES.length]} since ${1500 + n} [${n}].`;
const NOTED = /Lantern number (\d+) belongs to (\w+ \w+) since (\d+)/g;

function notedIn(text: string): Set<number> {
  const found = text.matchAll(NOTED).filter(([, n, name, year]) => {
    return name === NAMES[Number(n) % NAMES.length] && Number(year) === 1500 + Number(n);
  });
  return new Set([...found].map(([, n]) => Number(n)));
}

describe('facts in the model’s notes and in results', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  for (const [context, turns, max, where] of [
    [8000, 60, 1000, 'its message'],
    [8192, 60, 2000, 'its thoughts'],
    [16_000, 60, 2000, 'its message'],
    [32_000, 80, 8000, 'its thoughts'],
  ] as const) {
    it(`noted in ${where} all reach the answer: ${turns} turns in ${context} tokens`, async () => {
      const calls = (n: number): TurnScript => {
        const text = `I look at chapter ${n} of the handbook now. ${noteOf(n)} That may help.`;
        const call = readOrSearch(n);
        return where === 'its message' ? { toolCalls: call.toolCalls ?? [], text } : { ...call, reasoning: text };
      };
      const book = handbook({ chapters: turns, length: 5000 });
      let arrived = new Set<number>();
      let told: ReadonlyMap<number, string> = new Map();
      const { response } = await longRun({
        book,
        turns,
        context,
        model: { max_completion_tokens: max },
        calls,
        answer: (text) => {
          arrived = notedIn(text);
          told = codesIn(text);
          return 'It is known.';
        },
      });
      assert.equal(response.status, 'completed');
      const all = Array.from({ length: turns }, (_, i) => i + 1);
      const missing = [arrived, told].map((facts) => all.filter((n) => !facts.has(n)));
      assert.deepEqual(missing, [[], []]);
    });
  }

  for (const [context, max] of [
    [8000, 1000],
    [8192, 2000],
    [8000, 16_384],
  ] as const) {
    it(`of results all reach the answer without notes: 60 turns in ${context} tokens`, async () => {
      const book = handbook({ chapters: 60, length: 5000 });
      const { told } = await longRun({ book, turns: 60, context, model: { max_completion_tokens: max } });
      assert.equal(told.size, 60);
    });
  }
});

const call = (n: number, args: object = {}) => ({
  id: `call_${n}`,
  call: n,
  name: 'fetch_url_content',
  arguments: JSON.stringify(args),
});
const about = new Set(['tower', 'high', 'bridge']);
const titleOf = (source: number) => `Page ${source}`;

function record(turn: number, source: number, quote: string): EvidenceRecord {
  return { turn, by: 'tool', source, quote, at: 0, note: '', weight: 1 };
}

function found(turn: number, ...records: EvidenceRecord[]): TurnFindings {
  return { turn, notes: [], results: [{ call: call(turn), records }] };
}

describe('the evidence records of a result', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  it('contain the words of the source and their position', async () => {
    const filler = 'Nothing of use stands in this line of the page. '.repeat(60);
    const content = `${filler}\nThe tower is  112 m\nhigh. ${filler}`;
    const result = { status: 'completed' as const, result: JSON.stringify({ content, source_id: 7 }) };
    const records = await recordsOf(call(1, { offset: 5000 }), result, { about, turn: 3 });
    const best = records.toSorted((a, b) => b.weight - a.weight)[0];
    assert.ok(best);
    assert.equal(best.quote, 'The tower is 112 m');
    assert.equal(best.at, 5000 + content.indexOf('The tower'));
    assert.deepEqual([best.source, best.turn, best.by], [7, 3, 'tool']);
  });

  it('are empty for failures and broken results', async () => {
    for (const result of ['{"error":{"message":"gone"}}', '{"results":[]}']) {
      assert.deepEqual(await recordsOf(call(1), { status: 'completed', result }, { about, turn: 1 }), []);
    }
    assert.deepEqual(await recordsOf(call(1), { status: 'failed', result: 'x' }, { about, turn: 1 }), []);
  });

  it('are taken from a page of 120 000 characters without blocking the event loop', async () => {
    const content = 'The tower of Elmsworth was opened in 1871 and holds 12 things. '.repeat(1900);
    const result = { status: 'completed' as const, result: JSON.stringify({ content }) };
    let turns = 0;
    const tick = setInterval(() => turns++, 0);
    await recordsOf(call(1), result, { about, turn: 1 });
    clearInterval(tick);
    assert.ok(turns >= 3, `the event loop turned ${turns} times`);
  });
});

describe('the notes of a turn', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  const notes = (text: string, reasoning = '') =>
    notesIn({ text, reasoning }, { turn: 1, about }).map(({ note }) => note);

  it('contain findings, not plans', () => {
    const text =
      'I will look for the tower now. The tower is 112 m high [3]. Let me search for more. Is it the highest? ' +
      'I found that the bridge is closed. We should check page 12. - Noted: Edda Varn built it.';
    assert.deepEqual(notes(text), [
      'The tower is 112 m high [3].',
      'I found that the bridge is closed.',
      'Edda Varn built it.',
    ]);
  });

  it('come from its thoughts too, each once', () => {
    assert.deepEqual(
      notes('The tower is 112 m high [3].', 'So: the tower is 112 m high [3]. The TOWER is 112 m high [3].'),
      ['The tower is 112 m high [3].', 'So: the tower is 112 m high [3].'],
    );
  });

  it('are bounded to those with the most facts', () => {
    const many = Array.from({ length: 400 }, (_, n) => `The page of ${n} has more to say than others.`).join(' ');
    const kept = notes(`${many} The tower is 112 m high [3].`);
    assert.ok(kept.join('').length <= 2000);
    assert.ok(kept.includes('The tower is 112 m high [3].'));
  });
});

describe('the findings block', function () {
  // Runs take many turns.
  this.timeout(patience(30));
  it('states a fact once, and names other sources that say the same', async () => {
    const first = found(1, record(1, 1, 'The tower of Vasa is 112 m high.'));
    const second = found(
      2,
      record(2, 2, 'The tower of Vasa is 112 m high.'),
      record(2, 3, 'The bridge of Lund is closed.'),
    );
    const block = await ledgerBlock([first, second], { tokens: 400, earlier: [], about, titleOf });
    assert.equal(block.split('112 m').length, 2, block);
    assert.match(block, /\[2\] says the same as \[1\]/);
    const later = await ledgerBlock([found(3, record(3, 1, 'The tower of Vasa is 112 m high.'))], {
      tokens: 400,
      earlier: [first, second],
      about,
      titleOf,
    });
    assert.equal(later, '');
  });

  it('lists sources that disagree side by side, across blocks too', async () => {
    const first = found(1, record(1, 1, 'The tower of Vasa is 112 m high.'));
    const second = found(2, record(2, 2, 'The tower of Vasa is 120 m high.'));
    for (const [turns, earlier] of [
      [[first, second], []],
      [[second], [first]],
    ] as const) {
      const block = await ledgerBlock(turns, { tokens: 400, earlier, about, titleOf });
      assert.match(block, /Sources disagree: \[1\] .*112 m high\. — \[2\] .*120 m high\./);
    }
  });

  it('treats figures in another notation as the same', async () => {
    const first = found(1, record(1, 1, 'The tower of Vasa holds 1,200 people.'));
    const second = found(2, record(2, 2, 'The tower of Vasa holds 1200 people.'));
    const third = found(3, record(3, 3, 'The tower of Vasa holds 1,300 people.'));
    const block = await ledgerBlock([first, second, third], { tokens: 400, earlier: [], about, titleOf });
    assert.match(block, /\[2\] says the same as \[1\]/);
    assert.equal(block.match(/Sources disagree/g)?.length, 1, block);
    assert.match(block, /Sources disagree: \[1\] .*1,200 people\. — \[3\] .*1,300 people\./);
  });

  it('covers the whole run within its token limit', async () => {
    const turns = Array.from({ length: 120 }, (_, n) =>
      found(
        n,
        record(n, n + 1, `The keeper ${n} of the tower in the town of Elmsworth opened gate ${n * 3} that year.`),
      ),
    );
    for (const tokens of [200, 1000, 4000, 9000]) {
      const block = await ledgerBlock(turns, { tokens, earlier: [], about, titleOf });
      assert.ok(estimateTokens(block) <= tokens + 40, `${estimateTokens(block)} of ${tokens}`);
      const numbers = [...block.matchAll(/keeper (\d+)/g)].map(([, n]) => Number(n));
      assert.ok(Math.min(...numbers) < 30 && Math.max(...numbers) > 90, 'both beginning and end are kept');
    }
  });
});
