import assert from 'node:assert/strict';
import { reportJson } from '../../../src/http/report/json-document.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import { type ReportObject, reportObject } from '../../../src/protocol/report.ts';
import { type Report, reportOf } from '../../../src/runs/projections/report.ts';
import { QUESTION, reportWith, responseWith } from '../../support/finished-report.ts';

function parsed(report: Report): ReportObject {
  return reportObject.strict().parse(JSON.parse(reportJson(report)));
}

describe('the report as JSON', () => {
  it('has title, question, date, model, sections, sources, claims and usage', () => {
    const claims = { checked: 2, quoted: 1, partial: 0, none: 1, unchecked: 0, unmarked: 0 };
    const text =
      '# Tea first\n\nIn short: older [1].\n\n## **Dates** &amp; `facts` [2]\n\nMuch *older* [2].\n\n### Details\n\n- a\n\n## Prices\n';
    const report = parsed(reportWith(text, { claims }));
    const { usage, ...rest } = report;
    assert.equal(usage.total_tokens, 0);
    assert.deepEqual(rest, {
      title: 'Tea first',
      question: 'Is tea older than coffee?',
      date: '2026-11-21',
      model: 'deep',
      sections: [
        { heading: null, text: 'In short: older [1].' },
        { heading: 'Dates & facts [2]', text: 'Much *older* [2].\n\n### Details\n\n- a' },
        { heading: 'Prices', text: '' },
      ],
      sources: [
        { index: 1, url: 'https://example.org/1', title: 'Page 1', verified: true, quotes: [] },
        { index: 2, url: 'https://example.org/2', title: 'Page 2', verified: false, quotes: [] },
      ],
      notes: ['1 of 2 checked sentences may say more than their sources.'],
      claims,
    });
  });

  it('repeats the question even if it is the title, and splits at the highest headings', () => {
    const report = parsed(reportWith('### One\n\na\n\n#### Deeper\n\n```\n### no heading\n```\n\n### Two\n\nb'));
    assert.deepEqual([report.title, report.question], ['Is tea older than coffee?', 'Is tea older than coffee?']);
    assert.deepEqual(report.sections, [
      { heading: 'One', text: 'a\n\n#### Deeper\n\n```\n### no heading\n```' },
      { heading: 'Two', text: 'b' },
    ]);
  });

  it('lists the quotes of a source once each, and its date if a tool gave it', () => {
    const response = responseWith('Older [1], older [1], much [1], and [2] [3].');
    const [message] = response.output;
    assert.ok(message?.type === 'message');
    const annotations = answerPart(message)?.annotations ?? [];
    for (const [at, quote] of ['a "b"', 'a "b"', 'c'].entries()) {
      const annotation = annotations[at];
      if (annotation) annotation.cited_text = quote;
    }
    const call = (id: string, name: string, result: object | string) => ({
      ...{ id: `tc_${id}`, type: 'tool_call' as const, name, arguments: '{}', status: 'completed' as const },
      result: typeof result === 'string' ? result : JSON.stringify(result),
    });
    const listed = [
      { source_id: 11, url: 'x', published: '2019-01' },
      { source_id: 12, url: 'y', published: '2020-02-03' },
      { source_id: 13, url: 'z', published: 'last week' },
      null,
    ];
    response.output.unshift(
      call('1', 'web_search', { results: listed }),
      call('2', 'fetch_url_content', { source_id: 11, published: '2018-12-24T10:00:00Z', content: 'a' }),
      call('3', 'broken', '{"published"'),
    );
    const report = reportOf(response, QUESTION);
    assert.ok(report);
    assert.deepEqual(
      parsed(report).sources.map(({ index, date, quotes }) => [index, date, quotes]),
      [
        [1, '2018-12-24', ['a "b"', 'c']],
        [2, '2020-02-03', []],
        [3, undefined, []],
      ],
    );
  });

  it('says that a report was cut, and is valid JSON whatever it contains', () => {
    const report = reportWith('\ud800 half \u0000 </script>', { incomplete_details: { reason: 'budget' } });
    report.title = report.fullQuestion = '\udc00"\\\u0007';
    const text = reportJson(report);
    assert.doesNotMatch(text, /\\ud[89a-f]/i);
    const { title, sections, notes, sources } = parsed(report);
    assert.deepEqual([title, sections], ['\ufffd"\\\u0007', [{ heading: null, text: '\ufffd half \u0000 </script>' }]]);
    assert.match(String(notes), /ended with its budget/);
    assert.deepEqual(sources, []);
  });
});
