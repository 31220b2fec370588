import assert from 'node:assert/strict';
import { parseChartBlock, replaceCharts } from '../../../src/protocol/chart/chart-blocks.ts';
import { formatChart, parseChart } from '../../../src/protocol/chart/chart-spec.ts';
import { chartSvg } from '../../../src/protocol/chart/chart-svg.ts';
import { chartTable, tableOfBlock } from '../../../src/protocol/chart/chart-table.ts';
import { chart, fenced } from '../../support/charts.ts';
import { assertWellFormed } from '../../support/well-formed-xml.ts';

const read = (spec: unknown) => parseChart(typeof spec === 'string' ? spec : JSON.stringify(spec));
const lake = { field: 'lake', type: 'nominal' };
const depth = { field: 'depth', type: 'quantitative' };
const values = (rows: unknown[]) => chart({ data: { values: rows } });
const rows = (count: number) => Array.from({ length: count }, (_, at) => ({ lake: `Lake ${at}`, depth: at }));

describe('a chart in a report', () => {
  it('keeps the part of Vega-Lite that is drawn, without sizes and unused fields', () => {
    const spec = chart({
      $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
      mark: { type: 'bar', tooltip: true },
      width: 400,
      data: { values: [{ lake: 'Baikal', depth: 1642, note: 'unused' }] },
    });
    const found = read(spec);
    assert.deepEqual(found, { ...chart(), data: { values: [{ lake: 'Baikal', depth: 1642 }] } });
    assert.deepEqual(found && read(formatChart(found)), found);
  });

  it('may have every mark with the encodings it needs', () => {
    const year = { field: 'year', type: 'temporal' };
    const data = { values: [2023, '2024-05', '2025-01-31'].map((at) => ({ year: at, depth: 4, lake: String(at) })) };
    for (const mark of ['line', 'area', 'point', 'bar'])
      assert.ok(read(chart({ mark, encoding: { x: year, y: depth, color: lake }, data })), mark);
    assert.ok(read(chart({ mark: 'arc', encoding: { theta: depth, color: lake } })));
    assert.ok(read(chart({ encoding: { x: depth, y: lake } })));
    assert.ok(read(values(rows(500))));
  });

  it('is rejected if it loads or computes something, contains a URL or lacks a part', () => {
    const hostile: object[] = [
      { data: { url: 'https://evil.example/data.json' } },
      { data: { url: 'data:text/csv,a', values: rows(2) } },
      { data: { values: rows(2), name: 'other' } },
      { $schema: 'https://evil.example/v5.json' },
      { transform: [{ calculate: 'datum.depth * 2', as: 'depth' }] },
      { params: [{ name: 'p', expr: '1 + 1' }] },
      { signals: [] },
      { usermeta: {} },
      { config: {} },
      { layer: [] },
      { datasets: {} },
      { title: { expr: 'warn(1)' } },
      { title: 'See https://evil.example/?q=1' },
      { mark: 'image' },
      { mark: { type: 'bar', href: 'x' } },
      { mark: { type: 'bar', color: { expr: '1' } } },
      { width: { signal: 'w' } },
      { encoding: { x: lake, y: depth, href: lake } },
      { encoding: { x: lake, y: { ...depth, aggregate: 'sum' } } },
      { encoding: { x: lake, y: { ...depth, bin: true } } },
      { encoding: { x: lake, y: { ...depth, scale: { domain: [1000, 1700] } } } },
      { encoding: { x: lake, y: { ...depth, field: 'depth.a' } } },
      { encoding: { x: lake, y: { ...depth, field: 'constructor' } } },
      { encoding: { x: lake, y: { ...depth, field: '__proto__' } } },
      { encoding: { x: lake, y: { ...depth, field: { repeat: 'layer' } } } },
    ];
    for (const change of hostile) assert.equal(read(chart(change)), undefined, JSON.stringify(change));
    assert.equal(read(JSON.stringify(chart()).replace('{', '{"__proto__": {"mark": "bar"}, ')), undefined);
    for (const name of ['title', 'mark', 'encoding', 'data'])
      assert.equal(read(chart({ [name]: undefined })), undefined);
  });

  it('is rejected with invalid numbers or names, no or too many rows, or broken or oversized JSON', () => {
    for (const bad of [null, '4', true, [], {}, 1e16, 1e-12, -1e300])
      assert.equal(read(values([{ lake: 'a', depth: bad }])), undefined, String(bad));
    const text = JSON.stringify(chart());
    for (const bad of ['NaN', 'Infinity', '1e400', '-1e400', '0x10', '1,642'])
      assert.equal(read(text.replace('1642', bad)), undefined, bad);
    for (const bad of ['', ' ', 'x'.repeat(121), 'http://a.example', null, {}, ['a']])
      assert.equal(read(values([{ lake: bad, depth: 1 }])), undefined, String(bad));
    for (const rest of [[], rows(501), [1], [null], [[]], [{}], [{ lake: 'a' }]])
      assert.equal(read(values(rest)), undefined, JSON.stringify(rest).slice(0, 40));
    assert.equal(read('['.repeat(30_000)), undefined);
    assert.equal(read(`{"title":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_001)}`), undefined);
    assert.equal(read(`${text}${' '.repeat(64_000)}`), undefined);
    for (const other of ['', 'null', '[]', '"chart"', '7', '{']) assert.equal(read(other), undefined, other);
  });

  it('is rejected if rows collide, encodings do not fit the mark, or a pie has negative or no parts', () => {
    assert.equal(read(values([...rows(3), ...rows(1)])), undefined);
    assert.equal(read(chart({ encoding: { x: depth, y: depth } })), undefined);
    assert.equal(read(chart({ encoding: { x: lake, y: { field: 'lake', type: 'ordinal' } } })), undefined);
    assert.equal(read(chart({ mark: 'line', encoding: { x: depth, y: lake } })), undefined);
    assert.equal(read(chart({ encoding: { x: lake } })), undefined);
    assert.equal(read(chart({ encoding: { x: lake, y: depth, color: depth } })), undefined);
    const many = { encoding: { x: lake, y: depth, color: lake }, data: { values: rows(13) } };
    assert.equal(read(chart(many)), undefined);
    const pie = (parts: number[]) => {
      const data = { values: parts.map((part, at) => ({ lake: String(at), depth: part })) };
      return read(chart({ mark: 'arc', encoding: { theta: depth, color: lake }, data }));
    };
    assert.ok(pie([1, 0, 2]));
    for (const parts of [
      [0, 0],
      [-1, 2],
    ])
      assert.equal(pie(parts), undefined);
  });

  it('has a table of the same data, with all text escaped', () => {
    const found = read(chart());
    assert.ok(found);
    assert.equal(
      chartTable(found),
      '**Depth of two lakes**\n\n| Lake | Depth in metres |\n| --- | ---: |\n| Baikal | 1642 |\n| Tanganyika | 1470 |',
    );
    const hostile = chart({
      title: '** <b>\n# [a](https://evil.example)',
      data: { values: [{ lake: 'a | b ![x](y) `c`', depth: null }, 'row', { other: null }] },
    });
    assert.equal(
      tableOfBlock(JSON.stringify(hostile)),
      '**\\*\\* &lt;b> # \\[a\\](https://evil.example)**\n\n| Lake | Depth in metres | other |\n| --- | --- | --- |\n| a \\| b !\\[x\\](y) \\`c\\` | – | – |\n| – | – | – |',
    );
    for (const none of ['', '{', '[]', '{"data":{}}', '{"data":{"values":[1]}}'])
      assert.equal(tableOfBlock(none), undefined, none);
  });

  it('is found only as a complete block at the beginning of a line', () => {
    const block = fenced(chart()).trimEnd();
    const text = `A.\n\n${block}\n\nB.`;
    assert.equal(
      replaceCharts(text, () => 'chart'),
      'A.\n\nchart\n\nB.',
    );
    assert.ok(parseChartBlock(`${block}\n`));
    for (const other of [`- ${block}`, fenced('{}'), block.slice(0, -3), '```vega-lite\n'.repeat(50), '```vega-lite'])
      assert.equal(
        replaceCharts(other, () => 'chart'),
        other,
      );
  });
});

describe('a chart drawn as SVG', () => {
  const drawn = (spec: unknown) => {
    const found = read(spec);
    assert.ok(found);
    const svg = chartSvg(found);
    assertWellFormed(svg, 'chart');
    return svg;
  };
  const shapes = (svg: string) => [...new Set([...svg.matchAll(/<([a-z]+)/g)].map(([, tag]) => tag))].sort();
  const NAMES =
    /^(?:xmlns|viewBox|role|direction|fill|stroke|class|d|r|x|y|cx|cy|x1|x2|y1|y2|width|height|textLength|lengthAdjust|text-anchor|(?:font|fill|stroke)-(?:family|size|weight|opacity|width))$/;
  const assertHarmless = (svg: string) => {
    const allowed = ['circle', 'desc', 'line', 'path', 'rect', 'svg', 'text', 'title'];
    assert.deepEqual(
      shapes(svg).filter((tag) => !allowed.includes(String(tag))),
      [],
    );
    for (const [, name = ''] of svg.matchAll(/ ([\w:-]+)="/g)) assert.match(name, NAMES);
    assert.doesNotMatch(svg, /NaN|Infinity|undefined|null/);
  };

  it('has its title, a description, axes with ticks, and a shape per row', () => {
    const svg = drawn(chart());
    assertHarmless(svg);
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 640 \d+(?:\.\d)?" role="img"/);
    assert.match(svg, /<title>Depth of two lakes<\/title><desc>Bar chart: Lake, Depth in metres\. Baikal, 1642; /);
    for (const text of ['Depth of two lakes', 'Lake', 'Depth in metres', 'Baikal', '0', '500', '2000'])
      assert.ok(svg.includes(`>${text}</text>`), text);
    const heights = [...svg.matchAll(/<rect [^>]*height="([\d.]+)"/g)].map(([, height]) => Number(height));
    assert.equal(heights.length, 2);
    assert.ok(Math.abs(Number(heights[0]) / Number(heights[1]) - 1642 / 1470) < 0.01, 'lengths begin at zero');
  });

  it('is well formed, harmless and bounded in size for every mark and extreme numbers', () => {
    const year = { field: 'year', type: 'temporal' };
    const number = { field: 'year', type: 'quantitative' };
    const extremes = [-1e15, -1, -1e-9, 0, 1e-9, 0.1, 7, 1e15];
    for (const numbers of [extremes, [0, 0], [5], [-5, -5], [1e15, 1e15 - 1], [-3, -2]]) {
      const data = { values: numbers.map((value, at) => ({ lake: `l${at}`, year: 2000 + at, depth: value })) };
      for (const mark of ['bar', 'line', 'area', 'point'])
        for (const x of [lake, year, ...(mark === 'bar' ? [] : [number])])
          for (const color of [undefined, lake])
            assertHarmless(drawn(chart({ mark, encoding: { x, y: depth, ...(color && { color }) }, data })));
      assertHarmless(drawn(chart({ encoding: { x: depth, y: lake }, data })));
    }
    for (const parts of [[5], [1, 1e15], [0, 3], [1, 2, 3, 4]]) {
      const data = { values: parts.map((part, at) => ({ lake: `l${at}`, depth: part })) };
      assertHarmless(drawn(chart({ mark: 'arc', encoding: { theta: depth, color: lake }, data })));
    }
    const many = drawn(chart({ encoding: { x: depth, y: lake }, data: { values: rows(500) } }));
    assertHarmless(many);
    assert.ok(Number(/viewBox="0 0 640 ([\d.]+)"/.exec(many)?.[1]) < 2000);
    assert.ok(many.length < 200_000);
  });

  it('stacks rows that share a place, below zero too', () => {
    const data = {
      values: [
        { lake: 'a', part: 'x', depth: 2 },
        { lake: 'a', part: 'y', depth: 3 },
        { lake: 'a', part: 'z', depth: -1 },
      ],
    };
    const svg = drawn(chart({ encoding: { x: lake, y: depth, color: { field: 'part', type: 'nominal' } }, data }));
    const bars = [
      ...svg.matchAll(/<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="[^"]+"><title>/g),
    ];
    const [first, second, third] = bars.map(([, y, height]) => ({
      top: Number(y),
      bottom: Number(y) + Number(height),
    }));
    assert.ok(first && second && third);
    assert.ok(Math.abs(second.bottom - first.top) < 0.2 && Math.abs(third.top - first.bottom) < 0.2);
  });

  it('shows hostile titles and names as text', () => {
    const hostile = '</title><script>alert(1)</script>" onload="x&amp;\u0000\u202e\ud800';
    const svg = drawn(
      chart({
        title: hostile,
        description: hostile,
        encoding: { x: { ...lake, title: hostile }, y: { ...depth, title: hostile }, color: lake },
        data: { values: [{ lake: hostile, depth: 1 }] },
      }),
    );
    assertHarmless(svg);
    assert.doesNotMatch(svg, /<script| onload="|\u202e|\0/);
    assert.match(svg, /&lt;script&gt;/);
  });

  it('sets the direction of right-to-left names', () => {
    const svg = drawn(chart({ encoding: { x: depth, y: lake }, data: { values: [{ lake: 'בייקל', depth: 1 }] } }));
    assert.match(svg, /text-anchor="start" direction="rtl"[^>]*>בייקל</);
  });
});
