import assert from 'node:assert/strict';
import fc from 'fast-check';
import { reportDocx } from '../../../src/http/report/docx/docx-document.ts';
import { reportDocument } from '../../../src/http/report/html-document.ts';
import { reportJson } from '../../../src/http/report/json-document.ts';
import { reportMarkdown } from '../../../src/http/report/markdown.ts';
import { parseChartBlock, replaceCharts } from '../../../src/protocol/chart/chart-blocks.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import type { ResponseObject } from '../../../src/protocol/response.ts';
import { CitedAnswer } from '../../../src/research/answer/cited-answer.ts';
import { ChartEvidence } from '../../../src/research/charts/chart-evidence.ts';
import { ChartFilter } from '../../../src/research/charts/chart-filter.ts';
import { loadPrompts } from '../../../src/research/prompts/load-prompts.ts';
import { ResearchState } from '../../../src/research/run/state.ts';
import { reportOf } from '../../../src/runs/projections/report.ts';
import { readOffice } from '../../../src/tools/fetch-url-content/reading/office/office.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { chart, fenced } from '../../support/charts.ts';
import { reportModel, requestKind } from '../../support/report-model.ts';
import { runResearch, textOf } from '../../support/research-run.ts';
import { testTool } from '../../support/run-harness.ts';

const PAGE =
  'Lake Baikal is 1,642 metres deep. Lake Tanganyika is 1,470 metres deep. In January it was -19.5 degrees at Lake Baikal. ' +
  'Lake Baikal holds 23.6 thousand cubic kilometres of water, and Lake Tanganyika 18,750 cubic kilometres.';
const read: Tool = {
  ...testTool('lookup', () => ({ result: '{}' })),
  async call() {
    const url = 'https://pages.example/lakes';
    const sources = [{ url, title: 'The lakes', snippet: '', kind: 'read' as const }];
    return { sources, result: (sourceId) => ({ url, source_id: sourceId(url), content: PAGE }) };
  },
};
const python = testTool('execute_python', () => ({
  result: JSON.stringify({ stdout: 'ratio:\n0.8952496954933008\n', result: [172, 2.5e-2], error: null }),
}));

/** An answer in one turn. */
async function answered(text: string | string[], request: object = {}, runsPython = false) {
  const respond = reportModel({ words: ['lakes'], outline: '[]', section: () => ({}) });
  return await runResearch({
    turns: (asked) => {
      const turn = respond(asked);
      const calls = [...(turn.calls ?? []), { name: 'execute_python', arguments: { code: '1' } }];
      return turn.calls && runsPython ? { ...turn, calls } : turn;
    },
    answers: (asked) => (requestKind(asked) === 'answer' ? { text: [text].flat() } : respond(asked)),
    tools: [read, python],
    request: { report: 'short', charts: true, ...request },
  });
}

const SAYS = 'Baikal is 1642 metres deep, Tanganyika 1470 metres [1].';
const VALID = `${SAYS}\n\n${fenced(chart())}\nMore.`;
const INVENTED = fenced(chart({ data: { values: [{ lake: 'Baikal', depth: 1999 }] } }));
const chartsIn = (text: string) => {
  const found: string[] = [];
  replaceCharts(text, ({ title }) => String(found.push(title)));
  return found.length;
};
const depths = (...numbers: number[]) =>
  chart({ data: { values: numbers.map((depth, at) => ({ lake: `l${at}`, depth })) } });

describe('charts of a run', () => {
  it('are shown if they are valid, their numbers were found, and a sentence before them cites', async () => {
    const { response, message, events } = await answered([...VALID]);
    assert.equal(response.charts, true);
    assert.equal(chartsIn(response.output_text), 1);
    assert.ok(response.output_text.startsWith(`${SAYS}\n\n\`\`\`vega-lite\n{\n  "title": "Depth of two lakes",`));
    assert.ok(response.output_text.endsWith('```\n\nMore.'));
    assert.equal(answerPart(message)?.annotations.length, 1);
    const deltas = events.filter((event) => event.type === 'response.output_text.delta').map(({ delta }) => delta);
    assert.equal(deltas.join(''), response.output_text);
    assert.equal(deltas.filter((delta) => delta.includes('vega-lite')).length, 1);
    assert.ok(deltas.some((delta) => delta.includes('```vega-lite') && delta.includes('```\n')));
  });

  it('become tables if a number was not found, nothing is cited, or they are invalid', async () => {
    const uncited = `Two lakes.\n\n${fenced(chart())}`;
    const aggregated = { encoding: { x: { field: 'lake' }, y: { field: 'depth', aggregate: 'sum' } } };
    for (const text of [`${SAYS}\n\n${INVENTED}`, uncited, `${SAYS}\n${fenced(chart(aggregated))}`]) {
      const { response, events } = await answered(text);
      assert.doesNotMatch(JSON.stringify(events), /vega-lite/);
      assert.match(
        response.output_text,
        /\n\n\*\*Depth of two lakes\*\*\n\n\| (?:Lake|lake) \| [Dd]epth.*\|\n\|.*\|\n\| Baikal \| 1\d{3} \|/,
      );
    }
  });

  it('become code if they hold no rows or have no end', async () => {
    for (const block of [
      fenced('not json'),
      fenced(chart({ data: { url: 'x' } })),
      '```vega-lite\n{"title":',
      '```vega-lite\n',
    ]) {
      const { response } = await answered(`${SAYS}\n\n${block}`);
      assert.match(response.output_text, /\n\n```json\n/, block);
      assert.doesNotMatch(response.output_text, /vega-lite/);
    }
  });

  it('are ordinary text without `charts: true`', async () => {
    const { response, asked } = await answered(VALID, { charts: undefined });
    assert.equal(response.output_text, VALID);
    assert.ok(!('charts' in response));
    assert.doesNotMatch(textOf(asked.answer.at(-1)), /vega-lite/);
    assert.match(textOf((await answered(VALID)).asked.answer.at(-1)), /vega-lite/);
    const { markdown, html, docx } = await documents(response);
    assert.equal(markdown.split('```vega-lite').length, 2);
    assert.doesNotMatch(markdown, /\| Baikal/);
    assert.match(html, /<pre><code>\{&quot;title/);
    assert.doesNotMatch(html, /<svg/);
    assert.match(docx, /"mark":"bar"/);
  });

  it('are drawn in HTML, follow a table in Markdown, are a table in Word, and text in JSON', async () => {
    const { response } = await answered(`${VALID}\n\n${SAYS}\n\n${INVENTED}`);
    const { markdown, html, docx, json } = await documents(response);
    assert.match(markdown, /\*\*Depth of two lakes\*\*\n\n\| Lake .*\n.*\n\| Baikal \| 1642 \|\n.*\n\n```vega-lite\n/);
    assert.match(html, /<figure><svg [\s\S]*Baikal[\s\S]*<\/svg><\/figure>/);
    assert.equal(html.match(/<svg/g)?.length, 1);
    assert.match(html, /<table>[\s\S]*1999/);
    assert.doesNotMatch(html, /<script|vega-lite/);
    assert.match(docx, /\| Baikal \| 1642 \|/);
    assert.match(docx, /\| Baikal \| 1999 \|/);
    assert.doesNotMatch(docx, /vega-lite|"mark"/);
    const { sections } = JSON.parse(json);
    assert.ok(parseChartBlock(/```vega-lite[\s\S]*?\n```/.exec(sections[0].text)?.[0] ?? ''));
  });

  it('may show what Python computed without a marker, also rounded', async () => {
    const computed = `Computed.\n\n${fenced(depths(172, 0.895, 0.025))}`;
    assert.equal(chartsIn((await answered(computed, {}, true)).response.output_text), 1);
    assert.equal(chartsIn((await answered(computed)).response.output_text), 0);
    const both = `${SAYS}\n\n${fenced(depths(1642, 172))}`;
    assert.equal(chartsIn((await answered(both, {}, true)).response.output_text), 1);
  });

  it('are compared with sources by sign, rounding and the magnitude that the axis names', async () => {
    const on = async (title: string, ...numbers: number[]) => {
      const spec = depths(...numbers);
      const y = { field: 'depth', type: 'quantitative', title };
      const encoding = { x: { field: 'lake', type: 'nominal' }, y };
      return chartsIn((await answered(`${SAYS}\n\n${fenced({ ...spec, encoding })}`)).response.output_text);
    };
    assert.deepEqual([await on('Degrees', -19.5), await on('Degrees', 19.5), await on('Metres', -1642)], [1, 0, 0]);
    assert.deepEqual([await on('Cubic kilometres', 23_600), await on('Cubic kilometres', 23.6)], [1, 0]);
    assert.deepEqual(
      [await on('Thousand cubic kilometres', 18.8), await on('Thousand cubic kilometres', 18.1)],
      [1, 0],
    );
  });

  it('depend on the check of doubtful sentences, which may remove what they rest on', async () => {
    const respond = reportModel({ words: ['lakes'], outline: '[]', section: () => ({}) });
    const wrong = VALID.replace('1470', '1407');
    const run = (verdict: object) =>
      runResearch({
        turns: respond,
        answers: (asked) => {
          if (requestKind(asked) === 'check') return { text: [JSON.stringify([{ n: 1, ...verdict }])] };
          return requestKind(asked) === 'answer' ? { text: [wrong] } : respond(asked);
        },
        tools: [read],
        request: { report: 'short', charts: true, verify: true },
      });
    const put = await run({ text: SAYS });
    assert.ok(put.response.output_text.startsWith(SAYS));
    assert.equal(chartsIn(put.response.output_text), 1);
    const dropped = await run({ drop: true });
    assert.equal(chartsIn(dropped.response.output_text), 0);
    assert.match(dropped.response.output_text, /\| Baikal \| 1642 \|/);
  });

  it('are mentioned in the prompts of sections only if they are on', () => {
    const { section } = loadPrompts();
    const values = { date: '2026-11-24', language: 'en', instructions: '', mark: 'data' };
    assert.match(section({ ...values, charts: true }), /needs it\.\n- Where a few numbers/);
    assert.doesNotMatch(section({ ...values, charts: false }), /vega-lite|\{\{/);
  });
});

async function documents(response: ResponseObject) {
  const report = reportOf(response, [{ type: 'message', role: 'user', content: 'How deep?' }]);
  assert.ok(report);
  const { content: docx } = await readOffice({ kind: 'docx', bytes: reportDocx(report) });
  return { markdown: reportMarkdown(report), html: reportDocument(report), docx, json: reportJson(report) };
}

describe('ChartFilter', () => {
  const whole = (pieces: readonly string[], before = '') => {
    const filter = new ChartFilter(before);
    const parts = [...pieces.flatMap((piece) => filter.push(piece)), ...filter.end()];
    return parts.map((part) => (part.type === 'text' ? part.text : `<${part.block}>`)).join('');
  };

  it('takes out whole blocks at the start of a line, and leaves the vega-lite tag nowhere else', () => {
    for (const [text, shown] of [
      ['A\n```vega-lite\n{}\n```\nB', 'A\n<{}\n>B'],
      ['  ~~~~ Vega-Lite \r\n{}\n~~~\n~~~~~\nB', '<{}\n~~~\n>B'],
      ['```vega-lite\n```', '<>'],
      ['```vega-lite\n', '```json\n'],
      ['```vega-lite', '```json'],
      ['- ```vega-lite\n  {}\n  ```\n', '- ```json\n  {}\n  ```\n'],
      ['> ```vega-lite\n> {}\n', '> ```json\n> {}\n'],
      ['````md\n```vega-lite\n{}\n```\n````\n```vega-lite\n{}\n```\n', '````md\n```json\n{}\n```\n````\n<{}\n>'],
      ['```js\n1\n```\n```vega-lite\n{}\n```\n', '```js\n1\n```\n<{}\n>'],
      ['a `b` ``c`` ```', 'a `b` ``c`` ```'],
      [`\`\`\`vega-lite\n${'x'.repeat(41_000)}\n\`\`\`\nB`, `\`\`\`json\n${'x'.repeat(41_000)}\n\`\`\`\nB`],
    ] as const) {
      assert.equal(whole([text]), shown);
      assert.equal(whole([...text]), shown);
    }
  });

  it('gives the same result however the text is cut, and continues after what was shown', () => {
    const piece = fc.constantFrom(
      '```',
      '`',
      '~~~',
      'vega-lite',
      'vega',
      '-lite',
      '\n',
      ' ',
      '{}',
      'a',
      '- ',
      '> ',
      '\r\n',
    );
    const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (written, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (written.length + 1)).sort((a, b) => a - b), written.length];
        const pieces = places.slice(1).map((end, at) => written.slice(places[at], end));
        const shown = whole([written]);
        assert.equal(whole(pieces), shown);
        assert.doesNotMatch(shown.replace(/<[^>]*>/g, ''), /```vega-lite/);
      }),
    );
    assert.equal(whole(['```vega-lite\n{}\n```\n'], `Text.\n\n${fenced(chart())}`), '<{}\n>');
    assert.equal(whole(['```vega-lite\n{}\n```\n'], '```js\n'), '```json\n{}\n```\n');
    assert.equal(whole(['```vega-lite\n{}\n```\n'], 'Text '), '```json\n{}\n```\n');
  });

  it('continues after a crash as if there had been none', async () => {
    const state = ResearchState.of([]);
    const charts = await ChartEvidence.of(state, new Set());
    const writer = (text = '') => new CitedAnswer(state.sources, { text, annotations: [] }, { charts });
    const answer = `Text.\n\n${fenced(chart())}\nText.\n\n${fenced('{}')}End.`;
    const uncut = writer();
    const expected = uncut.push(answer).text + uncut.end().text;
    const shownAt = Array.from({ length: answer.length + 1 }, (_, end) => writer().push(answer.slice(0, end)).text);
    for (const shown of new Set(shownAt)) {
      const next = writer(shown);
      // The model continues where the reader's text ends.
      const rest = answer.slice(shownAt.indexOf(shown));
      assert.equal(shown + next.push(rest).text + next.end().text, expected, shown);
    }
  });
});
