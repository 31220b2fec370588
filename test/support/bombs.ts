import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { once } from '../../src/base/once.ts';
import { type PdfObject, pdfOf } from './pdf-file.ts';
import { zipOf } from './zip-file.ts';

/** A body crafted to hang a reader or exhaust its memory. */
export interface Bomb {
  name: string;
  contentType: string;
  /** Made when it is needed: some take a while. */
  body: () => string | Uint8Array | Promise<Uint8Array>;
  encoding?: string;
}

const html = (name: string, inner: string): Bomb => ({
  name,
  contentType: 'text/html; charset=utf-8',
  body: () => `<!doctype html><html><body>${inner}</body></html>`,
});

const attributes = (count: number) => Array.from({ length: count }, (_, at) => `a${at}=1`).join(' ');

/** HTML that takes pure-JavaScript parsers and extractors seconds, minutes or for ever. */
export function htmlBombs(): Bomb[] {
  return [
    html('ten thousand nested div', '<div>'.repeat(10_000)),
    html(
      'nested div just within the limit, many times',
      `${'<div>'.repeat(390)}<p>x, y</p>${'</div>'.repeat(390)}`.repeat(40),
    ),
    html('two million <', '<'.repeat(2_000_000)),
    html('two million &', '&'.repeat(2_000_000)),
    html('fifty thousand unclosed p', '<p>x'.repeat(50_000)),
    html('fifty thousand unclosed b', '<b>x'.repeat(50_000)),
    html('fifty thousand unclosed links', '<a href=x>x'.repeat(50_000)),
    html('a tag with a hundred thousand attributes', `<div ${attributes(100_000)}>x</div>`),
    html('many tags with many attributes', `<div ${attributes(1500)}>x</div>`.repeat(400)),
    html('comments that never end', '<!--'.repeat(400_000)),
    html('attributes that never end', '<p a="'.repeat(300_000)),
    html('tables in tables', `${'<table><tr><td>'.repeat(130)}x${'</td></tr></table>'.repeat(130)}`.repeat(30)),
    html(
      'cells that span everything',
      `<table>${`<tr>${'<td colspan=1000 rowspan=65534>x</td>'.repeat(20)}</tr>`.repeat(500)}</table>`,
    ),
    html('lists in lists with many lines', `${'<ul><li>'.repeat(390)}${'line<br>'.repeat(3000)}`),
    html('quotes in quotes with many lines', `${'<blockquote>'.repeat(390)}${'<p>line</p>'.repeat(3000)}`),
    html('three million spaces', `<p>${' '.repeat(3_000_000)}x</p>`),
    html('a class name without end', `<div class="${'nav- '.repeat(500_000)}">x</div>`),
    html('a hundred thousand scripts', '<script>'.repeat(100_000)),
  ];
}

/** PDFs that inflate or loop. */
export function pdfBombs(): Bomb[] {
  const pdf = (name: string, body: Bomb['body']): Bomb => ({ name, contentType: 'application/pdf', body });
  const form = (inner: string, target: number): PdfObject => ({
    dictionary: `<< /Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /Font << /F1 3 0 R >> /XObject << /X ${target} 0 R >> >> >>`,
    stream: Buffer.from(inner.repeat(30)),
  });
  const inflating = once(() => packed(700, createDeflate({ level: 1 })));
  return [
    pdf('a PDF that inflates to 700 MB', async () => onePage([flate(await inflating())])),
    pdf('a PDF that inflates twice', async () => {
      const twice = deflateSync(await inflating());
      return onePage([{ dictionary: '<< /Filter [/FlateDecode /FlateDecode] >>', stream: twice }]);
    }),
    pdf('a PDF of two million operators', () => {
      return onePage([flate(deflateSync(Buffer.from('BT /F1 9 Tf (x) Tj ET\n'.repeat(2_000_000))))]);
    }),
    pdf('a PDF of forms in forms', () => {
      const forms = [6, 7, 8, 9].map((target) => form('/X Do ', target));
      return onePage([...forms, form('BT /F1 9 Tf (x) Tj ET ', 9)]);
    }),
    pdf('a PDF whose pages contain themselves', () => pages('<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 100000 >>')),
    pdf('a PDF that claims two thousand million pages', () => pages('<< /Type /Pages /Kids [] /Count 2000000000 >>')),
    pdf('a PDF of nothing but object headers', () => {
      return Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(5_000_000, '1 0 obj << ')]);
    }),
    pdf('a PDF of nested dictionaries', () => onePage([], '<< /A '.repeat(200_000))),
  ];
}

/** Archives, and bodies that exceed the limit once they are unpacked. */
export function archiveBombs(): Bomb[] {
  const gzip = once(() => packed(200, createGzip({ level: 1 })));
  const zip = once(async () =>
    Buffer.concat([Buffer.from([0x50, 0x4b, 0x03, 0x04]), await packed(200, createDeflate({ level: 1 }))]),
  );
  const layers = async () => gzipSync(gzipSync(await gzip()));
  const entities = Array.from({ length: 30 }, (_, at) => `<!ENTITY a${at + 1} "&a${at};&a${at};">`).join('');
  return [
    { name: 'a gzip body of 200 MB', contentType: 'text/html', body: gzip, encoding: 'gzip' },
    { name: 'a body in three layers of gzip', contentType: 'text/html', body: layers, encoding: 'gzip, gzip, gzip' },
    { name: 'a gzip file', contentType: 'application/gzip', body: gzip },
    { name: 'a gzip file that calls itself a page', contentType: 'text/html', body: gzip },
    { name: 'a ZIP archive', contentType: 'application/zip', body: zip },
    { name: 'a ZIP archive that calls itself text', contentType: 'text/plain', body: zip },
    {
      name: 'XML with entities that multiply',
      contentType: 'application/rss+xml',
      body: () =>
        `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a0 "ha">${entities}]><rss><channel><title>x</title><item><title>&a30;</title></item></channel></rss>`,
    },
    {
      name: 'a feed of nested elements',
      contentType: 'application/rss+xml',
      body: () => `<rss>${'<item>'.repeat(100_000)}`,
    },
  ];
}

/** Megabytes of spaces, compressed without ever being in memory as a whole. */
async function packed(megabytes: number, packer: Transform): Promise<Uint8Array> {
  const piece = Buffer.alloc(1_000_000, 32);
  return await buffer(Readable.from(Array.from({ length: megabytes }, () => piece)).pipe(packer));
}

function pages(tree: string): Uint8Array {
  return pdfOf([{ dictionary: '<< /Type /Catalog /Pages 2 0 R >>' }, { dictionary: tree }]);
}

function flate(stream: Uint8Array): PdfObject {
  return { dictionary: '<< /Filter /FlateDecode >>', stream };
}

/** One page whose content is the first of `objects`; the second is a form that it may draw. */
function onePage(objects: readonly PdfObject[], page?: string): Uint8Array {
  const resources = '<< /Font << /F1 3 0 R >> /XObject << /X 6 0 R >> >>';
  return pdfOf([
    { dictionary: '<< /Type /Catalog /Pages 2 0 R >>' },
    { dictionary: '<< /Type /Pages /Kids [4 0 R] /Count 1 >>' },
    { dictionary: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>' },
    {
      dictionary:
        page ?? `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources ${resources} /Contents 5 0 R >>`,
    },
    ...objects,
  ]);
}

/** Harmless-looking texts on which a regular expression with nested repetition takes minutes. */
export function textBombs(): Bomb[] {
  const text = (name: string, contentType: string, body: () => string): Bomb => ({ name, contentType, body });
  const tabs = '\t'.repeat(19_900);
  return [
    text('a Markdown heading of tabs', 'text/markdown', () => `# a${tabs}b`),
    text('a thousand Markdown headings of blanks', 'text/markdown', () => `# a${' #'.repeat(9000)}b\n`.repeat(300)),
    text('Markdown of opening brackets', 'text/markdown', () => '![['.repeat(1_000_000)),
    text('front matter that never ends', 'text/markdown', () => `---\ntitle: a${' '.repeat(4900)}b\n`.repeat(1000)),
    text('text of blanks and lines', 'text/plain', () => `${' '.repeat(50_000)}x\n`.repeat(60)),
    text('text under a type of 16 000 letters', `application/${'a'.repeat(12_000)}`, () => 'x'),
    text('JSON of a million brackets', 'application/json', () => '['.repeat(1_000_000)),
    text('CSV of a million separators', 'text/csv', () => `${','.repeat(2_000_000)}\na,b`),
    text('CSV of a million quotes', 'text/csv', () => `a,b\n${'"'.repeat(3_000_001)}`),
    text('CSV of wide rows', 'text/csv', () => `${'a,'.repeat(4000)}\n`.repeat(900)),
    text('XML of a million openings', 'application/xml', () => `<rss>${'<![CDATA['.repeat(400_000)}`),
    text('a feed of blanks', 'application/rss+xml', () => `<rss><item><title>${' '.repeat(2_000_000)}x</title></item>`),
  ];
}

/** Office documents, books and rich text that unpack, nest or repeat without end. */
export function officeBombs(): Bomb[] {
  const office = (name: string, body: Bomb['body']): Bomb => ({ name, contentType: 'application/octet-stream', body });
  const docx = (document: string | Uint8Array, claimed?: number) =>
    zipOf([{ name: 'word/document.xml', data: document, ...(claimed === undefined ? {} : { claimed }) }]);
  const sheet = (rows: string) =>
    zipOf([
      { name: 'xl/workbook.xml', data: '<workbook><sheets><sheet name="a" r:id="r1"/></sheets></workbook>' },
      {
        name: 'xl/_rels/workbook.xml.rels',
        data: '<Relationships><Relationship Id="r1" Target="s.xml"/></Relationships>',
      },
      { name: 'xl/s.xml', data: `<worksheet><sheetData>${rows}</sheetData></worksheet>` },
    ]);
  const odf = (
    content: string | Uint8Array,
    kind = 'spreadsheet',
    parts: readonly { name: string; data: string }[] = [],
  ) =>
    zipOf([
      { name: 'mimetype', data: `application/vnd.oasis.opendocument.${kind}`, stored: true },
      { name: 'content.xml', data: content },
      ...parts,
    ]);
  const cell = (repeated: string) =>
    `<table:table-row><table:table-cell table:number-columns-repeated="${repeated}"><text:p>x</text:p></table:table-cell></table:table-row>`;
  const slides = (content: string | Uint8Array, parts?: readonly { name: string; data: string }[]) =>
    odf(content, 'presentation', parts);
  const entities = Array.from({ length: 30 }, (_, at) => `<!ENTITY a${at + 1} "&a${at};&a${at};">`).join('');
  const million = Buffer.alloc(120_000_000, '<w:p> ');
  return [
    office('a Word document that unpacks to 120 MB', () => docx(million)),
    office('a Word document that lies about what it unpacks to', () => docx(million, 10)),
    office('a Word document of a million nested tables', () => docx('<w:tbl><w:tr><w:tc><w:p>'.repeat(400_000))),
    office('a Word document with entities that multiply', () =>
      docx(`<!DOCTYPE w [<!ENTITY a0 "ha">${entities}]><w:p><w:t>&a30;</w:t></w:p>`),
    ),
    office('a Word document of one endless word', () => docx(`<w:p><w:t>${'x'.repeat(20_000_000)}</w:t></w:p>`)),
    office('a sheet of a million columns', () => sheet('<row><c r="ZZZ1"><v>1</v></c></row>'.repeat(300_000))),
    office('a sheet whose cells repeat for ever', () =>
      odf(
        `<table:table>${'<table:table-row><table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell></table:table-row>'.repeat(20_000)}</table:table>`,
      ),
    ),
    office('an .ods file that unpacks to 120 MB', () => odf(Buffer.alloc(120_000_000, '<text:p> '))),
    office('an .ods file whose cells repeat by numbers that are none', () =>
      odf(
        `<table:table>${['1e309', '-5', '0.5', '9'.repeat(400), 'NaN', '4294967296'].map(cell).join('').repeat(2000)}</table:table>`,
      ),
    ),
    office('an .ods file whose rows and empty cells repeat for ever', () =>
      odf(
        `<table:table>${'<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'.repeat(20_000)}</table:table>`,
      ),
    ),
    office('an .ods file of a million sheets', () => odf('<table:table table:name="a"></table:table>'.repeat(400_000))),
    office('an .odp file of a million slides', () => slides('<draw:page draw:name="s"/>'.repeat(400_000))),
    office('an .odp file of frames in frames', () => slides('<draw:frame><draw:text-box><text:p>x'.repeat(300_000))),
    office('an .odp file whose objects are formulas that never end', () =>
      slides('<text:p><draw:object xlink:href="./Object 1"/></text:p>'.repeat(5000), [
        { name: 'Object 1/content.xml', data: '<math><mrow>'.repeat(40_000) },
      ]),
    ),
    office('an .odp file that is an object of itself', () =>
      slides('<text:p><draw:object xlink:href="./Object 1"/></text:p>'.repeat(5000), [
        {
          name: 'Object 1/content.xml',
          data: '<text:p><draw:object xlink:href="./Object 1"/></text:p>'.repeat(20_000),
        },
      ]),
    ),
    office('an OpenDocument of lists in lists', () => odf('<text:list><text:list-item><text:p>x'.repeat(300_000))),
    office('a book whose chapter is ten thousand nested div', () =>
      zipOf([
        { name: 'mimetype', data: 'application/epub+zip', stored: true },
        { name: 'META-INF/container.xml', data: '<rootfile full-path="b.opf"/>' },
        { name: 'b.opf', data: `<item id="c" href="c.xhtml"/>${'<itemref idref="c"/>'.repeat(5000)}` },
        { name: 'c.xhtml', data: '<div>'.repeat(10_000) },
      ]),
    ),
    office('rich text of a million groups', () => `{\\rtf1 ${'{'.repeat(3_000_000)}`),
    office('rich text of backslashes', () => `{\\rtf1 ${'\\'.repeat(3_000_000)}`),
    office('a ZIP file whose directory is not there', () => docx('<w:p/>').subarray(0, 60)),
  ];
}
