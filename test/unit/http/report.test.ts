import assert from 'node:assert/strict';
import { publicId } from '../../../src/base/ids.ts';
import { disposition } from '../../../src/http/report/file-name.ts';
import { HtmlReports } from '../../../src/http/report/html.ts';
import { reportDocument } from '../../../src/http/report/html-document.ts';
import { reportMarkdown } from '../../../src/http/report/markdown.ts';
import type { UrlCitation } from '../../../src/protocol/items.ts';
import { newResponse, type ResponseObject } from '../../../src/protocol/response.ts';
import { type Report, reportOf } from '../../../src/runs/projections/report.ts';

const ID = '94249558-d3df-4249-a140-f29d39d94616';
const QUESTION = [{ type: 'message', role: 'user', content: 'Is tea older than coffee?' }];

/** An ended response with this text; each `[n]` in it is annotated as source n. */
function responseWith(text: string, change: Partial<ResponseObject> = {}): ResponseObject {
  const response = newResponse({
    runId: ID,
    createdAt: 1_795_304_000,
    model: 'deep',
    background: false,
    metadata: {},
    instructions: null,
    previousResponseId: null,
    maxOutputTokens: null,
    maxToolCalls: null,
    temperature: null,
    topP: null,
    toolChoice: 'auto',
    textFormat: null,
    effort: 'low',
  });
  const annotations = [...text.matchAll(/\[(\d)\]/g)].map(
    (match): UrlCitation => ({
      type: 'url_citation',
      start_index: match.index,
      end_index: match.index + match[0].length,
      url: `https://example.org/${match[1]}`,
      title: `Page ${match[1]}`,
      ...{ index: Number(match[1]) },
      source_id: Number(match[1]) + 10,
      verified: match[1] !== '2',
    }),
  );
  const content = [{ type: 'output_text' as const, text, annotations, logprobs: [] }];
  return {
    ...response,
    id: publicId('responses', ID),
    status: 'completed',
    completed_at: 1_795_304_207,
    output: [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }],
    output_text: text,
    ...change,
  };
}

function reportWith(text: string, change: Partial<ResponseObject> = {}): Report {
  const report = reportOf(responseWith(text, change), QUESTION);
  assert.ok(report);
  return report;
}

describe('the report as a document', () => {
  it('takes its title from the first heading, else from the question, and lists each source once by its number', () => {
    const report = reportWith('# Tea first\n\nTea is older [1], much older [2][1].');
    assert.deepEqual([report.title, report.question], ['Tea first', 'Is tea older than coffee?']);
    assert.deepEqual(
      report.sources.map(({ number, url, verified }) => [number, url, verified]),
      [
        [1, 'https://example.org/1', true],
        [2, 'https://example.org/2', false],
      ],
    );
    const untitled = reportWith('Tea is older [1].');
    assert.deepEqual([untitled.title, untitled.question], ['Is tea older than coffee?', '']);
  });

  it('Markdown: title, question, text as it was written, sources, date and model', () => {
    assert.equal(
      reportMarkdown(reportWith('# Tea first\n\nTea is older [1], much older [2].')),
      '# Tea first\n\n> Is tea older than coffee?\n\nTea is older [1], much older [2].\n\n## Sources\n\n' +
        '- [1] Page 1: <https://example.org/1>\n- [2] Page 2: <https://example.org/2> (not read by the run)\n\n' +
        '---\n\n_2026-11-21 · deep_\n',
    );
  });

  it('logs without `index` are numbered by their source ids, as their text is', () => {
    const text = 'Older [7].';
    const annotation: UrlCitation = JSON.parse(
      '{"type":"url_citation","start_index":6,"end_index":9,"url":"corpus:///tea.md","title":"Tea","source_id":7,"verified":true}',
    );
    const [message] = responseWith(text).output;
    assert.ok(message?.type === 'message');
    const content = [{ type: 'output_text' as const, text, annotations: [annotation], logprobs: [] }];
    const report = reportWith(text, { output: [{ ...message, content }] });
    assert.deepEqual(report.sources, [{ number: 7, url: 'corpus:///tea.md', title: 'Tea', verified: true }]);
    const html = reportDocument(report);
    assert.match(html, /<a href="#source-7">7<\/a>/);
    assert.doesNotMatch(html, /href="corpus:/, 'an address that no browser opens is no link');
  });

  it('HTML: markers lead to their sources, also in tables and emphasis, and code stays as it was', () => {
    const html = reportDocument(
      reportWith('Older **than [1]**.\n\n| a | b |\n|---|---|\n| x [2] | y |\n\n`list[1]`\n\n```\nlist[2]\n```\n'),
    );
    assert.match(html, /<strong>than <sup class="cite"><a href="#source-1">1<\/a><\/sup><\/strong>/);
    assert.match(html, /<td>x <sup class="cite"><a href="#source-2">2<\/a><\/sup><\/td>/);
    assert.match(html, /<code>list\[1\]<\/code>/);
    assert.match(html, /<pre><code>list\[2\]<\/code><\/pre>/);
    assert.match(html, /<li id="source-1" value="1">/);
    assert.doesNotMatch(html, /[\u{e000}\u{e001}]/u);
  });

  it('HTML: text from models and pages is only text', () => {
    const hostile = [
      '<script>alert(1)</script>',
      'a <img src=x onerror=alert(1)> b',
      '[click](javascript:alert(1))',
      '[click](JaVaScRiPt&colon;alert(1))',
      '[click](data:text/html,<script>alert(1)</script>)',
      '![x](https://evil.example/pixel.png)',
      '![x" onerror="alert(1)](https://evil.example/"onerror="alert(1))',
      '<a href="javascript:alert(1)">x</a>',
      '[a](<https://x.example/" onmouseover="alert(1)>)',
      '`<svg onload=alert(1)>`',
      '```<script>\n<svg onload=alert(1)>\n```',
      '<https://x.example/"onclick=alert(1)>',
      '# </title><script>alert(1)</script>',
      '&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;script&#x3e;',
      '[x]: javascript:alert(1)\n\n[x]',
      '| <script> |\n|---|\n| <iframe src=//evil.example> |',
      'private \u{e000}0\u{e001} letters [1] \u{e000}0\u{e001}',
    ];
    for (const text of hostile) {
      const html = reportDocument(reportWith(`Before [1].\n\n${text}\n\nAfter.`));
      const body = html.slice(html.indexOf('<article>'));
      const tags = [...body.matchAll(/<\/?([a-z][\w-]*)([^>]*)>/gi)];
      for (const [tag, name, attributes] of tags) {
        assert.doesNotMatch(String(name), /^(script|img|svg|iframe|style|object|embed|form|input|meta|base)$/i, text);
        const [, ...values] = String(attributes).split('"');
        const names = String(attributes).replace(/"[^"]*"/g, '');
        assert.doesNotMatch(names, /\son\w+|\sstyle|[<>']/i, `${text}: ${tag}`);
        assert.doesNotMatch(values[0] ?? '', /^\s*(javascript|data|vbscript):/i, `${text}: ${tag}`);
      }
      assert.match(body, /After\./);
    }
    const [, item] = reportDocument(reportWith('x [1]')).split('<ol>');
    assert.match(String(item), /rel="noreferrer noopener nofollow"/);
  });

  it('HTML: hostile titles, addresses and models stay inside of their elements', () => {
    const report = reportWith('# <b>"x"</b>\n\nText [1].');
    report.sources[0] = { number: 1, url: 'javascript:alert(1)//https://', title: '<img src=x>', verified: true };
    report.model = '<script>';
    const html = reportDocument(report);
    assert.doesNotMatch(html, /<img|<script|<b>|href="javascript/);
  });

  it('a run that was cut, failed or cancelled says so; one without text has no report', () => {
    const failed = reportWith('Half', { status: 'failed' });
    assert.match(reportMarkdown(failed), /The run failed; the text is incomplete/);
    assert.match(
      reportMarkdown(reportWith('All', { incomplete_details: { reason: 'budget' } })),
      /ended with its budget/,
    );
    assert.equal(reportOf(responseWith('  '), QUESTION), undefined);
  });

  it('Markdown that takes for ever to read ends in an error that says what to do, and the event loop goes on', async () => {
    const reports = new HtmlReports();
    const signal = new AbortController().signal;
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 5);
    const text = `${'*a **b _c '.repeat(40_000)}\n\n${'['.repeat(40_000)}\n\n${'> '.repeat(5000)}x`;
    const made = await reports.make(reportWith(text), { signal }).then(
      (html) => ({ html, code: undefined }),
      (error: { code: string }) => ({ html: '', code: error.code }),
    );
    clearInterval(timer);
    assert.ok(made.html !== '' || made.code === 'invalid_output', String(made.code));
    assert.ok(ticks > 0, 'other work went on meanwhile');
    assert.match(await reports.make(reportWith('fine [1]'), { signal }), /fine/);
  });

  it('a reader that leaves stops the work', async () => {
    const leave = new AbortController();
    const made = new HtmlReports().make(reportWith('*a '.repeat(100_000)), { signal: leave.signal });
    leave.abort(new Error('left'));
    await assert.rejects(made, /left/);
  });

  it('has a sane file name in every script', () => {
    const named = (title: string) => disposition({ ...reportWith('x'), title }, 'md');
    assert.equal(named('Is tea older?'), 'attachment; filename="is-tea-older-2026-11-21.md"');
    assert.equal(named('../../etc/passwd\r\nX: y'), 'attachment; filename="etc-passwd-x-y-2026-11-21.md"');
    assert.equal(
      named('Größe "und" Maß'),
      `attachment; filename="groe-und-ma-2026-11-21.md"; filename*=UTF-8''gr%C3%B6%C3%9Fe-und-ma%C3%9F-2026-11-21.md`,
    );
    assert.match(
      named('茶比咖啡更古老吗？'),
      /^attachment; filename="report-2026-11-21\.md"; filename\*=UTF-8''%E8%8C%B6/,
    );
    assert.equal(named('🫖'), 'attachment; filename="report-2026-11-21.md"');
  });
});
