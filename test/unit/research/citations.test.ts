import assert from 'node:assert/strict';
import { answerPart } from '../../../src/protocol/items.ts';
import { urlKey } from '../../../src/research/run/sources.ts';
import { citedAnswer, coveredBy, readSources } from '../../support/cited-answer.ts';
import { isSlow } from '../../support/fair-time.ts';
import { lookups, runResearch } from '../../support/research-run.ts';

const three = readSources('https://a.example/one', 'https://b.example/two', 'corpus:///three.md');

/** What each annotation covers in the text, with its source. */
function cited(text: string, sources = three): [string, number | null, boolean][] {
  const answer = citedAnswer(text, sources);
  const verified = answer.annotations.map((annotation) => annotation.verified);
  return coveredBy(answer).map(([covered, id], at) => [covered, id, verified[at] ?? false]);
}

describe('citations in an answer', () => {
  it('are markers with the range that they cover', () => {
    assert.deepEqual(cited('Runs survive [1]. Streams resume [3].'), [
      ['[1]', 1, true],
      ['[2]', 3, true],
    ]);
  });

  it('keep their ranges after emoji, combining marks and CJK, in UTF-16 code units', () => {
    const text = '👩‍🔬 says 深度研究は可能です[2]。é🇯🇵【1】 “näh”[3]';
    assert.deepEqual(cited(text), [
      ['[1]', 2, true],
      ['[2]', 1, true],
      ['[3]', 3, true],
    ]);
    const [first] = citedAnswer(text, three).annotations;
    assert.equal(first?.start_index, text.indexOf('[2]'));
  });

  it('with several numbers give one annotation per number, each over the whole marker', () => {
    for (const marker of ['[1, 2]', '[1,2]', '[1; 2]', '[1 , 2]'])
      assert.deepEqual(cited(`So it is ${marker}.`), [
        ['[1, 2]', 1, true],
        ['[1, 2]', 2, true],
      ]);
    assert.deepEqual(cited('So it is [1][2].'), [
      ['[1]', 1, true],
      ['[2]', 2, true],
    ]);
  });

  it('are bare URLs without the surrounding punctuation', () => {
    for (const [text, url] of [
      ['See https://a.example/one.', 'https://a.example/one'],
      ['(see https://a.example/one)', 'https://a.example/one'],
      ['See <https://a.example/one>, or not', 'https://a.example/one'],
      ['“https://a.example/one”', 'https://a.example/one'],
      ['**https://a.example/one**', 'https://a.example/one'],
      ['[One](https://a.example/one)!', 'https://a.example/one'],
      ['https://a.example/one?!', 'https://a.example/one'],
      ['見て https://a.example/one。そして', 'https://a.example/one'],
      ['corpus:///three.md;', 'corpus:///three.md'],
    ] as const) {
      const found = cited(text);
      assert.equal(found.length, 1, text);
      assert.equal(found[0]?.[0], url, text);
      assert.equal(found[0]?.[2], true, text);
    }
  });

  it('keep brackets that belong to the URL', () => {
    const sources = readSources('https://en.example/wiki/Run_(complete)');
    assert.deepEqual(cited('(https://en.example/wiki/Run_(complete))', sources), [
      ['https://en.example/wiki/Run_(complete)', 1, true],
    ]);
  });

  it('match a source by another spelling of its URL', () => {
    for (const url of [
      'https://a.example/one/',
      'https://a.example/one#part',
      'https://a.example/one?utm_source=x',
      'https://A.EXAMPLE/one',
      'https://a.example:443/one',
    ])
      assert.deepEqual(
        cited(`See ${url} now`).map(([, id]) => id),
        [1],
        url,
      );
    assert.notEqual(urlKey('https://a.example/one?page=2'), urlKey('https://a.example/one'));
  });

  it('are unverified and without a source for a URL that the run never saw', () => {
    const { annotations } = citedAnswer('See https://invented.example/page.', three);
    assert.equal(annotations.length, 1);
    assert.deepEqual(
      [annotations[0]?.verified, annotations[0]?.source_id, annotations[0]?.url, annotations[0]?.title],
      [false, null, 'https://invented.example/page', ''],
    );
  });

  it('become [?] without a source, and are reported but not annotated', () => {
    const found = citedAnswer('Known [1], unknown [7], half [2, 9], none [8-9]【77】.', three);
    assert.equal(found.text, 'Known [1], unknown [?], half [2], none [?][?].');
    assert.deepEqual(
      found.annotations.map((annotation) => annotation.source_id),
      [1, 2],
    );
    assert.deepEqual(found.unknown, [7, 9, 8, 9, 77]);
  });

  it('are not found in text that only looks like one', () => {
    for (const text of [
      'An array [1](https://x) is a link text'.replace('https://x', '#x'),
      'a [x] or [ ] or [1a] or [12345]',
      'http:// and https://',
    ])
      assert.deepEqual(cited(text), [], text);
  });

  it('are found quickly in long answers', () => {
    const text = `${'('.repeat(50_000)}https://a.example/${')'.repeat(50_000)} [1]`;
    const began = process.threadCpuUsage();
    const found = cited(text);
    assert.equal(found.at(-1)?.[1], 1);
    assert.ok(!isSlow(process.threadCpuUsage(began).user / 1000, 5000), 'less than five seconds of work');
  });
});

describe('citations of a run', () => {
  it('are sent as events as soon as they are complete, renumbered, and stand in the message', async () => {
    const { events, message } = await runResearch({
      turns: [{ calls: lookups('a', 'b') }],
      answers: [{ text: ['🐈 Cats sleep [', '2], ', 'dogs [1, 2]. See https://made.up/page. So.'] }],
    });
    const added = events.flatMap((event, at) =>
      event.type === 'response.output_text.annotation.added' ? [{ ...event, at }] : [],
    );
    assert.deepEqual(
      added.map(({ annotation_index: at, annotation }) => [
        at,
        annotation.index,
        annotation.source_id,
        annotation.verified,
      ]),
      [
        [0, 1, 2, true],
        [1, 2, 1, true],
        [2, 1, 2, true],
        [3, null, null, false],
      ],
    );
    const shownBefore = (at: number) =>
      events.slice(0, at).map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    for (const { at, annotation } of added)
      assert.ok(shownBefore(at).join('').length >= annotation.end_index, 'no citation is told before its marker');
    assert.equal(shownBefore(added[0]?.at ?? 0).join(''), '🐈 Cats sleep [1], ', 'nor later than it has to be');
    assert.equal(answerPart(message)?.text, '🐈 Cats sleep [1], dogs [2, 1]. See https://made.up/page. So.');
    assert.deepEqual(
      answerPart(message)?.annotations,
      added.map(({ annotation }) => annotation),
    );
  });
});
