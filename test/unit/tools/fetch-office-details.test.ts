import assert from 'node:assert/strict';
import type { OfficeKind } from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { zipOf } from '../../support/zip-file.ts';

const office = (kind: OfficeKind, parts: Record<string, string>) => {
  const bytes = zipOf(Object.entries(parts).map(([name, data]) => ({ name, data })));
  return read({ kind, bytes, charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 });
};
const run = (text: string, properties = '') =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (...runs: string[]) => `<w:p>${runs.join('')}</w:p>`;
const docx = async (document: string, more: Record<string, string> = {}) =>
  (await office('docx', { 'word/document.xml': document, ...more })).content;
const relations = (...links: string[]) => ({
  'word/_rels/document.xml.rels': `<Relationships>${links.join('')}</Relationships>`,
});
const odf = async (content: string, more: Record<string, string> = {}) =>
  (await office('odf', { 'content.xml': content, ...more })).content;

/** A field of Word with its code and result. */
function field(code: string, ...result: string[]): string {
  const mark = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
  const instruction = `<w:r><w:instrText>${code}</w:instrText></w:r>`;
  return [mark('begin'), instruction, mark('separate'), ...result, mark('end')].join('');
}

describe('fetch_url_content: details of Word documents', () => {
  it('leaves out hidden text', async () => {
    const mark = '<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>';
    const runs = [run('Seen'), run(' hidden', '<w:vanish/>'), run(' again', '<w:vanish w:val="0"/>')];
    assert.equal(await docx(paragraph(mark, ...runs)), 'Seen again');
  });

  it('reads the characters of symbol fonts', async () => {
    const symbol = (font: string, code: string) => `<w:r><w:sym w:font="${font}" w:char="${code}"/></w:r>`;
    const signs = [
      symbol('Symbol', 'F0B1'),
      symbol('Symbol', 'F061'),
      symbol('Wingdings', 'F0FC'),
      symbol('Webdings', 'F021'),
    ];
    assert.equal(await docx(paragraph(run('5 '), ...signs, symbol('Arial', '00E9'), symbol('Symbol', 'x'))), '5 ±α✓•é');
    const font = '<w:rFonts w:ascii="Symbol"/>';
    assert.equal(await docx(paragraph(run('\uf06d', font), run('m \uf0b7'))), 'μm •');
  });

  it('writes links that lead where they lead in the document', async () => {
    const link = (id: string, text: string) => `<w:hyperlink r:id="${id}">${run(text)}</w:hyperlink>`;
    const links = relations(
      '<Relationship Id="a" Target="https://example.org/a b)"/>',
      '<Relationship Id="b" Target="https://example.org/b"/>',
    );
    assert.equal(
      await docx(paragraph(link('a', 'A'), run(' '), link('b', 'x](https://c.org) [B')), links),
      '[A](<https://example.org/a%20b)>) [x]\\(https://c.org) [B](https://example.org/b)',
    );
  });

  it('writes fields with an address as links', async () => {
    const link = field(' HYPERLINK "https://example.org/a" ', run('A'), field('PAGE', run('3')));
    const local = field('HYPERLINK \\l "b"', run('B'));
    const several = paragraph(field('HYPERLINK "https://example.org/c"', run('C</w:t></w:r></w:p><w:p><w:r><w:t>D')));
    assert.equal(
      await docx(paragraph(run('See '), link, run(', '), local) + several),
      'See [A3](https://example.org/a), B\n\nC\n\nD',
    );
  });

  it('links the first of very many fields in a paragraph, and reads the rest as text', async () => {
    const fields = Array.from({ length: 3000 }, (_, n) => field(`HYPERLINK "https://example.org/${n}"`, run(`F${n} `)));
    const text = await docx(paragraph(...fields));
    assert.match(text, /^\[F0 ?\]\(https:\/\/example\.org\/0\)/);
    assert.match(text, / F2998 F2999$/);
  });

  it('keeps the columns of a row that begins in a later one', async () => {
    const cell = (text: string) => `<w:tc>${paragraph(run(text))}</w:tc>`;
    const late = `<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>${cell('2 m')}</w:tr>`;
    const table = `<w:tbl><w:tr>${cell('Port')}${cell('Range')}</w:tr>${late}</w:tbl>`;
    assert.equal(await docx(table), '| Port | Range |\n| --- | --- |\n|  | 2 m |');
  });

  it('numbers lists whose form is in a list style', async () => {
    const level = '<w:lvl w:ilvl="0"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%1)"/></w:lvl>';
    const numbering = `<w:abstractNum w:abstractNumId="1"><w:styleLink w:val="Clauses"/>${level}</w:abstractNum><w:abstractNum w:abstractNumId="2"><w:numStyleLink w:val="Clauses"/></w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="2"/></w:num>`;
    const item = (text: string) =>
      paragraph('<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="7"/></w:numPr></w:pPr>', run(text));
    assert.equal(
      await docx(item('Rise') + item('Fall'), { 'word/numbering.xml': numbering }),
      '- (a) Rise\n- (b) Fall',
    );
  });

  it('reads chunks of other formats in their places', async () => {
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk';
    const chunks = {
      'a.mht': `MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<h1>T=C3=A4bles</h1><ul><li>High<ul><li>Low</li></ul></li></ul>\n--b--`,
      'b.rtf': String.raw`{\rtf1\ansi Rich\par}`,
      'c.txt': 'Plain',
      'd.docx': 'PK\u0003\u0004',
    };
    const names = Object.keys(chunks);
    const links = relations(...names.map((name, at) => `<Relationship Id="r${at}" Type="${type}" Target="${name}"/>`));
    const parts = Object.fromEntries(Object.entries(chunks).map(([name, text]) => [`word/${name}`, text]));
    const places = [...names, 'none'].map((_, at) => `<w:altChunk r:id="r${at}"/>`).join('');
    assert.equal(
      await docx(paragraph(run('Before')) + places + paragraph(run('After')), { ...links, ...parts }),
      'Before\n\n# Täbles\n\n- High\n  - Low\n\nRich\n\nPlain\n\nAfter',
    );
  });

  it('reads no more chunks than it can show', async () => {
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk';
    const names = Array.from({ length: 6 }, (_, n) => `c${n}.txt`);
    const links = relations(...names.map((name, n) => `<Relationship Id="r${n}" Type="${type}" Target="${name}"/>`));
    const parts = Object.fromEntries(names.map((name) => [`word/${name}`, `${name} ${'x'.repeat(600_000)}`]));
    const shown = (place: number) =>
      docx(`<w:altChunk r:id="r${place}"/>${paragraph(run('After'))}`, { ...links, ...parts });
    assert.match(await shown(3), /^c3\.txt x/);
    assert.equal(await shown(5), 'After');
  });

  it('reads diagrams', async () => {
    const diagram = '<dgm:pt><dgm:t><a:p><a:r><a:t>First step</a:t></a:r></a:p></dgm:t></dgm:pt>';
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData';
    const links = relations(`<Relationship Id="a" Type="${type}" Target="diagrams/data1.xml"/>`);
    assert.equal(
      await docx(paragraph(run('Plan')), { ...links, 'word/diagrams/data1.xml': diagram }),
      'Plan\n\nFirst step',
    );
  });

  it('takes no label of a value for the name of its series', async () => {
    const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart';
    const links = relations(`<Relationship Id="a" Type="${type}" Target="charts/chart1.xml"/>`);
    const labels =
      '<c:dLbls><c:dLbl><c:tx><c:rich><a:p><a:r><a:t>peak</a:t></a:r></a:p></c:rich></c:tx></c:dLbl></c:dLbls>';
    const value = '<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>3</c:v></c:pt></c:numCache></c:numRef></c:val>';
    const chart = `<c:chart><c:ser><c:tx><c:v>Range</c:v></c:tx>${labels}${value}</c:ser></c:chart>`;
    assert.equal(
      await docx(paragraph(run('Chart')), { ...links, 'word/charts/chart1.xml': chart }),
      'Chart\n\n|  | Range |\n| --- | --- |\n|  | 3 |',
    );
  });
});

describe('fetch_url_content: details of OpenDocument', () => {
  it('keeps initials, pictures and their descriptions out of paragraphs', async () => {
    const comment =
      '<office:annotation><dc:creator>Jane</dc:creator><dc:date>2024</dc:date><meta:creator-initials>JD</meta:creator-initials><text:p>Sure?</text:p></office:annotation>';
    const picture =
      '<draw:frame><draw:image><office:binary-data>aGVsbG8=</office:binary-data></draw:image><svg:title>Map</svg:title><svg:desc>A map</svg:desc></draw:frame>';
    assert.equal(
      await odf(`<office:text><text:p>High${comment}${picture} tide</text:p></office:text>`),
      'High[^c1] tide\n\n[^c1]: Jane: Sure?',
    );
  });

  it('leaves out hidden sections, paragraphs and spans', async () => {
    const style = '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>';
    const text =
      '<text:section text:display="none"><text:p>a</text:p></text:section><text:p>High<text:span text:style-name="T1">b<text:span>c</text:span></text:span> tide</text:p><text:p text:style-name="T1">d</text:p>';
    assert.equal(
      await odf(`<office:automatic-styles>${style}</office:automatic-styles><office:text>${text}</office:text>`),
      'High tide',
    );
  });

  it('reads cells by their value if they have no text, but no former value and no help', async () => {
    const old =
      '<table:tracked-changes><table:cell-content-change><table:previous><table:change-track-table-cell><text:p>98</text:p></table:change-track-table-cell></table:previous></table:cell-content-change></table:tracked-changes>';
    const help =
      '<table:content-validations><table:content-validation><table:help-message><text:p>A number</text:p></table:help-message></table:content-validation></table:content-validations>';
    const row =
      '<table:table-row><table:table-cell office:value="42"/><table:table-cell office:date-value="2024-05-01"/><table:table-cell office:value="1"><text:p>1 m</text:p></table:table-cell><table:table-cell/></table:table-row>';
    assert.equal(
      await odf(
        `<office:spreadsheet>${old}${help}<table:table table:name="S">${row}${row}</table:table></office:spreadsheet>`,
      ),
      '## S\n\n[Cells A1:C2]\n\n| 42 | 2024-05-01 | 1 m |\n| --- | --- | --- |\n| 42 | 2024-05-01 | 1 m |',
    );
  });

  it('does not repeat a cell as often as the last cell of a table in it', async () => {
    const inner =
      '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>b</text:p></table:table-cell></table:table-row></table:table>';
    const cells = `<table:table-cell><text:p>a</text:p>${inner}</table:table-cell><table:table-cell><text:p>c</text:p></table:table-cell>`;
    const content = `<office:text><table:table><table:table-row>${cells}</table:table-row></table:table></office:text>`;
    assert.equal(await odf(content), '| a b b | c |\n| --- | --- |');
  });

  it('reads a formula outside of paragraphs', async () => {
    const content =
      '<draw:page draw:name="Rise"><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page>';
    const formula = '<math:math><math:mfrac><math:mi>a</math:mi><math:mi>b</math:mi></math:mfrac></math:math>';
    assert.equal(
      await odf(`<office:presentation>${content}</office:presentation>`, { 'Object 1/content.xml': formula }),
      '[Slide 1]\n\n## Rise\n\n$\\frac{a}{b}$',
    );
  });

  it('is by its first author, not by the last one who changed it', async () => {
    const meta =
      '<meta:initial-creator>Jane</meta:initial-creator><dc:creator>Max</dc:creator><meta:creation-date>2020-01-01</meta:creation-date><dc:date>2024-05-05</dc:date>';
    const { author, published, updated } = await office('odf', {
      'content.xml': '<office:text><text:p>a</text:p></office:text>',
      'meta.xml': `<office:meta>${meta}</office:meta>`,
    });
    assert.deepEqual([author, published, updated], ['Jane', '2020-01-01', '2024-05-05']);
  });
});

describe('fetch_url_content: details of e-books', () => {
  it('names all authors, and links only to addresses outside of the book', async () => {
    const { author, content } = await office('epub', {
      'META-INF/container.xml': '<rootfile full-path="b.opf"/>',
      'b.opf':
        '<package><dc:creator>Jane</dc:creator><dc:creator>Max</dc:creator><item id="c" href="c.xhtml"/><itemref idref="c"/></package>',
      'c.xhtml':
        '<body><p><a href="d.xhtml">Next</a> <a href="https://example.org/">web</a> <img alt="Map" src="m.png"/></p></body>',
    });
    assert.equal(author, 'Jane, Max');
    assert.equal(content, 'Next [web](https://example.org/) Map');
  });
});
