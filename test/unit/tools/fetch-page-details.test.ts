import assert from 'node:assert/strict';
import type { ContentKind } from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';

const readAs = (kind: ContentKind, text: string | Uint8Array) =>
  read({ kind, bytes: Buffer.from(text), charset: undefined, url: 'https://example.org/a/b', softLimitMs: 2500 });
const markdownOf = async (body: string) => (await readAs('html', `<title>Tides</title><main>${body}</main>`)).content;

describe('fetch_url_content: details of pages', () => {
  it('lets no text make a link or change where one leads', async () => {
    assert.equal(
      await markdownOf('<p>[a](https://b.org) <a href="https://c.org/">x](https://b.org) [y</a></p>'),
      '[a]\\(https://b.org) [x]\\(https://b.org) [y](https://c.org/)',
    );
  });

  it('writes code with an indented fence in a longer fence', async () => {
    const code = '- a\n   ```js\n   b\n   ```';
    assert.equal(await markdownOf(`<pre>${code}</pre>`), `\`\`\`\`\n${code}\n\`\`\`\``);
  });

  it('counts reversed lists down', async () => {
    const list = '<ol reversed><li>Third</li><li>Second</li><li value="9">First</li><li>Last</li></ol>';
    assert.equal(await markdownOf(list), '4. Third\n3. Second\n9. First\n8. Last');
  });

  it('labels items as browsers do: by letters, by Roman numerals, or not at all', async () => {
    const items = '<li>Rise<ul><li>High</li></ul></li><li>Fall</li>';
    const inner = '\n  - High\n';
    assert.equal(await markdownOf(`<ol type="a" start="26">${items}</ol>`), `- z. Rise${inner}- aa. Fall`);
    assert.equal(
      await markdownOf(`<ol style="list-style-type: upper-roman">${items}</ol>`),
      `- I. Rise${inner}- II. Fall`,
    );
    assert.equal(await markdownOf(`<ol style="list-style: none">${items}</ol>`), `- Rise${inner}- Fall`);
  });

  for (const span of [100, 0]) {
    it(`repeats a cell in each row that rowspan=${span} spans`, async () => {
      const rows = Array.from(
        { length: 100 },
        (_, at) => `<tr>${at === 0 ? `<td rowspan=${span}>A</td>` : ''}<td>${at}</td></tr>`,
      );
      const lines = (await markdownOf(`<table><tr><th>x</th><th>y</th></tr>${rows.join('')}</table>`)).split('\n');
      assert.deepEqual(
        lines.slice(2),
        rows.map((_, at) => `| A | ${at} |`),
      );
    });
  }

  it('reads letters in the font Symbol', async () => {
    const text =
      '<p>5 <font face="Symbol">m</font>m <font face="symbol">a \u00b1 </font>b <font face="Arial">m</font></p>';
    assert.equal(await markdownOf(text), '5 μm α ± b m');
  });

  it('takes no setting for the source of a formula', async () => {
    const text = 'All of the article is in here. '.repeat(20).trim();
    assert.equal(await markdownOf(`<div data-math="true"><p>${text}</p></div>`), text);
  });

  it('reads XHTML that is sent as XML', async () => {
    const html =
      '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Tides</title></head><body><p>They <b>rise</b>.</p></body></html>';
    const { title, content } = await readAs('xml', `<?xml version="1.0"?>\n<!DOCTYPE html>\n<!-- a -->${html}`);
    assert.deepEqual([title, content], ['Tides', 'They **rise**.']);
    assert.equal((await readAs('xml', `<x>${html}</x>`)).content, `<x>${html}</x>`);
  });

  it('links entries of a feed to their own web addresses only, and names their authors alone', async () => {
    const entry = (inner: string) => `<item><title>Rise</title>${inner}</item>`;
    const { content } = await readAs(
      'xml',
      `<rss><channel>${entry('<guid isPermaLink="false">123</guid>')}${entry('<link>javascript:alert(1)</link>')}
      ${entry('<guid>https://example.org/c)d</guid>')}<entry><title>a](https://b.org) [b</title><link href="/e"/>
      <author><name>Jane Doe</name><email>jane@example.org</email></author></entry></channel></rss>`,
    );
    assert.deepEqual(content.split('\n\n'), [
      '## Rise',
      '## Rise',
      '## [Rise](<https://example.org/c)d>)',
      '## [a]\\(https://b.org) [b](https://example.org/e)',
      'Jane Doe',
    ]);
  });

  it('says where a page leads that only sends its readers on', async () => {
    const page = (refresh: string, body = '') =>
      readAs('html', `<title>Moved</title><meta http-equiv="Refresh" content="${refresh}">${body}`);
    const { title, content } = await page("0; URL='/new'", '<p>Redirecting.</p>');
    assert.deepEqual(
      [title, content],
      ['Moved', 'Redirecting.\n\nThis page leads to [https://example.org/new](https://example.org/new)'],
    );
    for (const refresh of ['300', '0; url=javascript:a()', '5; url=https://example.org/a/b'])
      assert.equal((await page(refresh, '<p>Tides.</p>')).content, 'Tides.');
  });

  it('takes no zero of a database for a date', async () => {
    const published = async (date: string) =>
      (await readAs('html', `<title>T</title><meta name="date" content="${date}"><p>Tides.</p>`)).published;
    for (const zero of ['0001-01-01T00:00:00', '-0001-11-30T00:00:00+00:00', '0000-00-00', '1970-01-01T00:00:00Z'])
      assert.equal(await published(zero), undefined, zero);
    assert.equal(await published('1970-01-01'), '1970-01-01');
  });
});
