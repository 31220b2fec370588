import assert from 'node:assert/strict';
import { MAX_CONTENT, type OfficeKind } from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { cellFormat, shownNumber } from '../../../src/tools/fetch-url-content/reading/office/cell-formats.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { textPdf } from '../../support/pdf-file.ts';
import { zipOf } from '../../support/zip-file.ts';

/** What is read of a document with these parts. */
async function contentOf(kind: OfficeKind, parts: Readonly<Record<string, string>>): Promise<string> {
  const bytes = zipOf(Object.entries(parts).map(([name, data]) => ({ name, data })));
  return (await read({ kind, bytes, charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 })).content;
}

const OOXML = 'http://schemas.openxmlformats.org';
const relations = (...each: [id: string, type: string, target: string][]) =>
  `<Relationships>${each.map(([id, type, target]) => `<Relationship Id="${id}" Type="${OOXML}/x/${type}" Target="${target}"/>`).join('')}</Relationships>`;
const p = (text: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
const docx = (document: string, more: Readonly<Record<string, string>> = {}) =>
  contentOf('docx', { 'word/document.xml': document, ...more });

describe('Word documents', () => {
  it('keep the paragraph around a text box, and say what the box says once', async () => {
    const box = `<w:txbxContent>${p('In the box')}</w:txbxContent>`;
    const drawing = `<mc:AlternateContent><mc:Choice>${box}</mc:Choice><mc:Fallback>${box}</mc:Fallback></mc:AlternateContent>`;
    const around = `<w:p><w:r><w:t>Before </w:t>${drawing}<w:t>and after</w:t></w:r></w:p>`;
    assert.equal(await docx(around), 'In the box\n\nBefore and after');
  });

  it('have headings by their own outline and by the style that theirs is based on', async () => {
    const styles = `<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
      <w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift1"/></w:style>`;
    const text = p('One', '<w:pStyle w:val="Kapitel"/>') + p('Two', '<w:outlineLvl w:val="1"/>') + p('Text');
    assert.equal(await docx(text, { 'word/styles.xml': styles }), '# One\n\n## Two\n\nText');
    const none = p('Text', '<w:pStyle w:val="Kapitel"/><w:outlineLvl w:val="9"/>');
    assert.equal(await docx(none, { 'word/styles.xml': styles }), 'Text');
  });

  it('have the numbers of their clauses', async () => {
    const level = (at: number, format: string, text: string) =>
      `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
    const numbering = `<w:abstractNum w:abstractNumId="7">${level(0, 'decimal', '%1.')}${level(1, 'decimal', '%1.%2')}${level(2, 'lowerLetter', '(%3)')}</w:abstractNum>
      <w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
      <w:num w:numId="2"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>`;
    const styles = `<w:style w:styleId="h"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>`;
    const item = (text: string, at: number, list = 1) =>
      p(text, `<w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${list}"/></w:numPr>`);
    const text = [
      p('Scope', '<w:pStyle w:val="h"/>'),
      p('Term', '<w:pStyle w:val="h"/>'),
      item('Begins', 1),
      item('Ends', 1),
      item('by notice', 2),
      item('by breach', 2),
      item('Fifth', 0, 2),
      `<w:tbl><w:tr><w:tc>${item('In a cell', 0)}</w:tc><w:tc>${p('x')}</w:tc></w:tr></w:tbl>`,
    ];
    assert.equal(
      await docx(text.join(''), { 'word/numbering.xml': numbering, 'word/styles.xml': styles }),
      '# 1. Scope\n\n# 2. Term\n\n  - 2.1 Begins\n  - 2.2 Ends\n    - (a) by notice\n    - (b) by breach\n5. Fifth\n\n| 6. In a cell | x |\n| --- | --- |',
    );
  });

  it('are read whatever numbers their lists name as levels', async () => {
    const numbering =
      '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"/></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>';
    for (const level of ['-1', '-1e9', '1e9', '0.5', 'NaN', 'Infinity']) {
      const list = `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="1"/></w:numPr>`;
      const text = p('Item', list) + p('Heading', `${list}<w:outlineLvl w:val="${level}"/>`);
      assert.match(await docx(text, { 'word/numbering.xml': numbering }), /Item\n+.*Heading$/, level);
    }
  });

  it('keep as much of a table as is read, where it is longer than that', async () => {
    const row = `<w:tr><w:tc>${p('x'.repeat(5000))}</w:tc><w:tc>${p('y')}</w:tc></w:tr>`;
    const content = await docx(`${p('Before')}<w:tbl>${row.repeat(500)}</w:tbl>${p('Behind')}`);
    assert.equal(content.length, MAX_CONTENT);
    assert.ok(content.startsWith(`Before\n\n| ${'x'.repeat(5000)} | y |`));
  });

  it('lose what was deleted or moved away and how things looked before, and keep comments with who wrote them', async () => {
    const text = `<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange></w:pPr>
      <w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:r><w:t>Fee</w:t><w:commentReference w:id="3"/></w:r></w:p>`;
    const styles = '<w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>';
    const comments = `<w:comment w:id="3" w:author="Ann">${p('Too high?')}</w:comment>`;
    const parts = { 'word/styles.xml': styles, 'word/comments.xml': comments };
    assert.equal(await docx(text, parts), 'Fee[^c3]\n\n[^c3]: Ann: Too high?');
  });

  it('say once what their headers and footers say, and keep the columns of joined cells', async () => {
    const foot = (text: string) => `<w:ftr>${p(text)}</w:ftr>`;
    const cell = (text: string, span = 1, before = '') =>
      `<w:tc><w:tcPr><w:gridSpan w:val="${span}"/></w:tcPr>${before}${p(text)}</w:tc>`;
    const inner = `<w:tbl><w:tr>${cell('in')}</w:tr></w:tbl>`;
    const text = `<w:tbl><w:tr>${cell('a', 2, inner)}${cell('b')}</w:tr><w:tr>${cell('c')}${cell('d')}${cell('e')}</w:tr></w:tbl>`;
    const parts = {
      'word/_rels/document.xml.rels': relations(
        ['1', 'footer', 'f1.xml'],
        ['2', 'footer', 'f2.xml'],
        ['3', 'footer', 'f3.xml'],
      ),
      'word/f1.xml': foot('IBAN DE02 1203'),
      'word/f2.xml': foot('IBAN DE02 1203'),
      'word/f3.xml': foot('12 / 40'),
    };
    assert.equal(await docx(text, parts), '| in a |  | b |\n| --- | --- | --- |\n| c | d | e |\n\nIBAN DE02 1203');
  });

  it('have formulas in LaTeX, and those that are a line of text as it is', async () => {
    const r = (text: string) => `<m:r><m:rPr><m:sty m:val="p"/></m:rPr><m:t>${text}</m:t></m:r>`;
    const part = (name: string, content: string) => `<m:${name}>${content}</m:${name}>`;
    const power = part('sSup', part('e', r('10')) + part('sup', r('-6')));
    const fraction = part('f', part('num', r('mλ')) + part('den', r('a')));
    const sum = part(
      'nary',
      `<m:naryPr><m:chr m:val="∑"/></m:naryPr>${part('sub', r('n=1'))}${part('sup', r('k'))}${part('e', r('n'))}`,
    );
    const line = `<w:p><w:r><w:t>For </w:t></w:r>${part('oMath', r('m=1'))}${part('oMath', r('sin') + power)}</w:p>`;
    const shown = `<w:p>${part('oMathPara', part('oMath', fraction + part('d', part('e', sum))))}</w:p>`;
    assert.equal(
      await docx(line + shown),
      [String.raw`For m=1 $\sin{10}^{-6}$`, String.raw`$$\frac{m\lambda}{a}(\sum_{n=1}^k n)$$`].join('\n\n'),
    );
  });

  it('are read whatever their parts and prefixes are called', async () => {
    const document = `<n:document xmlns:n="http://purl.oclc.org/ooxml/wordprocessingml/main"><n:p><n:pPr><n:pStyle n:val="T"/></n:pPr><n:r><n:t>Tides</n:t></n:r></n:p></n:document>`;
    const styles = `<x:styles xmlns:x="${OOXML}/wordprocessingml/2006/main"><x:style x:styleId="T"><x:name x:val="Title"/></x:style></x:styles>`;
    const parts = {
      '_rels/.rels': relations(['1', 'officeDocument', '/other/document2.xml']),
      'other/document2.xml': document,
      'other/_rels/document2.xml.rels': relations(['1', 'styles', '../looks.xml']),
      'looks.xml': styles,
    };
    assert.equal(await contentOf('docx', parts), '# Tides');
  });
});

describe('what a document says of itself', () => {
  it('is told in one line, however long it is', async () => {
    const long = 'word '.repeat(1_000_000);
    const feed = Buffer.from(`<rss><channel><title>${long}</title><item><title>a</title></item></channel></rss>`);
    const options = { charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
    assert.equal((await read({ kind: 'xml', bytes: feed, ...options })).title.length, 300);
    const pdf = textPdf([[{ text: 'Words', x: 50, y: 700 }]], { Title: long, Author: long });
    const { title, author } = await read({ kind: 'pdf', bytes: pdf, ...options });
    assert.deepEqual([title.length, author?.length], [300, 300]);
  });
});

describe('workbooks', () => {
  it('show numbers as their cells do, dates by ISO 8601', () => {
    const shown: [number: string, format: string, shown: string][] = [
      ['1234.5', '#,##0.00', '1,234.50'],
      ['-1234.5', '$#,##0.00;[Red]($#,##0.00)', '($1,234.50)'],
      ['-5', '_-* #,##0.00\\ [$€-407]_-;\\-* #,##0.00\\ [$€-407]_-', '-5.00 €'],
      ['0.256', '0.0%', '25.6%'],
      ['501', '00000', '00501'],
      ['12345678', '#,##0.0,,"M"', '12.3M'],
      ['0', '0;-0;"none"', 'none'],
      ['-3', '#,##0;[Red]#,##0', '-3'],
      ['-3', '0;▲0', '▲3'],
      ['5', '[Red]General;-General', '5'],
      ['1.005', '0.00', '1.01'],
      ['0.30000000000000004', 'General', '0.3'],
      ['1234567890123456789', '', '1234567890123456789'],
      ['45000', 'dd/mm/yyyy', '2023-03-15'],
      ['45000.5', 'm/d/yy h:mm', '2023-03-15 12:00'],
      ['59', 'yyyy', '1900-02-28'],
      ['0.354166666666667', 'h:mm AM/PM', '08:30'],
      ['1.5', '[h]:mm', '36:00'],
      ['0.5', '# ?/?', '0.5'],
      ['5', '[>=10]0.0;0', '5'],
      ['2.5', '', '2.5'],
    ];
    assert.deepEqual(
      shown.map(([number, format]) => shownNumber(number, cellFormat(format))),
      shown.map(([, , wanted]) => wanted),
    );
    assert.equal(shownNumber('0', cellFormat('yyyy-mm-dd'), { isMac: true }), '1904-01-01');
  });

  it('are read with formulas that have no value yet, comments, another prefix and another calendar', async () => {
    const sheet = `<x:worksheet xmlns:x="${OOXML}/spreadsheetml/2006/main"><x:row r="4"><x:c r="B4" s="1"><x:v>0</x:v></x:c>
      <x:c r="C4" t="inlineStr"><x:is><x:t>a_x000D_b</x:t></x:is></x:c><x:c r="D4"><x:f>SUM(B4)</x:f></x:c></x:row></x:worksheet>`;
    const parts = {
      '_rels/.rels': relations(['1', 'officeDocument', 'xl/workbook.xml']),
      'xl/workbook.xml': '<workbook><workbookPr date1904="1"/><sheet name="Tides" r:id="r1"/></workbook>',
      'xl/_rels/workbook.xml.rels': relations(
        ['r1', 'worksheet', 'worksheets/sheet1.xml'],
        ['r2', 'styles', 'styles.xml'],
      ),
      'xl/styles.xml': '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>',
      'xl/worksheets/sheet1.xml': sheet,
      'xl/worksheets/_rels/sheet1.xml.rels': relations(['1', 'comments', '../comments1.xml']),
      'xl/comments1.xml': '<comment ref="C4"><text><t>Check this</t></text></comment>',
    };
    assert.equal(
      await contentOf('xlsx', parts),
      '## Tides\n\n[Cells B4:D4]\n\n|  | 1904-01-01 | a b | =SUM(B4) |\n| --- | --- | --- | --- |\n\nComment on C4: Check this',
    );
  });
});

describe('presentations', () => {
  it('are read in the order in which they are shown, with their notes', async () => {
    const shape = (text: string, type = '') =>
      `<p:sp><p:nvPr>${type && `<p:ph type="${type}"/>`}</p:nvPr><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp>`;
    const parts = {
      'ppt/presentation.xml': '<p:sldIdLst><p:sldId r:id="b"/><p:sldId r:id="a"/></p:sldIdLst>',
      'ppt/_rels/presentation.xml.rels': relations(
        ['a', 'slide', 'slides/slide1.xml'],
        ['b', 'slide', 'slides/slide2.xml'],
      ),
      'ppt/slides/slide1.xml': shape('Made first') + shape('7', 'sldNum'),
      'ppt/slides/slide2.xml': shape('Shown first', 'title'),
      'ppt/slides/_rels/slide2.xml.rels': relations(['n', 'notesSlide', '../notesSlides/n.xml']),
      'ppt/notesSlides/n.xml': shape('3', 'sldNum') + shape('Speak slowly', 'body'),
    };
    assert.equal(
      await contentOf('pptx', parts),
      '[Slide 1]\n\n## Shown first\n\nNotes: Speak slowly\n\n[Slide 2]\n\nMade first',
    );
  });

  it('have the values of their charts', async () => {
    const points = (values: readonly string[]) =>
      values.map((value, at) => `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join('');
    const series = (name: string, ...values: string[]) =>
      `<c:ser><c:tx>${points([name])}</c:tx><c:cat>${points(['Wick', 'Oban'])}</c:cat><c:val>${points(values)}</c:val></c:ser>`;
    const parts = {
      'ppt/presentation.xml': '<p:presentation/>',
      'ppt/slides/slide1.xml': '<p:graphicFrame/>',
      'ppt/slides/_rels/slide1.xml.rels': relations(['c', 'chart', '../charts/chart1.xml']),
      'ppt/charts/chart1.xml': `<c:title><c:tx><a:t>Range</a:t></c:tx></c:title>${series('2023', '2.8', '3.1')}${series('2024', '2.9')}`,
    };
    assert.equal(
      await contentOf('pptx', parts),
      '[Slide 1]\n\nRange\n\n|  | 2023 | 2024 |\n| --- | --- | --- |\n| Wick | 2.8 | 2.9 |\n| Oban | 3.1 |  |',
    );
  });
});

describe('OpenDocument', () => {
  const odf = (content: string, more: Readonly<Record<string, string>> = {}) =>
    contentOf('odf', { 'content.xml': content, ...more });

  it('keeps text boxes, notes, comments, headers and footers apart from the text around them', async () => {
    const note = `<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>See Smith.</text:p></text:note-body></text:note>`;
    const comment =
      '<office:annotation><dc:creator>Ann</dc:creator><dc:date>2024</dc:date><text:p>Sure?</text:p></office:annotation>';
    const box = '<draw:text-box><text:p>In the box</text:p></draw:text-box>';
    const styles = '<style:footer><text:p>IBAN DE02 1203</text:p></style:footer>';
    assert.equal(
      await odf(`<text:p>A claim${note} and ${box}more${comment}</text:p>`, { 'styles.xml': styles }),
      'In the box\n\nA claim[^1] and more[^c2]\n\n[^1]: See Smith.\n\n[^c2]: Ann: Sure?\n\nIBAN DE02 1203',
    );
  });

  it('has the numbers of its clauses and of their headings', async () => {
    const level = (element: string, at: number, more: string) =>
      `<text:${element} text:level="${at}" style:num-format="1" ${more}/>`;
    const styles = `<text:outline-style>${level('outline-level-style', 1, '')}${level('outline-level-style', 2, 'text:display-levels="2"')}</text:outline-style>
      <text:list-style style:name="L1">${level('list-level-style-number', 1, 'style:num-suffix="."')}<text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="(" style:num-suffix=")"/></text:list-style>
      <text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>`;
    const h = (text: string, at: number) => `<text:h text:outline-level="${at}">${text}</text:h>`;
    const item = (text: string) =>
      `<text:list-item><text:p>${text.replace('/', '</text:p><text:p>')}</text:p></text:list-item>`;
    const list = (content: string, more = 'text:style-name="L1"') => `<text:list ${more}>${content}</text:list>`;
    const inner = `<text:list-item><text:p>Two</text:p>${list(item('by day') + item('by night'), '')}</text:list-item>`;
    const text = [
      h('Scope', 1),
      h('Ships', 2),
      list(item('One') + inner),
      list(item('Three'), 'text:style-name="L1" text:continue-numbering="true"'),
      list(item('A dot'), 'text:style-name="L2"'),
      list(item('Anew')),
    ];
    assert.equal(
      await odf(text.join(''), { 'styles.xml': styles }),
      '# 1 Scope\n\n## 1.1 Ships\n\n1. One\n2. Two\n  - (a) by day\n  - (b) by night\n3. Three\n- A dot\n1. Anew',
    );
  });

  it('has the values of its charts below its text, and its formulas in it', async () => {
    const object = (at: number) => `<draw:object xlink:href="./Object ${at}"/>`;
    const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
    const row = (...cells: string[]) => `<table:table-row>${cells.map(cell).join('')}</table:table-row>`;
    const parts = {
      'Object 1/content.xml': `<office:chart><chart:title><text:p>Range</text:p></chart:title><table:table>${row('', '2023')}${row('Wick', '2.8')}</table:table></office:chart>`,
      'Object 2/content.xml':
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><msup><mi>a</mi><mn>2</mn></msup></math>',
    };
    assert.equal(
      await odf(`<text:p>See ${object(2)}${object(1)}${object(1)}</text:p>`, parts),
      'See $a^2$\n\nRange\n\n|  | 2023 |\n| --- | --- |\n| Wick | 2.8 |',
    );
  });

  it('is read whatever numbers its headings name as levels', async () => {
    const outline =
      '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/></text:outline-style>';
    for (const level of ['-3', '2.5', '1e9', '4294967296', '1e308']) {
      const heading = `<text:h text:outline-level="${level}">Heading</text:h>`;
      const parts = { 'content.xml': heading, 'styles.xml': outline };
      assert.match(await contentOf('odf', parts), /^#{1,6} .*Heading$/, level);
    }
  });

  it('has as much of a sheet as is read where one long cell stands in a million places', async () => {
    const cell = `<table:table-cell table:number-columns-repeated="1000"><text:p>${'x'.repeat(1_000_000)}</text:p></table:table-cell>`;
    const row = `<table:table-row table:number-rows-repeated="1000">${cell}</table:table-row>`;
    const sheet = `<office:spreadsheet><table:table table:name="A">${row}</table:table></office:spreadsheet>`;
    assert.equal((await contentOf('odf', { 'content.xml': sheet })).length, MAX_CONTENT);
    const strings = `<sst><si><t>${'x'.repeat(1_900_000)}</t></si></sst>`;
    const cells = `<row>${'<c t="s"><v>0</v></c>'.repeat(990)}</row>`;
    const book = {
      'xl/workbook.xml': '<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relations(['r1', 'worksheet', 's.xml']),
      'xl/sharedStrings.xml': strings,
      'xl/s.xml': `<worksheet><sheetData>${cells}</sheetData></worksheet>`,
    };
    assert.equal((await contentOf('xlsx', book)).length, MAX_CONTENT);
  });

  it('names the cells of its sheets', async () => {
    const cell = (text: string, more = '') => `<table:table-cell ${more}><text:p>${text}</text:p></table:table-cell>`;
    const empty = '<table:table-cell table:number-columns-repeated="1000"/>';
    const rows = `<table:table-row table:number-rows-repeated="3">${empty}</table:table-row>
      <table:table-row>${cell('Wick')}${cell('2.8', 'table:number-columns-repeated="2"')}${empty}</table:table-row>
      <table:table-row table:number-rows-repeated="1000000">${empty}</table:table-row>`;
    assert.equal(
      await odf(`<office:spreadsheet><table:table table:name="Tides">${rows}</table:table></office:spreadsheet>`),
      '## Tides\n\n[Cells A4:C4]\n\n| Wick | 2.8 | 2.8 |\n| --- | --- | --- |',
    );
  });

  it('that is encrypted says so', async () => {
    const manifest = {
      'META-INF/manifest.xml': '<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>',
    };
    await assert.rejects(odf('\u0000\u0001', manifest), /encrypted with a password/);
  });
});
