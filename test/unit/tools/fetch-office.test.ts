import assert from 'node:assert/strict';
import type { OfficeKind } from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { patience } from '../../support/time-limit.ts';
import { type ZipPart, zipOf } from '../../support/zip-file.ts';

const office = async (kind: OfficeKind, parts: readonly ZipPart[]) => {
  const job = { kind, bytes: zipOf(parts), charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
  return (await read(job)).content;
};
const docx = (document: string | Buffer, more: Partial<ZipPart> = {}) =>
  office('docx', [{ name: 'word/document.xml', data: document, ...more }]);
const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe('fetch_url_content: parts of office documents', function () {
  // Archives unpack to hundreds of megabytes.
  this.timeout(patience(30));
  it('are read with CDATA and character references', async () => {
    assert.equal(await docx(paragraph('<![CDATA[a < b]]> &amp; c &#233; &lt;w:t&gt;')), 'a < b & c é <w:t>');
  });

  it('may have Windows path separators', async () => {
    assert.equal(await docx(paragraph('found'), { name: 'word\\document.xml' }), 'found');
  });

  it('may have names beside them that lead out of the archive', async () => {
    const parts = [
      { name: '../../etc/passwd', data: 'x' },
      { name: '/word/a.xml', data: 'x' },
    ];
    assert.equal(await office('docx', [...parts, { name: 'word/document.xml', data: paragraph('found') }]), 'found');
  });

  it('include footnotes at the end', async () => {
    const text = '<w:p><w:r><w:t>A claim</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>';
    const notes = `<w:footnotes><w:footnote w:id="2">${paragraph('Smith, 1999.')}</w:footnote></w:footnotes>`;
    const content = await office('docx', [
      { name: 'word/document.xml', data: text },
      { name: 'word/footnotes.xml', data: notes },
    ]);
    assert.equal(content, 'A claim[^2]\n\n[^2]: Smith, 1999.');
  });

  it('may be in UTF-16', async () => {
    assert.equal(await docx(Buffer.from(`\ufeff${paragraph('Größe 東京')}`, 'utf16le')), 'Größe 東京');
  });

  it('keep an attribute whose value contains >', async () => {
    const target = 'https://example.org/a>b';
    const content = await office('docx', [
      { name: 'word/document.xml', data: `<w:p><w:hyperlink r:id='r1'><w:t>log</w:t></w:hyperlink></w:p>` },
      { name: 'word/_rels/document.xml.rels', data: `<Relationship Target="${target}" Id="r1"/>` },
    ]);
    assert.equal(content, '[log](https://example.org/a%3Eb)');
  });

  it('are refused as damaged if they unpack to more than they claim', async () => {
    await assert.rejects(docx(paragraph('x'.repeat(1000)), { claimed: 10 }), /the document is damaged/);
  });

  it('are refused if nested 100 000 deep, and read if nested 500 deep', async () => {
    const deep = (depth: number) => `${'<w:tbl>'.repeat(depth)}</w:tbl>${paragraph('x')}`;
    await assert.rejects(docx(deep(100_000)), /nested too deeply/);
    assert.equal(await docx(`${paragraph('before')}${'<w:sdt>'.repeat(500)}${paragraph('x')}`), 'before\n\nx');
  });
});
