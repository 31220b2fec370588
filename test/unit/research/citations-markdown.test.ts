import assert from 'node:assert/strict';
import fc from 'fast-check';
import { answerPart } from '../../../src/protocol/items.ts';
import { citedAnswer, coveredBy, readSources } from '../../support/cited-answer.ts';
import { lookups, runResearch } from '../../support/research-run.ts';
import { testTool } from '../../support/run-harness.ts';

const four = readSources(
  'https://a.example/one',
  'https://b.example/two',
  'https://c.example/three',
  'https://d.example/four',
);

/** What each annotation covers in the text, with its source. */
function cited(text: string, sources = four): [string, number | null][] {
  const answer = citedAnswer(text, sources);
  for (const { verified, source_id } of answer.annotations) assert.equal(verified, source_id !== null);
  return coveredBy(answer);
}

describe('markers in an answer', () => {
  it('do not count in code, wherever that stands', () => {
    for (const code of [
      '```js\nconst x = list[1];\n```',
      '~~~\nlist[2]\n~~~',
      '- a list\n  ```\n  rows[1]\n  ```',
      '> ```\n> quoted[3]\n> ```',
      'The call `rows[1]` is made.',
      'Twice ``a ` b[2]`` so.',
      '````\n```\nx[1]\n```\ny[2]\n````',
      '```\nnever closed[1]',
    ]) {
      assert.deepEqual(cited(code), [], code);
      assert.equal(citedAnswer(code, four).text, code, 'nor is code rewritten');
    }
  });

  it('count beside code', () => {
    assert.deepEqual(cited('It `runs` [1].\n\n```\nx[2]\n```\n\nAnd ends [3].'), [
      ['[1]', 1],
      ['[2]', 3],
    ]);
    assert.deepEqual(cited('A lone ` tick [1].\n\nAnother ` here [2].'), [
      ['[1]', 1],
      ['[2]', 2],
    ]);
  });

  it('are read in the forms that models write', () => {
    for (const [text, marker, ids] of [
      ['So [1-3].', '[1, 2, 3]', [1, 2, 3]],
      ['So [1–2, 4].', '[1, 2, 3]', [1, 2, 4]],
      ['So [4, 2, 4].', '[1, 2]', [4, 2]],
      ['So [source_id: 2].', '[1]', [2]],
      ['So [source_id=2].', '[1]', [2]],
      ['So [^2^].', '[1]', [2]],
      ['So [Source 2, 3].', '[1, 2]', [2, 3]],
      ['So [^3].', '[1]', [3]],
      ['So it is[3].', '[1]', [3]],
      ['所以【3†L10-L12】。', '[1]', [3]],
      ['所以［1、2］。', '[1, 2]', [1, 2]],
      ['所以［ ２ ］。', '[1]', [2]],
      ['So [citation:3].', '[1]', [3]],
      ['So [cite: 2, 3].', '[1, 2]', [2, 3]],
      ['هكذا [٢، ٣].', '[1, 2]', [2, 3]],
    ] as const)
      assert.deepEqual(
        cited(text),
        ids.map((id) => [marker, id]),
        text,
      );
  });

  it('with years and other numbers are not reported as missing sources', () => {
    for (const text of ['Founded [1871].', 'From [2019-2021].', 'Item [1024]', 'In [0, 1].', '[2](#two)'])
      assert.deepEqual(citedAnswer(text, four), { text, annotations: [], unknown: [] }, text);
    assert.deepEqual(citedAnswer('Unknown [12].', four).unknown, [12]);
  });

  it('in a reference list are found with their URLs', () => {
    assert.deepEqual(
      cited('Sources:\n[1] https://a.example/one\n[2]: https://b.example/two\n1. Not one\n- [ ] nor this'),
      [
        ['[1]', 1],
        ['https://a.example/one', 1],
        ['[2]', 2],
        ['https://b.example/two', 2],
      ],
    );
  });

  it('keep their ranges after emoji, flags, combining marks and CJK', () => {
    const before = fc.array(
      fc.constantFrom('👩‍👩‍👧', '🇸🇪', 'é', 'ñ', '深度', 'क्षि', '\u{20bb7}', ' a ', '`x[9]`', '\n\n'),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(before, before, (left, right) => {
        const text = `${left.join('')}[1]${right.join('')} https://b.example/two `;
        const found = cited(text);
        assert.deepEqual(found.at(0), ['[1]', 1]);
        assert.deepEqual(found.at(-1), ['https://b.example/two', 2]);
      }),
      { seed: 5, numRuns: 200 },
    );
  });
});

describe('URLs in an answer', () => {
  it('end where the sentence around them continues', () => {
    for (const [text, url] of [
      ['[One](https://a.example/one) and', 'https://a.example/one'],
      ['[https://a.example/one](https://a.example/one)', 'https://a.example/one'],
      ['| https://a.example/one | cell |', 'https://a.example/one'],
      ['|https://a.example/one|cell|', 'https://a.example/one'],
      ['[One](https://a.example/one "A title")', 'https://a.example/one'],
      ['详见https://a.example/one是官方网站', 'https://a.example/one'],
      ['https://a.example/one🎉 hurra', 'https://a.example/one'],
      ["it's 'https://a.example/one'", 'https://a.example/one'],
      ['_https://a.example/one_', 'https://a.example/one'],
      ['~~https://a.example/one~~', 'https://a.example/one'],
      ['<a href="https://a.example/one">x</a>', 'https://a.example/one'],
      ['https://a.example/one…', 'https://a.example/one'],
      ['`https://a.example/one`', 'https://a.example/one'],
    ] as const) {
      const found = cited(text);
      assert.ok(found.length > 0, text);
      for (const [covered, id] of found) assert.deepEqual([covered, id], [url, 1], text);
    }
  });

  it('keep the punctuation that belongs to them', () => {
    for (const url of [
      'https://en.example/wiki/Yahoo!',
      "https://en.example/wiki/O'Connor",
      'https://en.example/wiki/Run_(complete)',
      'https://zh.example/wiki/北京',
      'https://zh.example/wiki/GDP北京',
      'https://x.example/?a[]=1&b=(2)',
      'https://x.example/a,b;c',
      'https://x.example/~ann/notes_',
    ]) {
      const sources = readSources(url);
      for (const text of [`See ${url}.`, `(${url})`, `**${url}**`, `[x](${url}), and`])
        assert.deepEqual(cited(text, sources), [[url, 1]], text);
    }
    assert.deepEqual(cited('见 https://zh.example/wiki/北京。'), [['https://zh.example/wiki/北京', null]]);
  });

  it('in code are examples, not sources', () => {
    assert.deepEqual(cited('```\ncurl https://a.example/one\n```\nRun `curl https://a.example/one`.'), []);
  });

  it('match a source by the address that it redirected to', async () => {
    const page = {
      url: 'https://short.example/x',
      final_url: 'https://long.example/the/page',
      title: 'P',
      content: 'Text.',
    };
    const fetcher = testTool('lookup', () => ({
      result: '',
      sources: [{ url: page.url, title: page.title, snippet: '', kind: 'read' }],
    }));
    const { message } = await runResearch({
      turns: [{ calls: lookups('a') }],
      tools: [
        { ...fetcher, call: async (args, context) => ({ ...(await fetcher.call(args, context)), result: () => page }) },
      ],
      answers: [{ text: ['See https://long.example/the/page and https://other.example/.'] }],
    });
    assert.deepEqual(
      answerPart(message)?.annotations.map(({ url, source_id, verified }) => [url, source_id, verified]),
      [
        ['https://long.example/the/page', 1, true],
        ['https://other.example/', null, false],
      ],
    );
  });

  it('of pages that could not be fetched are not verified', async () => {
    const failing = testTool('lookup', () => ({
      result: '{"error":{"message":"404","code":"not_found"}}',
      failed: true,
    }));
    const { message, response } = await runResearch({
      turns: [{ calls: lookups('a') }],
      tools: [failing],
      answers: [{ text: ['See https://pages.example/a and [1].'] }],
    });
    assert.deepEqual(
      answerPart(message)?.annotations.map(({ verified }) => verified),
      [false],
    );
    assert.deepEqual(response.incomplete_details, { reason: 'no_sources' });
  });
});
