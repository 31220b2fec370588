import assert from 'node:assert/strict';
import fc from 'fast-check';
import { digest } from '../../../src/research/context/tool-digest.ts';
import { keyFacts, keywords, splitSentences } from '../../../src/research/text/key-facts.ts';

const FILLER = 'The weather was pleasant and people went about their day as they always do in this part. ';
const FACT = 'The Vasa bridge opened on 14 May 1932 and carries 12 500 vehicles a day.';
const ABOUT = keywords('When did the Vasa bridge open?');

describe('key facts of a text', () => {
  it('are the sentences that the question is about', () => {
    const text = FILLER.repeat(20) + FACT + FILLER.repeat(20);
    const facts = keyFacts(text, { about: ABOUT, maxLength: 200 });
    assert.ok(facts.includes(FACT));
  });

  it('are the whole text if it fits, with its spaces collapsed', () => {
    assert.equal(keyFacts('One.\n\n  Two.', { about: ABOUT, maxLength: 50 }), 'One. Two.');
  });

  it('stay in the order of the text', () => {
    const text = `First the Vasa bridge was planned. ${FILLER.repeat(8)}Then the Vasa bridge opened in 1932. ${FILLER.repeat(8)}`;
    const facts = keyFacts(text, { about: ABOUT, maxLength: 120 });
    assert.ok(facts.indexOf('planned') !== -1 && facts.indexOf('planned') < facts.indexOf('opened'), facts);
  });

  it('are whole sentences and whole rows of tables', () => {
    const text =
      'Dr. Brand v. Lund\n\n1. Am 2. Mai begann es. Es war kalt.\n\n| Town | 1932 |\n|---|---|\n| Lund | 12 500 |\n\nHome | About';
    assert.deepEqual(splitSentences(text), [
      'Dr. Brand v. Lund',
      '1. Am 2. Mai begann es.',
      'Es war kalt.',
      '| Town | 1932 |',
      '|---|---|',
      '| Lund | 12 500 |',
      'Home',
      'About',
    ]);
  });

  it('are found in CJK text', () => {
    const filler = '今日はとても良い天気でした。';
    const facts = keyFacts(`${filler.repeat(30)}ヴァーサ橋は一九三二年に開通した。${filler.repeat(30)}`, {
      about: keywords('ヴァーサ橋はいつ開通したか'),
      maxLength: 60,
    });
    assert.match(facts, /一九三二年に開通した/);
  });

  it('are never longer than asked for, and never empty', () => {
    fc.assert(
      fc.property(
        fc.lorem({ maxCount: 60, mode: 'sentences' }),
        fc.integer({ min: 30, max: 500 }),
        (text, maxLength) => {
          const facts = keyFacts(text, { about: keywords(text.slice(0, 40)), maxLength });
          assert.ok(facts.length <= maxLength);
          assert.ok(facts.length > 0);
        },
      ),
      { seed: 11, numRuns: 300 },
    );
    assert.ok(keyFacts('x'.repeat(5000), { about: ABOUT, maxLength: 100 }).length <= 100);
  });
});

describe('the digest of a tool result', () => {
  const call = { id: 'c', call: 0, name: 'fetch_url_content', arguments: '{"goal":"opening of the Vasa bridge"}' };
  const resultOf = (result: object | string) => ({
    t: 'result' as const,
    call: 0,
    status: 'completed' as const,
    result: typeof result === 'string' ? result : JSON.stringify(result),
    sources: [],
    queries: 0,
  });
  const about = new Set<string>();

  it('of a page has its number, its title and what the call was about', async () => {
    const page = { url: 'https://a.example', title: 'Bridges', content: FILLER.repeat(30) + FACT, source_id: 4 };
    const text = await digest(call, resultOf(page), { about, maxLength: 200 });
    assert.match(text, /^\[4\] Bridges: /);
    assert.ok(text.includes(FACT));
    assert.ok(text.length <= 210);
  });

  it('of a search has every hit with its number', async () => {
    const results = [1, 2, 3].map((n) => ({
      title: `Hit ${n}`,
      url: `https://h.example/${n}`,
      snippet: `${FILLER}${n}. ${FACT}`,
      source_id: n,
    }));
    const text = await digest(call, resultOf({ results }), { about, maxLength: 420 });
    assert.deepEqual(
      text.split('\n').map((line) => /^\[\d\] Hit \d/.exec(line)?.[0]),
      ['[1] Hit 1', '[2] Hit 2', '[3] Hit 3'],
    );
    assert.ok(text.length <= 430);
  });

  it('of a failure or an empty search says so', async () => {
    assert.equal(
      await digest(call, resultOf({ error: { message: 'Gone.', code: 'x' } }), { about, maxLength: 100 }),
      'failed: Gone.',
    );
    assert.equal(await digest(call, resultOf({ results: [] }), { about, maxLength: 100 }), 'nothing was found');
  });

  it('of plain text is its key facts', async () => {
    assert.ok((await digest(call, resultOf(FILLER.repeat(30) + FACT), { about, maxLength: 150 })).includes(FACT));
  });
});
