import assert from 'node:assert/strict';
import type { ContentKind, OfficeKind } from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { patience } from '../../support/time-limit.ts';
import { type ZipPart, zipOf } from '../../support/zip-file.ts';

const S = 'The scheduler keeps a queue of pending jobs and hands each of them to the first worker that is free.';
const T = 'When a worker fails, its lease runs out after thirty seconds and the job returns to the queue unharmed.';
const readAs = (kind: ContentKind, text: string | Uint8Array) =>
  read({ kind, bytes: Buffer.from(text), charset: undefined, url: 'https://example.org/a/b', softLimitMs: 2500 });
const markdownOf = async (body: string) => (await readAs('html', `<title>Tides</title><main>${body}</main>`)).content;
const office = async (kind: OfficeKind, parts: readonly ZipPart[]) => {
  const job = { kind, bytes: zipOf(parts), charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
  return (await read(job)).content;
};
const docx = (document: string | Buffer, more: Partial<ZipPart> = {}) =>
  office('docx', [{ name: 'word/document.xml', data: document, ...more }]);

describe('fetch_url_content with a large page', () => {
  it('reads it to the end, however many paragraphs or buttons are siblings', function () {
    // It would take minutes if each of them looked at all the others.
    this.timeout(patience(30));
    for (const piece of [`<p>${S}</p>`, '<button>x</button>']) {
      const html = `<h2>${piece.repeat(40_000)}</h2><p>The end. ${T}</p>`;
      assert.match(readHtml(html, 'https://example.org/').content, /The end\./);
    }
  });

  it('keeps every row of a large table, and bounds what spans add to it', async () => {
    const rows = Array.from({ length: 9000 }, (_, at) => `<tr>${'<td>a</td>'.repeat(6)}<td>r${at}</td></tr>`).join('');
    assert.ok((await markdownOf(`<table>${rows}</table>`)).endsWith('| r8999 |'));
    const spans = '<tr><td rowspan=1e9 colspan=1e9>b</td></tr>'.replaceAll('1e9', '1000000000').repeat(9000);
    const content = await markdownOf(`<table>${spans}<tr><td>end</td></tr></table>`);
    assert.ok(content.length < 3_000_000 && content.includes('end'), `${content.length}`);
  });

  it('keeps the last column of a table, however late its only row comes, without filling up very wide tables', async () => {
    const short = '<tr><td>a</td><td>b</td></tr>'.repeat(1500);
    const wide = await markdownOf(`<table>${short}<tr><td>a</td><td>b</td><td>last</td></tr></table>`);
    assert.ok(wide.endsWith('| a | b | last |'));
    const bomb = await markdownOf(`<table><tr>${'<td>x</td>'.repeat(20_000)}</tr>${short.repeat(10)}</table>`);
    assert.ok(bomb.length < 1_000_000 && bomb.endsWith('| a | b |'), `${bomb.length}`);
  });
});

describe('fetch_url_content: large parts of office documents', function () {
  // Archives unpack to hundreds of megabytes.
  this.timeout(patience(30));
  it('are refused if they unpack to too much', async () => {
    await assert.rejects(docx(Buffer.alloc(51_000_000, ' ')), /the document unpacks to too much/);
    const chapter = Buffer.alloc(40_000_000, ' ');
    const chapters = ['a', 'b', 'c'];
    const book = office('epub', [
      { name: 'META-INF/container.xml', data: '<rootfile full-path="b.opf"/>' },
      {
        name: 'b.opf',
        data: chapters.map((id) => `<item id="${id}" href="${id}.html"/><itemref idref="${id}"/>`).join(''),
      },
      ...chapters.map((id) => ({ name: `${id}.html`, data: chapter })),
    ]);
    await assert.rejects(book, /the document unpacks to too much/);
  });
});
