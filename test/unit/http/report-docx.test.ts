import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { crc32 } from 'node:zlib';
import { fromBufferPromise } from 'yauzl';
import { reportDocx } from '../../../src/http/report/docx/docx-document.ts';
import { reportDocument } from '../../../src/http/report/html-document.ts';
import type { Report } from '../../../src/runs/projections/report.ts';
import { readOffice } from '../../../src/tools/fetch-url-content/reading/office/office.ts';
import { reportWith } from '../../support/finished-report.ts';
import { assertWellFormed } from '../../support/well-formed-xml.ts';

/** The parts of a file, after checking their sizes and checksums. */
async function partsOf(file: Buffer): Promise<Map<string, string>> {
  const archive = await fromBufferPromise(file);
  const parts = new Map<string, string>();
  for await (const entry of archive.eachEntry()) {
    const chunks: Buffer[] = await Array.fromAsync(await archive.openReadStreamPromise(entry));
    const bytes = Buffer.concat(chunks);
    assert.equal(entry.crc32, crc32(bytes));
    parts.set(entry.fileName, bytes.toString());
  }
  return parts;
}

/** The parts of a report, after checking all that makes a package valid. */
async function written(report: Report): Promise<{ document: string; notes: string; parts: Map<string, string> }> {
  const parts = await partsOf(reportDocx(report));
  const names = [...parts.keys()];
  assert.equal(names[0], '[Content_Types].xml');
  for (const [name, xml] of parts) assertWellFormed(xml, name);
  const types = parts.get('[Content_Types].xml') ?? '';
  for (const name of names.filter((each) => each.startsWith('word/') && each.endsWith('.xml'))) {
    assert.ok(types.includes(`PartName="/${name}"`), `${name} has a type`);
  }
  for (const [name, xml] of parts) {
    if (!name.endsWith('.rels')) continue;
    const owner = posix.join(posix.dirname(name), '..', posix.basename(name, '.rels'));
    const ids = [...xml.matchAll(/ Id="([^"]+)"/g)].map(([, id = '']) => id);
    assert.equal(new Set(ids).size, ids.length, 'every id once');
    for (const [, target = '', mode] of xml.matchAll(/ Target="([^"]+)"( TargetMode="External")?/g)) {
      if (mode) assert.match(target, /^(?:https?|mailto):[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/);
      else assert.ok(parts.has(posix.join(posix.dirname(owner), target)), `${name}: ${target}`);
    }
    for (const [, id = ''] of (parts.get(owner) ?? '').matchAll(/ r:id="([^"]+)"/g)) assert.ok(ids.includes(id), id);
  }
  const document = parts.get('word/document.xml') ?? '';
  const notes = parts.get('word/footnotes.xml') ?? '';
  const idsIn = (xml: string, element: string) =>
    [...xml.matchAll(new RegExp(`<w:${element} w:id="(\\d+)"`, 'g'))].map(([, id]) => id);
  assert.deepEqual(idsIn(document, 'footnoteReference'), idsIn(notes, 'footnote'), 'a note for every reference');
  const styles = parts.get('word/styles.xml') ?? '';
  for (const [, id] of document.matchAll(/<w:(?:p|r|tbl)Style w:val="([^"]+)"/g)) {
    assert.ok(styles.includes(`w:styleId="${id}"`), `the style ${id}`);
  }
  const numbering = parts.get('word/numbering.xml') ?? '';
  for (const [, id] of document.matchAll(/<w:numId w:val="(\d+)"/g)) {
    assert.ok(numbering.includes(`<w:num w:numId="${id}">`), `the list ${id}`);
  }
  return { document, notes, parts };
}

/** The file as our own page reader reads it. */
async function readBack(report: Report) {
  return await readOffice({ kind: 'docx', bytes: reportDocx(report) });
}

/** The text of every run that has a property. */
function runsWith(document: string, property: string): string[] {
  const runs = [...document.matchAll(/<w:r>(.*?)<\/w:r>/gs)].map(([, run = '']) => run);
  return runs
    .filter((run) => new RegExp(`<w:rPr>.*<w:${property}[ /].*</w:rPr>`).test(run))
    .map((run) => run.replace(/<[^>]*>/g, ''));
}

describe('the report as a Word document', () => {
  it('keeps headings, lists, tables, code and links when read back', async () => {
    const text = [
      '# Tea first\n\nTea is **older** than *coffee* &amp; `cocoa`, see [a page](https://example.org/a?b=1&c=2), \\(a_1 * b_1 * c\\).',
      '### Dates\n\n1. First\n2. Second\n   - inner\n     1. innermost\n\n   more of it\n3. Third',
      '- [x] done\n- [ ] open\n\n> A word\n> of others\n\n```js\nif (a < b) {\n  go();\n}\n```',
      '#### Prices\n\n| Tea | Price |\n|:---|---:|\n| Green | **2** |\n| a \\| b | <b> |\n\n---\n\nThe end.',
    ].join('\n\n');
    const report = reportWith(text);
    const { title, published, content } = await readBack(report);
    assert.deepEqual([title, published], ['Tea first', '2026-11-21T23:36:47Z']);
    assert.equal(
      content,
      [
        '# Tea first',
        'Is tea older than coffee?',
        'Tea is older than coffee & cocoa, see [a page](https://example.org/a?b=1&c=2), a_1 * b_1 * c.',
        '# Dates',
        '1. First\n2. Second\n  - inner\n      1. innermost',
        'more of it',
        '3. Third\n- ☑ done\n- ☐ open',
        'A word of others',
        'if (a < b) {\n go();\n}',
        '## Prices',
        '| Tea | Price |\n| --- | --- |\n| Green | 2 |\n| a \\| b | <b> |',
        'The end.',
        '2026-11-21 · deep',
      ].join('\n\n'),
    );
    const { document } = await written(report);
    assert.deepEqual(runsWith(document, 'b'), ['older', 'Tea', 'Price', '2']);
    assert.deepEqual(runsWith(document, 'i'), ['coffee']);
    assert.deepEqual(runsWith(document, 'rStyle w:val="CodeText"'), ['cocoa', 'a_1 * b_1 * c']);
    assert.match(document, /<w:tr><w:trPr><w:cantSplit\/><w:tblHeader\/>/, 'the head of a table is on every page');
    assert.match(document, /<w:jc w:val="right"\/>/);
  });

  it('has a footnote for each citation, with title, URL and quote', async () => {
    const report = reportWith(
      '# Tea\n\nOlder [1], **much [2]**[1].\n\n| a [1] | b |\n|---|---|\n| `list[1]` | c |\n\n```\nlist[2]\n```\n',
    );
    const quoted = [...report.markers.map(({ citations }) => citations[0])];
    assert.ok(quoted[0] && quoted[1]);
    quoted[0].quote = 'Tea <is> "old" & good';
    const { document, notes } = await written(report);
    const texts = [...notes.matchAll(/<w:footnote w:id="\d+">(.*?)<\/w:footnote>/g)].map(([, note = '']) =>
      note.replace(/<[^>]*>/g, ''),
    );
    assert.deepEqual(texts, [
      ' [1] Page 1. https://example.org/1 “Tea &lt;is&gt; &quot;old&quot; &amp; good”',
      ' [2] Page 2. https://example.org/2 (not read by the run)',
      ' [1] Page 1. https://example.org/1',
      ' [1] Page 1. https://example.org/1',
    ]);
    assert.doesNotMatch(document, /Older <\/w:t>/, 'a reference stands close to its word');
    const { content } = await readBack(report);
    assert.match(content, /Older\[\^1\], much\[\^2\]\[\^3\]\./);
    assert.match(content, /\| a\[\^4\] \| b \|\n\| --- \| --- \|\n\| list\[1\] \| c \|/, 'code stays as it was');
    assert.match(content, /\n# Sources\n\n\[1\] Page 1\. \[https:\/\/example\.org\/1\]\(https:\/\/example\.org\/1\)\n/);
    assert.match(content, /\[\^1\]: \[1\] Page 1\. https:\/\/example\.org\/1 “Tea <is> "old" & good”/);
    assert.doesNotMatch(document, /[\u{e000}\u{e001}]/u);
  });

  it('says in the footnote that a source may not say this', async () => {
    const report = reportWith('Older [1][2].');
    for (const citation of report.markers.flatMap(({ citations }) => citations))
      citation.isDoubted = citation.source === 1;
    const { content } = await readBack(report);
    assert.match(content, /\[\^1\]: .*example\.org\/1 \*?\(may not say this\)/);
    assert.doesNotMatch(content, /example\.org\/2.*may not say/);
  });

  it('separates adjacent references', async () => {
    const report = reportWith('One [1][2].');
    report.markers = [
      { start: 4, end: 10, citations: [1, 2, 1].map((source) => ({ source, quote: null, isDoubted: false })) },
    ];
    for (const each of [report, reportWith('One [1][2][1].')]) {
      const { document } = await written(each);
      const raised = runsWith(document, 'rStyle w:val="FootnoteReference"');
      assert.deepEqual(raised, ['', ', ', '', ', ', '']);
    }
  });

  const hostile = [
    '</w:t></w:r></w:p><w:p/>',
    ']]> <!-- <![CDATA[ <?xml version="1.0"?> &evil; &#0; &#x1f;',
    'control \u0000\u0001\b\u000b\f\u001b\u007f\u0085\ufffe\uffff letters',
    'half \ud800 letters \udc00 \ud83d',
    'private \u{e000}0\u{e001} letters \u{e000}99\u{e001}',
    '" onload="x\' \u2028 \u202e %s',
  ];
  for (const text of hostile) {
    it(`shows hostile text as text: ${JSON.stringify(text)}`, async () => {
      const report = reportWith(
        `# ${text}\n\n${text} [1]\n\n- ${text}\n\n| ${text} |\n|---|\n| ${text} |\n\n\`${text}\``,
        {
          model: text,
          status: 'failed',
          error: { code: 'upstream_error', message: text, type: 'api_error', param: null },
        },
      );
      report.title = report.question = text;
      const url = `https://evil.example/${text}`;
      report.sources = [
        { number: 1, url, title: text, verified: true, quotes: [] },
        { number: null, url: text, title: text, verified: true, quotes: [] },
      ];
      for (const { citations } of report.markers) for (const citation of citations) citation.quote = text;
      const { document, notes } = await written(report);
      assert.doesNotMatch(document + notes, /<w:p\/>/);
      assert.match((await readBack(report)).content, /The run failed; the text is incomplete/);
    });
  }

  it('links only to web and mail addresses, in a form that Word opens, never nested', async () => {
    const long = `https://example.org/${'a'.repeat(3000)}`;
    const { parts, document } = await written(
      reportWith(
        '[a](javascript:alert(1)) [b](https://ex.org/a|b%zz/ä?q={x}&y="z") [c](file:///etc/passwd) ' +
          `[![d](https://ex.org/d.png)](https://ex.org/d) ![e](//ex.org/e.png) [f](${long}) <a@ex.org> https://täst.example/`,
      ),
    );
    const relations = parts.get('word/_rels/document.xml.rels') ?? '';
    const targets = [...relations.matchAll(/Target="([^"]+)" TargetMode/g)].map(([, target]) => target);
    assert.deepEqual(targets, [
      'https://ex.org/a%7Cb%25zz/%C3%A4?q=%7Bx%7D&amp;y=%22z%22',
      'https://ex.org/d',
      'mailto:a@ex.org',
      'https://xn--tst-qla.example/',
    ]);
    assert.doesNotMatch(document, /<w:hyperlink[^>]*>(?:(?!<\/w:hyperlink>).)*<w:hyperlink/);
    assert.doesNotMatch(document, /<w:(?:drawing|pict|object|altChunk|instrText)/, 'nothing is loaded or run');
  });

  it('marks right-to-left paragraphs by their first letter, and runs by their own', async () => {
    const { document } = await written(
      reportWith('תה עתיק (old tea) 123 [1]!\n\nTea is תה here.\n\n| מחיר | b |\n|---|---|\n| x | 34 |'),
    );
    const paragraphs = [...document.matchAll(/<w:p>.*?<\/w:p>/g)].map(([xml]) => xml);
    const [first, second] = ['old tea', 'Tea is '].map((text) => paragraphs.find((xml) => xml.includes(text)) ?? '');
    assert.match(first ?? '', /<w:pPr><w:bidi\/>/);
    assert.deepEqual(runsWith(first ?? '', 'rtl'), ['תה עתיק (', ') 123', '!']);
    assert.doesNotMatch(second ?? '', /<w:bidi\/>/);
    assert.deepEqual(runsWith(second ?? '', 'rtl'), ['תה']);
    assert.match(document, /<w:bidiVisual\/>/);
    assert.match(
      document,
      /<w:bidi\/><\/w:pPr><w:r><w:rPr><w:rtl\/><\/w:rPr><w:t [^>]*>34</,
      'a figure stands as its table does',
    );
  });

  it('splits large tables into several that Word opens, without losing rows', async () => {
    const row = (start: number) => `|${Array.from({ length: 130 }, (_, at) => ` ${start + at} |`).join('')}`;
    const { document } = await written(reportWith(`${row(0)}\n|${'---|'.repeat(130)}\n${row(1000)}`));
    const columns = [...document.matchAll(/<w:tblGrid>(.*?)<\/w:tblGrid>/g)].map(
      ([, grid = '']) => grid.split('<w:gridCol').length - 1,
    );
    assert.deepEqual(columns, [63, 63, 4]);
    for (const number of [0, 129, 1000, 1129]) assert.match(document, new RegExp(`>${number}</w:t>`));
    const long = reportWith(`| a | b |\n|---|---|\n${'| x [1] | y |\n'.repeat(2000)}`);
    const { document: rows } = await written(long);
    assert.equal(rows.split('<w:tr>').length - 1, 2001);
    const longer = { ...reportWith(`| a |\n|---|\n${'| x |\n'.repeat(30_001)}`) };
    assert.equal((await written(longer)).document.split('<w:tbl>').length - 1, 2);
  });

  it("keeps lists deeper than Word's levels, and starts numbered lists where they say", async () => {
    const deep = Array.from({ length: 60 }, (_, depth) => `${'  '.repeat(depth)}- item ${depth}`).join('\n');
    const { document, parts } = await written(reportWith(`${deep}\n\n7. seven\n8. eight\n\nText\n\n1. one\n\n`));
    const levels = [...document.matchAll(/<w:ilvl w:val="(\d+)"/g)].map(([, level]) => Number(level));
    assert.equal(Math.max(...levels), 8);
    assert.equal(levels.length, 63);
    const indents = [...document.matchAll(/<w:ind w:left="(\d+)"/g)].map(([, left]) => Number(left));
    assert.ok(Math.max(...indents) < 6000, 'they stay on the page');
    const starts = [...(parts.get('word/numbering.xml') ?? '').matchAll(/<w:startOverride w:val="(\d+)"/g)];
    assert.deepEqual(
      starts.map(([, start]) => start),
      ['7', '1'],
    );
  });

  it('says that a report was cut, and needs no sources', async () => {
    const cut = reportWith('Half of', { incomplete_details: { reason: 'max_output_tokens' } });
    const { content } = await readBack(cut);
    assert.equal(
      content,
      '# Is tea older than coffee?\n\nThe text was cut at its maximum length.\n\nHalf of\n\n2026-11-21 · deep',
    );
    const { document } = await written(cut);
    assert.doesNotMatch(document, /Sources|footnoteReference/);
  });

  it('is the same file each time', () => {
    assert.deepEqual(reportDocx(reportWith('Older [1].')), reportDocx(reportWith('Older [1].')));
  });

  it('breaks the lines of a cell at <br>, the only way to break them in Markdown', async () => {
    const report = reportWith('# Tea\n\n| Tea | Price |\n| --- | --- |\n| Green<br>Black<BR /> | <b>2 |');
    const { document } = await written(report);
    assert.equal(document.split('<w:br/>').length, 3);
    assert.ok(!/&lt;br/i.test(document) && document.includes('&lt;b&gt;'), document);
    assert.match(reportDocument(report), /<td>Green<br>Black<br><\/td>\s*<td>&lt;b&gt;2<\/td>/);
  });
});
