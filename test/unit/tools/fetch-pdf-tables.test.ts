import assert from 'node:assert/strict';
import type { PlacedText } from '../../../src/tools/fetch-url-content/reading/pdf/pdf-layout.ts';
import { sectionsOf } from '../../../src/tools/fetch-url-content/reading/pdf/pdf-tables.ts';
import { isSlow } from '../../support/fair-time.ts';

const piece = (text: string, x: number, y: number): PlacedText => ({ text, x, y, width: text.length * 5, height: 10 });
const row = (y: number, ...cells: [text: string, x: number][]) => cells.map(([text, x]) => piece(text, x, y));
const numbers = Array.from({ length: 8 }, (_, at) => at);
const kinds = (pieces: readonly PlacedText[]) => sectionsOf(pieces).map(({ kind }) => kind);
const tables = (pieces: readonly PlacedText[]) =>
  sectionsOf(pieces).flatMap((section) => (section.kind === 'table' ? [section.rows] : []));

describe('tables on PDF pages', () => {
  it('are rows with aligned cells, and leave the text around them as it is', () => {
    const page = [
      piece('Stations of the coast and what they have measured so far', 50, 760),
      ...row(730, ['Station', 50], ['Range', 200], ['Since', 300]),
      ...row(716, ['Wick', 50], ['2.8', 210], ['1965', 300]),
      ...row(702, ['Port of Immingham', 50], ['6.1', 210]),
      ...row(688, ['Cuxhaven', 50], ['2.9', 210], ['1843', 300]),
      piece('All of them are kept by the harbour office of the next town.', 50, 650),
    ];
    assert.deepEqual(kinds(page), ['text', 'table', 'text']);
    assert.deepEqual(tables(page), [
      [
        ['Station', 'Range', 'Since'],
        ['Wick', '2.8', '1965'],
        ['Port of Immingham', '6.1', ''],
        ['Cuxhaven', '2.9', '1843'],
      ],
    ]);
  });

  it('join the lines of a cell, and words that are close together', () => {
    const page = [
      ...row(730, ['Name', 50], ['Task', 150], ['Day', 300]),
      ...row(716, ['Keeper', 50], ['reads the', 150], ['gauge', 200], ['Monday', 300]),
      ...row(704, ['and the clock', 150]),
      ...row(690, ['Clerk', 50], ['writes', 150], ['Friday', 300]),
    ];
    assert.deepEqual(tables(page)[0]?.[1], ['Keeper', 'reads the gauge and the clock', 'Monday']);
  });

  it('are searched for in bounded time, whatever the page', () => {
    const wide = Array.from({ length: 18_000 }, (_, at) =>
      piece('x'.repeat(30), (at % 2) * 300, 90_000 - (at >> 1) * 12),
    );
    const many = Array.from({ length: 18_000 }, (_, at) =>
      piece('x', (at % 300) * 20, 90_000 - Math.floor(at / 300) * 12),
    );
    const before = process.threadCpuUsage();
    assert.deepEqual([...kinds(wide), ...kinds(many)], ['text', 'text']);
    assert.ok(!isSlow(process.threadCpuUsage(before).user / 1000, 2000));
  });

  it('are not found in prose columns, lists, or a few lines with gaps', () => {
    const prose = (at: number) => `words of line ${at} that go on and on`;
    const pages: Record<string, PlacedText[]> = {
      'two columns': numbers.flatMap((at) => row(740 - at * 12, [prose(at), 50], [prose(at), 310])),
      'three columns': numbers.flatMap((at) => row(740 - at * 12, [prose(at), 50], [prose(at), 250], [prose(at), 450])),
      'a list': numbers.flatMap((at) => row(740 - at * 12, [`${at}.`, 50], ['short item', 90])),
      bullets: numbers.flatMap((at) => row(740 - at * 12, ['•', 50], ['short item', 90])),
      'a list of terms': numbers.flatMap((at) => row(740 - at * 12, [`Term ${at}`, 50], [prose(at), 150])),
      'an equation': row(740, ['E = mc', 50], ['(1)', 300]),
      'ragged lines': numbers.flatMap((at) =>
        row(740 - at * 12, ['some words', 50 + at * 40], ['other words', 160 + at * 40]),
      ),
    };
    for (const [name, page] of Object.entries(pages)) {
      assert.deepEqual(kinds(page), ['text'], name);
      assert.deepEqual(sectionsOf(page), [{ kind: 'text', pieces: page }]);
    }
  });
});
