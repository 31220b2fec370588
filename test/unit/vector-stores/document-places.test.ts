import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { DocumentTexts } from '../../../src/vector-stores/document-text.ts';
import { patience } from '../../support/time-limit.ts';
import { zipOf } from '../../support/zip-file.ts';

const SAMPLES = new URL('../../fixtures/documents/', import.meta.url);

/** A workbook with one sheet; `rows` are its cells from A5 on. */
function workbook(rows: readonly (readonly string[])[]): Buffer {
  const cell = (text: string, at: number, row: number) =>
    text === '' ? '' : `<c r="${'ABCD'[at]}${row}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const written = rows.map(
    (row, n) => `<row r="${n + 5}">${row.map((text, at) => cell(text, at, n + 5)).join('')}</row>`,
  );
  return zipOf([
    { name: 'xl/workbook.xml', data: '<workbook><sheets><sheet name="Budget" r:id="r1"/></sheets></workbook>' },
    {
      name: 'xl/_rels/workbook.xml.rels',
      data: '<Relationships><Relationship Id="r1" Target="worksheets/a.xml"/></Relationships>',
    },
    { name: 'xl/worksheets/a.xml', data: `<worksheet><sheetData>${written.join('')}</sheetData></worksheet>` },
  ]);
}

/** A book whose chapters have no headings; only its table of contents names them. */
function book(): Buffer {
  const chapter = (text: string) => `<html><head><title>x</title></head><body><p>${text}</p></body></html>`;
  const manifest = [
    '<item id="toc" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>',
    '<item id="one" href="text/one.xhtml"/><item id="two" href="text/two.xhtml"/>',
  ];
  return zipOf([
    { name: 'mimetype', data: 'application/epub+zip', stored: true },
    { name: 'META-INF/container.xml', data: '<container><rootfile full-path="OPS/book.opf"/></container>' },
    {
      name: 'OPS/book.opf',
      data: `<package><manifest>${manifest.join('')}</manifest><spine><itemref idref="one"/><itemref idref="two"/></spine></package>`,
    },
    {
      name: 'OPS/nav.xhtml',
      data: '<nav><ol><li><a href="text/one.xhtml">The departure</a></li><li><a href="text/two.xhtml">The <i>storm</i></a></li></ol></nav>',
    },
    { name: 'OPS/text/one.xhtml', data: chapter('We left at dawn.') },
    { name: 'OPS/text/two.xhtml', data: chapter('The mast broke at noon.') },
  ]);
}

describe('the location of a passage', () => {
  const texts = new DocumentTexts();
  after(() => texts[Symbol.dispose]());
  const passages = async (bytes: Buffer, name: string, type = '') => {
    const { text } = await texts.read({ bytes, name, type }, AbortSignal.timeout(patience(30)));
    return chunkDocument(text, { contentType: 'text/markdown', name, places: true }).chunks;
  };
  const sectionOf = async (bytes: Buffer, { name, words }: { name: string; words: string }) => {
    const found = (await passages(bytes, name)).find(({ text }) => text.includes(words));
    return found?.section;
  };

  it('is the sheet and cell range in a workbook, whose passages repeat the column names', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => ['', `Item ${n}`, `${n * 10} crowns for the harbour`]);
    const bytes = workbook([['', 'Name', 'Price'], ...rows]);
    const found = (await passages(bytes, 'b.xlsx')).find(({ text }) => text.includes('Item 150 '));
    const range = /^Budget › B(\d+):C(\d+)$/.exec(`${found?.section}`);
    const [first, last] = [Number(range?.[1]), Number(range?.[2])];
    assert.ok(first <= 156 && 156 <= last && last - first < 60, `${found?.section}`);
    assert.match(found?.text ?? '', /^\| +\| Name \| Price \|/m);
    assert.match((await sectionOf(bytes, { name: 'b.xlsx', words: 'Item 0 ' })) ?? '', /^Budget › B5:C\d+$/);
  });

  it('is the cell range in a CSV file, which is indexed whole or refused with the reason', async () => {
    const csv = (count: number) =>
      Buffer.from(`id,town,depth\n${Array.from({ length: count }, (_, n) => `${n},Town ${n},${n % 90}`).join('\n')}`);
    const found = (await passages(csv(30_000), 'b.csv', 'text/csv')).find(({ text }) => text.includes('Town 29999 '));
    assert.match(`${found?.section}`, /^A\d+:C30001$/);
    assert.match(found?.text ?? '', /^\| id \| town \| depth \|/m);
    const [short] = await passages(Buffer.from('id,town\n7,'), 's.csv', 'text/csv');
    assert.match(short?.text ?? '', /^\| 7 \| +\|$/m);
    await assert.rejects(
      passages(csv(400_000), 'c.csv', 'text/csv'),
      /only its first 8000000 characters were read\. Split it\./,
    );
  });

  it('is the slide in a presentation', async () => {
    const slide = (text: string) => `<p:sp><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp>`;
    const bytes = zipOf([
      { name: 'ppt/presentation.xml', data: '<p:presentation/>' },
      { name: 'ppt/slides/slide1.xml', data: slide('Tides') },
      { name: 'ppt/slides/slide2.xml', data: slide('They are high.') },
    ]);
    const found = await passages(bytes, 'tides.pptx');
    assert.deepEqual(
      found.map(({ page, text }) => [page, text]),
      [
        [1, 'Tides'],
        [2, 'They are high.'],
      ],
    );
  });

  it('is the heading in Markdown, also if a line of = or - underlines it', async () => {
    const text = 'Tides\n=====\n\nStations\n---\n\nThe east pier.\n\nA list of\n-----\n\n---\n\nThe end.\n';
    const bytes = Buffer.from(text);
    assert.equal(await sectionOf(bytes, { name: 'a.md', words: 'east pier' }), 'Tides › Stations');
    assert.equal(await sectionOf(bytes, { name: 'a.md', words: 'The end' }), 'Tides › A list of');
  });

  it('is the heading in a Word document, and the chapter in a book', async () => {
    const docx = await readFile(new URL('tides.docx', SAMPLES));
    assert.match(
      (await sectionOf(docx, { name: 'tides.docx', words: 'East pier' })) ?? '',
      /Tides of the coast › Stations/,
    );
    assert.equal(await sectionOf(book(), { name: 'b.epub', words: 'mast broke' }), 'The storm');
    assert.equal(await sectionOf(book(), { name: 'b.epub', words: 'at dawn' }), 'The departure');
  });
});
