import assert from 'node:assert/strict';
import { makePages } from '../../../bench/eval/pages/made/all-layouts.ts';
import { emptyTruth } from '../../../bench/eval/pages/made/article.ts';
import { scorePages } from '../../../bench/eval/pages/made-pages.ts';
import { PARTS, plain, scoreStructure, sumScores } from '../../../bench/eval/pages/structure.ts';
import { STRUCTURED_READERS } from '../../../bench/eval/pages/structured-readers.ts';

const URL = 'https://example.org/a/page';

describe('generated pages with known structure', () => {
  it('are the same for the same seed, and differ between judging and tuning', () => {
    const [first] = makePages(1, 'judging');
    assert.deepEqual(first, makePages(1, 'judging')[0]);
    assert.notEqual(first?.html, makePages(1, 'tuning')[0]?.html);
  });

  for (const { name, html, truth } of makePages(32, 'tuning')) {
    it(`contain what their ground truth lists: ${name}`, () => {
      const said = plain(
        html
          .replace(/<script[\s\S]*?<\/script>|<br>/g, '\n')
          .replace(/<sup>/g, '^')
          .replace(/<[^>]*>/g, ''),
      );
      const whole = said.replaceAll(' ', '');
      const wanted = [...truth.headings.map(({ text }) => text), ...truth.items, ...truth.captions, ...truth.authors];
      for (const piece of [
        ...wanted,
        ...truth.paragraphs,
        ...truth.rows.flat(),
        ...truth.codeLines,
        ...truth.clutter,
      ]) {
        assert.ok(whole.includes(plain(piece).replaceAll(' ', '')), piece);
      }
      assert.ok(truth.headings.length >= 5 && truth.clutter.length >= 4);
    });
  }

  it('are read by our reader with at least the minimum scores', async () => {
    const [reader] = STRUCTURED_READERS;
    assert.ok(reader);
    const scores = sumScores(await scorePages(reader, makePages(32, 'judging')));
    // Slightly below what it reaches today: `npm run eval:pages` prints the whole table.
    const atLeast = { headings: 0.98, paragraphs: 0.98, 'code lines': 0.98, cells: 0.98, items: 0.98, links: 0.97 };
    for (const [part, least] of Object.entries(atLeast)) {
      const { found, of } = scores[PARTS.find((one) => one === part) ?? 'headings'];
      assert.ok(found / of >= least, `${part}: ${found} of ${of}`);
    }
    assert.ok(scores.clutter.found / scores.clutter.of <= 0.03, `${scores.clutter.missed}`);
  });
});

describe('scoreStructure', () => {
  const score = (markdown: string, truth: Partial<ReturnType<typeof emptyTruth>>) =>
    scoreStructure(
      { ...emptyTruth(), ...truth },
      { markdown, dates: ['2024-03-09T08:00:00Z'], authors: 'By Ada Lovelace' },
      URL,
    );

  it('counts headings at their level, and allows shifting all levels', () => {
    const headings = [
      { level: 2, text: 'Comments' },
      { level: 3, text: 'Tags' },
    ];
    assert.equal(score('## Comments\n\n### Tags\n', { headings }).headings.found, 2);
    assert.equal(score('# Comments\n\n## Tags\n', { headings }).headings.found, 2);
    assert.equal(score('# 1.2 Comments\n\n## Tags\n', { headings }).headings.found, 2);
    assert.equal(score('## Comments\n\n## Tags\n', { headings }).headings.found, 1);
    assert.deepEqual(score('**Comments**\n', { headings }).headings.missed, ['2 comments', '3 tags']);
  });

  it('requires a paragraph in one piece, and exponents marked as such', () => {
    const paragraphs = ['One two [a link] and E = mc^2 .'];
    assert.equal(score('One **two** [a link](/x)[1] and E = mc² .\n', { paragraphs }).paragraphs.found, 1);
    assert.equal(score('One two a link and E = mc<sup>2</sup> .\n', { paragraphs }).paragraphs.found, 1);
    assert.equal(score('One two a link and E = mc2 .\n', { paragraphs }).paragraphs.found, 0);
    assert.equal(score('One two\n\na link and E = mc² .\n', { paragraphs }).paragraphs.found, 0);
  });

  it('requires code lines in code blocks with their indent, and cells in their row', () => {
    const codeLines = ['a:', '  - b'];
    assert.equal(score('```yaml\na:\n  - b\n```\n', { codeLines })['code lines'].found, 2);
    assert.equal(score('```\na:\n- b\n```\n', { codeLines })['code lines'].found, 1);
    assert.equal(score('a:\n', { codeLines })['code lines'].found, 0);
    const rows = [['x', '1.5 %']];
    assert.equal(score('| n | v |\n| --- | --- |\n| x | 1.5 % |\n', { rows }).cells.found, 2);
    assert.equal(score('| n | v |\n| --- | --- |\n| x | 2 |\n| y | 1.5 % |\n', { rows }).cells.found, 1);
    assert.equal(score('x 1.5 %\n', { rows }).cells.found, 0);
  });

  it('requires items in lists and links with their address, and finds dates, authors and clutter', () => {
    assert.equal(score('- one *two*\n- three\n', { items: ['one two', 'three'] }).items.found, 2);
    assert.equal(score('one two\n', { items: ['one two'] }).items.found, 0);
    const links = [{ text: 'log', url: '/log' }];
    assert.equal(score('See [the](/x) [log](https://example.org/log).\n', { links }).links.found, 1);
    assert.equal(score('See [log](https://example.org/other).\n', { links }).links.found, 0);
    const { dates, authors, clutter } = score('Updated March 10, 2024 by Bo. Accept cookies\n', {
      dates: ['2024-03-09', '2024-03-10', '2024-03-11'],
      authors: ['Ada Lovelace', 'Bo', 'Cy'],
      clutter: ['Accept cookies', 'Sign in'],
    });
    assert.deepEqual([dates.found, authors.found, clutter.found], [2, 2, 1]);
    assert.deepEqual(clutter.missed, ['Accept cookies']);
  });
});
