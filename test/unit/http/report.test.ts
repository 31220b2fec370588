import assert from 'node:assert/strict';
import fc from 'fast-check';
import { marked } from 'marked';
import { disposition } from '../../../src/http/report/file-name.ts';
import { reportDocument } from '../../../src/http/report/html-document.ts';
import { reportMarkdown } from '../../../src/http/report/markdown.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { answerPart } from '../../../src/protocol/items.ts';
import { reportOf } from '../../../src/runs/projections/report.ts';
import { QUESTION, reportWith, responseWith } from '../../support/finished-report.ts';

/** Hostile texts in Markdown or HTML. */
const HOSTILE = [
  '<img src=https://evil.example/a.png>',
  '<script>alert(1)</script>',
  '</title><svg onload=alert(1)>',
  '![a](https://evil.example/a.png)',
  '[![a](https://evil.example/a.png)](https://evil.example)',
  '[a](javascript:alert(1))',
  '!\\[a](https://evil.example/a.png)',
  '![a][1] ![1]',
  '`<img src=x>` \\`<img src=x>',
  '<javascript:alert(1)> <!-- a --> <?a?>',
  '&lt;img src=x&gt; &#60;img src=x>',
];

describe('hostile text in a Markdown report', () => {
  for (const text of HOSTILE) {
    it(`is shown as text: ${text}`, () => {
      const response = responseWith('Tea is older [1].', {
        status: 'failed',
        model: text,
        error: { code: 'upstream_error', message: `It said ${text}`, type: 'api_error', param: null },
      });
      const [item] = response.output;
      assert.ok(item?.type === 'message');
      for (const annotation of answerPart(item)?.annotations ?? []) annotation.title = text;
      const report = reportOf(response, [{ type: 'message', role: 'user', content: `${text}\n${text}` }]);
      assert.ok(report);
      const rendered = String(marked.parse(reportMarkdown(report)));
      const tags = rendered.match(/<[a-z!?/][^>]*>/gi) ?? [];
      for (const tag of tags) {
        assert.match(
          tag,
          /^<(?:\/?(?:h1|h2|p|blockquote|strong|em|ul|li|hr|br|a)|a href="https:\/\/(?:example\.org|evil\.example)[^"]*")>$/,
        );
      }
      const shown = rendered
        .replace(/<[^>]*>/g, '')
        .replace(/&lt;/g, '<')
        .replace(/&gt;/g, '>')
        .replace(/&quot;/g, '"')
        .replace(/&#39;/g, "'");
      // The renderer decides where a bare URL ends, so it may include the backslash of a bracket.
      const unescaped = (words: string) => words.replaceAll('\\', '');
      assert.ok(unescaped(shown.replace(/&amp;/g, '&')).includes(unescaped(`It said ${text}`)), shown);
    });
  }

  it('is left readable if it contains no markup', () => {
    const title = 'Are a < b & C++ > snake-case? Yes! (50 %) | ~tea~';
    const report = { ...reportWith('Yes.'), title };
    assert.ok(reportMarkdown(report).startsWith(`# ${title}\n`));
  });

  it('links only to the web', () => {
    const source = { number: 1, title: 'a', verified: true, quotes: [] };
    const report = {
      ...reportWith('Yes.'),
      sources: [
        { ...source, url: 'javascript:alert(1)' },
        { ...source, url: 'https://a.example/<b c>' },
      ],
    };
    assert.match(reportMarkdown(report), /^- \[1\] a: javascript:alert\(1\)$/m);
    assert.match(reportMarkdown(report), /^- \[1\] a: <https:\/\/a\.example\/%3Cb%20c%3E>$/m);
  });
});

describe('a report', () => {
  it('takes its title from the first heading, else from the question, and lists each source once', () => {
    const report = reportWith('# Tea first\n\nTea is older [1], much older [2][1].');
    assert.deepEqual([report.title, report.question], ['Tea first', 'Is tea older than coffee?']);
    assert.deepEqual(
      report.sources.map(({ number, url, verified }) => [number, url, verified]),
      [
        [1, 'https://example.org/1', true],
        [2, 'https://example.org/2', false],
      ],
    );
    const turned = reportWith('# \u202eTea\u2066 first\n\nTea is older [1].');
    assert.equal(turned.title, 'Tea first', 'nothing in it turns around what stands behind it');
    const untitled = reportWith('Tea is older [1].');
    assert.deepEqual([untitled.title, untitled.question], ['Is tea older than coffee?', '']);
  });

  it('is the answer behind notes, and loses no text to an empty heading', () => {
    const [answer] = responseWith('Tea is older [1].').output;
    const [note] = responseWith('Let me look.').output;
    assert.ok(answer && note);
    assert.equal(reportWith('', { output: [note, answer] }).text, 'Tea is older [1].');
    assert.equal(reportWith('#\n\nTea is older.').text, '#\n\nTea is older.');
  });

  it('has title, question, original text, sources, date and model in Markdown', () => {
    assert.equal(
      reportMarkdown(reportWith('# Tea first\n\nTea is older [1], much older [2].')),
      '# Tea first\n\n> Is tea older than coffee?\n\nTea is older [1], much older [2].\n\n## Sources\n\n' +
        '- [1] Page 1: <https://example.org/1>\n- [2] Page 2: <https://example.org/2> (not read by the run)\n\n' +
        '---\n\n_2026-11-21 · deep_\n',
    );
  });

  it('numbers markers by source_id in logs without `index`', () => {
    const text = 'Older [7].';
    const citation =
      '{"type":"url_citation","start_index":6,"end_index":9,"url":"corpus:///tea.md","title":"Tea","source_id":7,"verified":true}';
    const response = responseWith(text);
    const [message] = response.output;
    const content = [{ type: 'output_text', text, annotations: [JSON.parse(citation)], logprobs: [] }];
    const event = {
      type: 'response.completed',
      sequence_number: 1,
      response: { ...response, output: [{ ...message, content }] },
    };
    const [stored] = decodeFrames(Buffer.from(`event: response.completed\ndata: ${JSON.stringify(event)}\n\n`));
    assert.ok(stored && 'response' in stored);
    const report = reportWith(text, { output: stored.response.output });
    assert.deepEqual(report.sources, [
      { number: 7, url: 'corpus:///tea.md', title: 'Tea', verified: true, quotes: [] },
    ]);
    const html = reportDocument(report);
    assert.match(html, /<a href="#source-7">7<\/a>/);
    assert.doesNotMatch(html, /href="corpus:/, 'an address that no browser opens is no link');
  });

  it('links markers to sources in HTML, in tables and emphasis too, but leaves code alone', () => {
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

  it('draws formulas in HTML, and keeps the TeX of those it cannot parse', () => {
    const text = 'So \\(a_1 * b_1 * c\\), \\(\\unknown_a * b_c\\) and $5.\n\n$$\n\\frac{a}{b}\n$$\n';
    const html = reportDocument(reportWith(text));
    assert.match(html, /So <math><semantics>.*<annotation encoding="application\/x-tex">a_1 \* b_1 \* c<\/annotation>/);
    assert.match(html, /<code>\\unknown_a \* b_c<\/code> and \$5\./);
    assert.match(html, /<math display="block"[^>]*><semantics><mfrac>/);
    assert.match(html, /\.tml-right/);
    assert.doesNotMatch(html, /@font-face/);
    assert.doesNotMatch(reportDocument(reportWith('No formula.')), /tml-/);
  });

  it('draws no formula that its macros make long, and none in giant letters', () => {
    const long = `\\def\\a{${'x'.repeat(900)}}${'\\a'.repeat(300)}`;
    assert.ok(reportDocument(reportWith(`$$${long}$$`)).length < 20_000);
    assert.match(reportDocument(reportWith('$$\\rule{1000em}{1000em}$$')), /width="20em"/);
  });

  it('draws any formula as nothing but MathML', () => {
    const piece = fc.constantFrom(
      ...[
        '\\frac',
        '{',
        '}',
        '^',
        '_',
        '\\left(',
        '\\right)',
        '&',
        '\\\\',
        'x',
        "'",
        '\\sqrt[',
        ']',
        '\\',
        '\u0000',
        '𝒳',
      ],
      ...['\\begin{cases}', '\\end{cases}', '\\text{<b onclick=x>', '\\color{red}', '\\color{#fff;x:url(//e.example)}'],
      ...['\\href{javascript:x}{y}', '\\url{https://e.example}', '\\class{x"y}{z}', '\\style{x:url(//e.example)}{z}'],
      ...[
        '\\includegraphics{//e.example}',
        '\\def\\a{\\a\\a}\\a',
        '\\htmlData{a=b}{c}',
        `${'\\sqrt'.repeat(200)} x`,
        '{'.repeat(300),
      ],
    );
    const nothing = reportDocument(reportWith('Nothing.'));
    const others = new Set([...nothing.matchAll(/<\/?([a-z]\w*)/gi)].map(([, name]) => name));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const html = reportDocument(reportWith(`$$${pieces.join('')}$$`));
        for (const [tag, name = ''] of html.slice(html.indexOf('<body>')).matchAll(/<\/?([a-z]\w*)[^>]*>/gi)) {
          assert.ok(/^(?:m\w+|semantics|annotation|code|p)$/.test(name) || others.has(name), tag);
          assert.doesNotMatch(tag.replace(/"[^"]*"/g, ''), /\s(?:on\w+|href|src)\b/, tag);
          assert.doesNotMatch(tag, /url\(/, tag);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('shows text from models and pages as text only in HTML', () => {
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

  it('keeps hostile titles, URLs and models inside their elements in HTML', () => {
    const report = reportWith('# <b>"x"</b>\n\nText [1].');
    const url = 'javascript:alert(1)//https://';
    report.sources[0] = { number: 1, url, title: '<img src=x>', verified: true, quotes: [] };
    report.model = '<script>';
    const html = reportDocument(report);
    assert.doesNotMatch(html, /<img|<script|<b>|href="javascript/);
  });

  it('says how many sentences the check doubts, and in HTML at which sources', () => {
    const claims = { checked: 3, quoted: 1, partial: 1, none: 1, unchecked: 0, unmarked: 0 };
    const response = responseWith('One [1]. Two [2]. Three [3].', { claims });
    const annotations = response.output.flatMap((item) =>
      item.type === 'message' ? (answerPart(item)?.annotations ?? []) : [],
    );
    for (const [at, support] of (['quoted', 'partial', 'none'] as const).entries())
      Object.assign(annotations[at] ?? {}, { support });
    const report = reportOf(response, QUESTION);
    assert.ok(report);
    assert.match(reportMarkdown(report), /^\*\*2 of 3 checked sentences may say more than their sources\.\*\*$/m);
    const html = reportDocument(report);
    assert.match(html, /<p class="note">2 of 3 checked/);
    assert.deepEqual(
      [...html.matchAll(/<sup class="cite"><a [^>]*>([^<]*)</g)].map(([, mark]) => mark),
      ['1', '2?', '3?'],
    );
  });

  it('says if the run was cut or failed, and is undefined without text', () => {
    const failed = reportWith('Half', { status: 'failed' });
    assert.match(reportMarkdown(failed), /The run failed; the text is incomplete/);
    assert.match(
      reportMarkdown(reportWith('All', { incomplete_details: { reason: 'budget' } })),
      /ended with its budget/,
    );
    const later = JSON.parse('{ "incomplete_details": { "reason": "a_later_one" } }');
    assert.match(reportMarkdown(reportWith('All', later)), /The report is incomplete \(a_later_one\)/);
    assert.equal(reportOf(responseWith('  '), QUESTION), undefined);
  });

  it('has a safe file name in every script', () => {
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
