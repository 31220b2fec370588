import assert from 'node:assert/strict';
import {
  MAX_CONTENT,
  type OfficeKind,
  type ParsedDocument,
} from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { formatNumber, parseCellFormat } from '../../../src/tools/fetch-url-content/reading/office/cell-formats.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { textPdf } from '../../support/pdf-file.ts';
import { zipOf } from '../../support/zip-file.ts';

/** Reads a document with these parts. */
function readParts(kind: OfficeKind, parts: Readonly<Record<string, string>>): Promise<ParsedDocument> {
  const bytes = zipOf(Object.entries(parts).map(([name, data]) => ({ name, data })));
  return read({ kind, bytes, charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 });
}

async function contentOf(kind: OfficeKind, parts: Readonly<Record<string, string>>): Promise<string> {
  return (await readParts(kind, parts)).content;
}

const OOXML = 'http://schemas.openxmlformats.org';
const relations = (...each: [id: string, type: string, target: string][]) =>
  `<Relationships>${each.map(([id, type, target]) => `<Relationship Id="${id}" Type="${OOXML}/x/${type}" Target="${target}"/>`).join('')}</Relationships>`;
const p = (text: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
const docx = (document: string, more: Readonly<Record<string, string>> = {}) =>
  contentOf('docx', { 'word/document.xml': document, ...more });

describe('Word documents', () => {
  it('keep the paragraph around a text box, and the text of the box once', async () => {
    const box = `<w:txbxContent>${p('In the box')}</w:txbxContent>`;
    const drawing = `<mc:AlternateContent><mc:Choice>${box}</mc:Choice><mc:Fallback>${box}</mc:Fallback></mc:AlternateContent>`;
    const around = `<w:p><w:r><w:t>Before </w:t>${drawing}<w:t>and after</w:t></w:r></w:p>`;
    assert.equal(await docx(around), 'In the box\n\nBefore and after');
  });

  it('keep the paragraphs and tables within a frame, a table of one column', async () => {
    const row = (...cells: string[]) => `<w:tr>${cells.map((cell) => `<w:tc>${cell}</w:tc>`).join('')}</w:tr>`;
    const inner = `<w:tbl>${row(p('Plan'), p('Price'))}${row(p('Small'), p('5 €'))}</w:tbl>`;
    const frame = `<w:tbl>${row(p('Plans', '<w:outlineLvl w:val="1"/>') + p('There are two.') + inner)}${row(p('Ask us.'))}</w:tbl>`;
    const text = '## Plans\n\nThere are two.\n\n| Plan | Price |\n| --- | --- |\n| Small | 5 € |\n\nAsk us.';
    assert.equal(await docx(frame), text);
    assert.equal(
      await docx(`<w:tbl>${row(p('a') + inner, p('b'))}</w:tbl>`),
      '| a Plan Price Small 5 € | b |\n| --- | --- |',
    );
  });

  it('get headings from outline levels and from inherited styles', async () => {
    const styles = `<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
      <w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="berschrift1"/></w:style>`;
    const text = p('One', '<w:pStyle w:val="Kapitel"/>') + p('Two', '<w:outlineLvl w:val="1"/>') + p('Text');
    assert.equal(await docx(text, { 'word/styles.xml': styles }), '# One\n\n## Two\n\nText');
    const deeper = `${styles}<w:style w:styleId="Teil"><w:name w:val="heading 2"/><w:basedOn w:val="Kapitel"/><w:outlineLvl w:val="4"/></w:style>
      <w:style w:styleId="Stück"><w:basedOn w:val="Rest"/></w:style><w:style w:styleId="Rest"><w:basedOn w:val="Kapitel"/></w:style>`;
    const own = p('Three', '<w:pStyle w:val="Teil"/>') + p('Four', '<w:pStyle w:val="Stück"/>');
    assert.equal(await docx(own, { 'word/styles.xml': deeper }), '## Three\n\n# Four');
    const none = p('Text', '<w:pStyle w:val="Kapitel"/><w:outlineLvl w:val="9"/>');
    assert.equal(await docx(none, { 'word/styles.xml': styles }), 'Text');
  });

  it('keep the numbers of clauses', async () => {
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

  it('number each list in its own format', async () => {
    const lists: [format: string, text: string, start: number | '', shown: string][] = [
      ['upperRoman', '%1.', 14, '- XIV. x'],
      ['lowerRoman', '%1)', 4, '- iv) x'],
      ['upperLetter', '%1.', 28, '- BB. x'],
      ['lowerLetter', '%1.', 27, '- aa. x'],
      ['decimalZero', '%1.', 7, '- 07. x'],
      ['decimal', '%1.', 0, '0. x'],
      ['decimal', '%1.', '', '1. x'],
      ['decimal', '', 1, '- x'],
      ['none', '%1.', 1, '- x'],
      ['bullet', '•', 1, '- x'],
    ];
    const numbering = lists.map(
      ([format, text, start], at) =>
        `<w:abstractNum w:abstractNumId="${at}"><w:lvl w:ilvl="0"><w:start w:val="${start}"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl></w:abstractNum>
        <w:num w:numId="n${at}"><w:abstractNumId w:val="${at}"/></w:num>`,
    );
    const items = lists.map((_, at) => p('x', `<w:numPr><w:ilvl w:val="0"/><w:numId w:val="n${at}"/></w:numPr>`));
    assert.equal(
      await docx(items.join(''), { 'word/numbering.xml': numbering.join('') }),
      lists.map(([, , , shown]) => shown).join('\n'),
    );
  });

  it('continue, restart or reformat the numbering of a single list', async () => {
    const level = (at: number, text: string, format = 'decimal') =>
      `<w:lvl w:ilvl="${at}"><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
    const override = (content: string) => `<w:lvlOverride w:ilvl="0">${content}</w:lvlOverride>`;
    const numbering = `<w:abstractNum w:abstractNumId="7">${level(0, '%1.')}${level(1, '%1.%2')}</w:abstractNum>
      <w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
      <w:num w:numId="2"><w:abstractNumId w:val="7"/>${override('<w:startOverride w:val="5"/>')}</w:num>
      <w:num w:numId="3"><w:abstractNumId w:val="7"/>${override(level(0, '%1.', 'upperRoman'))}</w:num>`;
    const styles = `<w:style w:styleId="s"><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:style>`;
    const item = (list: number, at = 0, text = 'x') =>
      p(text, `<w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${list}"/></w:numPr>`);
    const items = [
      item(1, 1),
      item(1),
      item(1, 0, ' '),
      item(1, 1),
      p('x', '<w:pStyle w:val="s"/>'),
      item(2),
      item(2),
      item(3),
      item(1),
    ];
    assert.equal(
      await docx(items.join(''), { 'word/numbering.xml': numbering, 'word/styles.xml': styles }),
      '- 1.1 x\n2. x\n  - 2.1 x\n  - 2.2 x\n5. x\n6. x\n- VII. x\n8. x',
    );
  });

  it('keep hyphens, tabs, ruby bases, charts, endnotes and long headers, but no deleted text', async () => {
    const text = `<w:p><w:del><w:r><w:t>gone</w:t><w:tab/><m:oMath><m:r><m:t>gone</m:t></m:r></m:oMath></w:r></w:del>
      <w:r><w:rPr><w:rPrChange><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:rPrChange></w:rPr><w:t>p. 2</w:t><w:noBreakHyphen/><w:t>3</w:t><w:ptab/></w:r>
      <w:ruby><w:rt><w:r><w:t>reading</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>word</w:t><w:endnoteReference w:id="4"/></w:r></w:rubyBase></w:ruby></w:p>
      <w:tbl><w:tr><w:tc><w:tcPr><w:tcPrChange><w:tcPr><w:gridSpan w:val="3"/></w:tcPr></w:tcPrChange></w:tcPr>${p('a')}</w:tc><w:tc>${p('b')}</w:tc></w:tr></w:tbl>`;
    const parts = {
      'word/_rels/document.xml.rels': relations(['1', 'chart', 'charts/c.xml'], ['2', 'header', 'h.xml']),
      'word/charts/c.xml': '<c:title><c:tx><a:t>Range</a:t></c:tx></c:title>',
      'word/h.xml': `<w:hdr>${p('Harbour')}${p('office')}${p(' x'.repeat(3000))}</w:hdr>`,
      'word/endnotes.xml': `<w:endnote w:type="separator" w:id="0">${p('line')}</w:endnote><w:endnote w:id="4">${p('See Smith.')}</w:endnote><w:endnote w:id="5">${p(' ')}</w:endnote>`,
    };
    const content = await docx(text, parts);
    assert.match(
      content,
      /^p\. 2-3 word\[\^e4\]\n\n\| a \| b \|\n\| --- \| --- \|\n\nRange\n\n\[\^e4\]: See Smith\.\n\nHarbour office (?:x ?){500,1000}$/,
    );
  });

  it('are read whatever levels their lists claim', async () => {
    const numbering =
      '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"/></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>';
    for (const level of ['-1', '-1e9', '1e9', '0.5', 'NaN', 'Infinity']) {
      const list = `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="1"/></w:numPr>`;
      const text = p('Item', list) + p('Heading', `${list}<w:outlineLvl w:val="${level}"/>`);
      assert.match(await docx(text, { 'word/numbering.xml': numbering }), /Item\n+.*Heading$/, level);
    }
  });

  it('keep the beginning of a table that is longer than the limit', async () => {
    const row = `<w:tr><w:tc>${p('x'.repeat(5000))}</w:tc><w:tc>${p('y')}</w:tc></w:tr>`;
    const content = await docx(`${p('Before')}<w:tbl>${row.repeat(500)}</w:tbl>${p('Behind')}`);
    assert.equal(content.length, MAX_CONTENT);
    assert.ok(content.startsWith(`Before\n\n| ${'x'.repeat(5000)} | y |`));
  });

  it('omit deleted and moved text and old formatting, and keep comments with their authors', async () => {
    const text = `<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange></w:pPr>
      <w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:r><w:t>Fee</w:t><w:commentReference w:id="3"/></w:r></w:p>`;
    const styles = '<w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>';
    const comments = `<w:comment w:id="3" w:author="Ann">${p('Too high?')}</w:comment>`;
    const parts = { 'word/styles.xml': styles, 'word/comments.xml': comments };
    assert.equal(await docx(text, parts), 'Fee[^c3]\n\n[^c3]: Ann: Too high?');
  });

  it('say equal headers and footers once, and keep the columns of merged cells', async () => {
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

  it('turn formulas into LaTeX, and simple ones into text', async () => {
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

  it('turn every kind of formula element into LaTeX', async () => {
    const r = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
    const part = (name: string, ...content: string[]) => `<m:${name}>${content.join('')}</m:${name}>`;
    const e = (text: string) => part('e', r(text));
    const says = (name: string, what: string, value: string) => part(`${name}Pr`, `<m:${what} m:val="${value}"/>`);
    const formulas: [formula: string, latex: string][] = [
      [part('f', part('num', r('n')), part('den', r('k'))), String.raw`\frac{n}{k}`],
      [part('f', says('f', 'type', 'noBar'), part('num', r('n')), part('den', r('k'))), String.raw`\binom{n}{k}`],
      [part('sPre', part('sub', r('1')), part('sup', r('2')), e('H')), '{}_1^2H'],
      [part('rad', part('deg', r('3')), e('x')), String.raw`\sqrt[3]{x}`],
      [part('rad', part('deg'), e('x')), String.raw`\sqrt{x}`],
      [
        part('m', part('mr', e('a'), e('b')), part('mr', e('c'), e('d'))),
        String.raw`\begin{matrix} a & b \\ c & d \end{matrix}`,
      ],
      [part('eqArr', e('a=b'), e('c=d')), String.raw`a=b \\ c=d`],
      [
        part('acc', says('acc', 'chr', '\u20d7'), part('e', part('func', part('fName', r('log')), e('x')))),
        String.raw`\vec{\log x}`,
      ],
      [part('bar', says('bar', 'pos', 'bot'), e('x')), String.raw`\underline{x}`],
      [part('bar', e('x')), String.raw`\overline{x}`],
      [part('limLow', e('lim'), part('lim', r('n'))), String.raw`\lim_n`],
      [part('limUpp', e('x'), part('lim', r('n'))), 'x^n'],
      [part('d', e('a'), e('b')), '(a|b)'],
      [part('d', e('f\u2061x')), '(fx)'],
    ];
    const paragraphs = formulas.map(([formula]) => `<w:p>${part('oMath', formula)}</w:p>`);
    assert.deepEqual(
      (await docx(paragraphs.join(''))).split('\n\n'),
      formulas.map(([, latex]) => `$${latex}$`),
    );
  });

  it('are read whatever the names of their parts and prefixes', async () => {
    const document = `<n:document xmlns:n="http://purl.oclc.org/ooxml/wordprocessingml/main"><n:p><n:pPr><n:pStyle n:val="T"/></n:pPr><n:r><n:t>Tides</n:t></n:r></n:p></n:document>`;
    const styles = `<x:styles xmlns:x="${OOXML}/wordprocessingml/2006/main"><x:style x:styleId="T"><x:name x:val="Title"/></x:style></x:styles>`;
    const parts = {
      '_rels/.rels': relations(['1', 'officeDocument', '/other/document2.xml']),
      'other/document2.xml': document,
      'other/_rels/document2.xml.rels': relations(['1', 'styles', '../looks.xml']),
      'looks.xml': styles,
    };
    assert.equal(await contentOf('docx', parts), '# Tides');
    const elsewhere = { '_rels/.rels': relations(['1', 'officeDocument', '/gone.xml']) };
    assert.equal(await docx(p('At its usual place'), elsewhere), 'At its usual place');
  });

  it('resolve namespace prefixes where elements declare them', async () => {
    const main = `${OOXML}/wordprocessingml/2006/main`;
    const inner = `<q xmlns:N="urn:other"><N:t>other</N:t></q><q xmlns:z="${OOXML}/drawingml/2006/main"><N:t>same</N:t></q>`;
    const text = `<N:body xmlns:N="${main}"><N:p><N:r>${inner}</N:r></N:p><N:p><N:r><N:t>Two</N:t></N:r></N:p></N:body>`;
    assert.equal(await docx(text), 'same\n\nTwo');
    const compatibility = `xmlns:x="${OOXML}/markup-compatibility/2006"`;
    assert.equal(await docx(`<w:p ${compatibility}><w:t>a<x:Fallback>b<w:t>c</w:t></x:Fallback>d</w:t></w:p>`), 'ad');
  });
});

describe('e-books', () => {
  it('are read with namespace prefixes and percent-encoded names', async () => {
    const parts = {
      'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
      'OPS/book.opf': `<opf:package xmlns:opf="http://www.idpf.org/2007/opf"><opf:manifest><opf:item id="a" href="the%20tides.xhtml#top"/></opf:manifest><opf:spine><opf:itemref idref="a"/></opf:spine></opf:package>`,
      'OPS/the tides.xhtml': '<html><body><p>They are high.</p></body></html>',
    };
    assert.equal(await contentOf('epub', parts), 'They are high.');
  });

  it('have the titles of their parts as chapters if there is no table of contents', async () => {
    const part = (title: string, body: string) =>
      `<html><head><title>${title}</title></head><body>${body}</body></html>`;
    const ids = ['a', 'b', 'c', 'd'];
    const items = ids.map((id) => `<item id="${id}" href="${id}.html"/><itemref idref="${id}"/>`);
    const parts = {
      'META-INF/container.xml': '<rootfile full-path="b.opf"/>',
      'b.opf': `<package>${items.join('')}</package>`,
      'a.html': part('One', '<h1>Chapter one</h1><p>They are high.</p>'),
      'b.html': part('Two &amp; three', '<p>They are low.</p>'),
      'c.html': part('Two &amp; three', '<p>They turn.</p>'),
      'd.html': part('', '<p>The end.</p>'),
    };
    assert.equal(
      await contentOf('epub', parts),
      '# Chapter one\n\nThey are high.\n\n# Two & three\n\nThey are low.\n\nThey turn.\n\nThe end.',
    );
  });
});

describe('the metadata of a document', () => {
  it('is cut to 300 characters', async () => {
    const long = 'word '.repeat(20_000);
    const feed = Buffer.from(`<rss><channel><title>${long}</title><item><title>a</title></item></channel></rss>`);
    const options = { charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
    assert.equal((await read({ kind: 'xml', bytes: feed, ...options })).title.length, 300);
    const pdf = textPdf([[{ text: 'Words', x: 50, y: 700 }]], { Title: long, Author: long });
    const { title, author } = await read({ kind: 'pdf', bytes: pdf, ...options });
    assert.deepEqual([title.length, author?.length], [300, 300]);
  });
});

describe('feeds', () => {
  const options = { charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
  const feedOf = (entries: string) => Buffer.from(`<rss><channel><title>News</title>${entries}</channel></rss>`);

  it('are read with all of their entries, or say how many were', async () => {
    const entry = `<item><title>A ship</title><description>${'The ship came in. '.repeat(2000)}</description></item>`;
    const some = await read({
      kind: 'xml',
      bytes: feedOf('<item><title>A ship</title></item>'.repeat(600)),
      ...options,
    });
    assert.equal(some.content.match(/^## /gm)?.length, 600);
    const one = await read({ kind: 'xml', bytes: feedOf(entry), ...options });
    assert.ok(one.content.length > 35_000);
    assert.equal(one.incomplete, undefined);
    const many = await read({ kind: 'xml', bytes: feedOf(entry.repeat(100)), ...options });
    assert.equal(many.incomplete, 'only 28 of its 100 entries were read');
  });
});

describe('workbooks', () => {
  it('show numbers in the format of their cells, and dates in ISO 8601', () => {
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
      ['5', '0 d', '5 d'],
      ['0.5', 'mm:ss.0', '12:00'],
      ['1', '[s]', '86400'],
      ['0.5', '[m]:ss', '720:00'],
      ['-1', 'yyyy', '-1'],
      ['0.5', 'yyyy-mm-dd hh:mm', '12:00'],
      ['-0.001', '0.00', '0.00'],
      ['-3', '0;"minus 3"', 'minus 3'],
      ['3', '0" (1.0%)"', '3 (1.0%)'],
      ['-5', '0;;0', '-5'],
      ['0.5', '#.00', '.50'],
      ['1.5', '0.0##', '1.5'],
      ['0.285', '0%', '29%'],
      ['1e-7', '0.00', '0.00'],
      ['1e15', '#,##0', '1e15'],
      ['1.5E-10', '', '1.5E-10'],
    ];
    assert.deepEqual(
      shown.map(([number, format]) => formatNumber(number, parseCellFormat(format))),
      shown.map(([, , wanted]) => wanted),
    );
    assert.equal(formatNumber('0', parseCellFormat('yyyy-mm-dd'), { isMac: true }), '1904-01-01');
  });

  it('are read with formulas without values, comments, prefixes and the 1904 calendar', async () => {
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

describe('workbooks with various cells', () => {
  it('have the text boxes of their sheets, also without cells', async () => {
    const drawing =
      '<xdr:sp><xdr:txBody><a:p><a:r><a:t>Read </a:t></a:r><a:r><a:t>me</a:t></a:r></a:p></xdr:txBody></xdr:sp>';
    const parts = {
      'xl/workbook.xml': '<workbook><sheet name="Cover" r:id="r1"/><sheet name="Chart" r:id="r2"/></workbook>',
      'xl/_rels/workbook.xml.rels': relations(
        ['r1', 'worksheet', 'worksheets/sheet1.xml'],
        ['r2', 'worksheet', 'worksheets/sheet2.xml'],
      ),
      'xl/worksheets/sheet1.xml': '<sheetData/>',
      'xl/worksheets/_rels/sheet1.xml.rels': relations(['1', 'drawing', '../drawings/drawing1.xml']),
      'xl/drawings/drawing1.xml': drawing,
      'xl/worksheets/_rels/sheet2.xml.rels': relations(['1', 'drawing', '../drawings/drawing2.xml']),
    };
    assert.equal(await contentOf('xlsx', parts), '## Cover\n\nRead me');
  });

  it('show shared strings, booleans and East Asian dates, but no empty comments', async () => {
    const parts = {
      'xl/workbook.xml': '<workbook><sheet name="Tides" r:id="r1"/></workbook>',
      'xl/_rels/workbook.xml.rels': relations(['r1', 'worksheet', 'worksheets/sheet1.xml']),
      'xl/sharedStrings.xml': '<sst><si><t>High_x000A_water</t></si></sst>',
      'xl/styles.xml': '<cellXfs><xf numFmtId="0"/><xf numFmtId="31"/></cellXfs>',
      'xl/worksheets/sheet1.xml':
        '<row r="1"><c t="s"><v>0</v></c><c t="b"><v>1</v></c><c s="1"><v>45000</v></c><c/></row><row r="2"><c><v>5</v></c></row>',
      'xl/worksheets/_rels/sheet1.xml.rels': relations(['1', 'comments', '../comments1.xml']),
      'xl/comments1.xml': '<comment ref="A1"><text><t> </t></text></comment>',
    };
    assert.equal(
      await contentOf('xlsx', parts),
      '## Tides\n\n[Cells A1:D2]\n\n| High water | TRUE | 2023-03-15 |  |\n| --- | --- | --- | --- |\n| 5 |  |  |  |',
    );
  });
});

describe('presentations', () => {
  it('include diagrams and formulas of slides, but no header, footer or date of notes', async () => {
    const paragraph = (text: string, more = '') => `<a:p>${more}<a:r><a:t>${text}</a:t></a:r></a:p>`;
    const shape = (content: string, type = '') =>
      `<p:sp><p:nvPr>${type && `<p:ph type="${type}"/>`}</p:nvPr>${content}</p:sp>`;
    const power = '<m:sSup><m:e><m:r><m:t>a</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>';
    const formula = `<a:p><a:r><a:t>so</a:t></a:r><a:tab/><m:oMath>${power}</m:oMath></a:p>`;
    const slide = [
      shape(paragraph('Tides'), 'ctrTitle'),
      shape(paragraph('of the coast'), 'subTitle'),
      shape(paragraph('7'), 'sldNum'),
      shape(paragraph('Range') + paragraph('high', '<a:pPr lvl="1"/>') + formula),
      shape(paragraph('Behind'), 'title'),
      shape(paragraph('Text')),
    ];
    const parts = {
      'ppt/presentation.xml': '<p:sldIdLst><p:sldId r:id="gone"/></p:sldIdLst>',
      'ppt/slides/slide10.xml': shape(paragraph('Last')),
      'ppt/slides/slide2.xml': slide.join(''),
      'ppt/slides/_rels/slide2.xml.rels': relations(
        ['d', 'diagramData', '../diagrams/d.xml'],
        ['n', 'notesSlide', '../notesSlides/n.xml'],
      ),
      'ppt/diagrams/d.xml': paragraph('Ebb'),
      'ppt/notesSlides/n.xml': ['hdr', 'ftr', 'dt'].map((type) => shape(paragraph(type), type)).join(''),
    };
    assert.equal(
      await contentOf('pptx', parts),
      '[Slide 1]\n\n## Tides\n\nof the coast\n\nRange\n\n  - high\n\nso $a^2$\n\n## Behind\n\nText\n\nEbb\n\n[Slide 2]\n\nLast',
    );
  });

  it('have the comments on their slides, of old and new versions, with replies', async () => {
    const said = (text: string) => `<p188:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p188:txBody>`;
    const parts = {
      'ppt/presentation.xml': '<p:sldIdLst/>',
      'ppt/slides/slide1.xml': '<p:sp><a:p><a:r><a:t>Tides</a:t></a:r></a:p></p:sp>',
      'ppt/slides/_rels/slide1.xml.rels': relations(
        ['a', 'comments', '../comments/old.xml'],
        ['b', 'comments', '../comments/new.xml'],
      ),
      'ppt/comments/old.xml': '<p:cm><p:pos/><p:text>Which year?</p:text></p:cm><p:cm><p:text> </p:text></p:cm>',
      'ppt/comments/new.xml': `<p188:cm>${said('Too small')}<p188:reply>${said('Larger now')}</p188:reply></p188:cm>`,
    };
    const comments = 'Comment: Which year?\n\nComment: Too small\n\nComment: Larger now';
    assert.equal(await contentOf('pptx', parts), `[Slide 1]\n\nTides\n\n${comments}`);
  });

  it('are read in the order shown, with notes', async () => {
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

  it('include the values of charts', async () => {
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

describe('charts', () => {
  it('have each value in its row and column, and no axis titles', async () => {
    const value = (at: number, text: string) => `<c:pt idx="${at}"><c:v>${text}</c:v></c:pt>`;
    const title = (text: string) => `<c:title><c:tx><a:t>${text}</a:t></c:tx></c:title>`;
    const first = `<c:ser><c:tx><c:f>Sheet1!B1</c:f>${value(0, '2023')}</c:tx><c:yVal>${value(0, '2.8')}${value(1, '3.1')}</c:yVal></c:ser>`;
    const second = `<c:ser><c:tx>${value(0, '2024')}</c:tx><c:xVal>${value(0, 'Wick')}${value(1, 'Oban')}</c:xVal><c:val><c:f>B2</c:f>${value(1, '2.9')}</c:val></c:ser>`;
    const chart = `${title('Range')}${first}${second}<c:valAx>${title('Metres')}</c:valAx>`;
    const parts = {
      'word/_rels/document.xml.rels': relations(['1', 'chart', 'c1.xml'], ['2', 'chart', 'c2.xml']),
      'word/c1.xml': chart,
      'word/c2.xml': title('Nothing'),
    };
    assert.equal(
      await docx(p('x'), parts),
      'x\n\nRange\n\n|  | 2023 | 2024 |\n| --- | --- | --- |\n| Wick | 2.8 |  |\n| Oban | 3.1 | 2.9 |\n\nNothing',
    );
  });
});

describe('OpenDocument', () => {
  const odf = (content: string, more: Readonly<Record<string, string>> = {}) =>
    contentOf('odf', { 'content.xml': content, ...more });

  it('keeps text boxes, notes, comments and footers apart from the text around them', async () => {
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

  it('omits deleted text and ruby readings, and keeps notes, comments and headers', async () => {
    const note = (kind: string, text: string) =>
      `<text:note text:note-class="${kind}"><text:note-body><text:p>${text}</text:p></text:note-body></text:note>`;
    const deleted = `<text:tracked-changes><text:p>gone${note('footnote', 'gone')}</text:p></text:tracked-changes>`;
    const ruby = '<text:ruby><text:ruby-base>word</text:ruby-base><text:ruby-text>reading</text:ruby-text></text:ruby>';
    const comment = '<office:annotation><dc:creator/><text:p>Sure?</text:p></office:annotation>';
    const styles = '<style:header-left><text:p>Harbour</text:p><text:p>office</text:p></style:header-left>';
    assert.equal(
      await odf(`${deleted}<text:p>A ${ruby}${note('endnote', 'See Smith.')}</text:p>${comment}`, {
        'styles.xml': styles,
      }),
      'A word[^e2]\n\n[^c3]\n\n[^e2]: See Smith.\n\n[^c3]: Sure?\n\nHarbour office',
    );
  });

  it('has the slides of a presentation with their notes', async () => {
    const slide = (name: string, notes: string) =>
      `<draw:page draw:name="${name}"><text:p>${name} are high.</text:p><presentation:notes><text:p>${notes}</text:p></presentation:notes></draw:page>`;
    assert.equal(
      await odf(slide('Tides', 'Speak slowly') + slide('Waves', '')),
      '[Slide 1]\n\n## Tides\n\nTides are high.\n\nNotes: Speak slowly\n\n[Slide 2]\n\n## Waves\n\nWaves are high.',
    );
  });

  it('numbers lists by the automatic styles of the document', async () => {
    const style = (name: string, more: string) =>
      `<text:list-style style:name="${name}"><text:list-level-style-number text:level="1" style:num-suffix="." ${more}/></text:list-style>`;
    const styles = style('L1', 'style:num-format="1" text:start-value="4"') + style('L2', 'style:num-format=""');
    const list = (of: string, ...items: string[]) =>
      `<text:list ${of}>${items.map((text) => `<text:list-item><text:p>${text}</text:p></text:list-item>`).join('')}</text:list>`;
    const text = [
      list('text:style-name="L1"', 'One', '', 'Two'),
      list('text:style-name="L1" text:continue-list="x"', 'Three'),
      list('text:style-name="L2"', 'Bare'),
    ];
    assert.equal(
      await odf(
        `<office:automatic-styles>${styles}</office:automatic-styles><office:body>${text.join('')}</office:body>`,
      ),
      '4. One\n6. Two\n7. Three\n- Bare',
    );
  });

  it('numbers clauses and headings', async () => {
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

  it('puts chart values below the text, and formulas into it', async () => {
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

  it('is read whatever outline levels its headings claim', async () => {
    const outline =
      '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/></text:outline-style>';
    for (const level of ['-3', '2.5', '1e9', '4294967296', '1e308']) {
      const heading = `<text:h text:outline-level="${level}">Heading</text:h>`;
      const parts = { 'content.xml': heading, 'styles.xml': outline };
      assert.match(await contentOf('odf', parts), /^#{1,6} .*Heading$/, level);
    }
  });

  it('is cut at the limit if one long cell repeats a million times, as is xlsx', async () => {
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

  it('names the cell range of its sheets', async () => {
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

  it('repeats the rows of its sheets as often as stated, with comments and without charts', async () => {
    const object = '<draw:object xlink:href="./Object 1"/>';
    const comment = '<office:annotation><text:p>Sure?</text:p></office:annotation>';
    const row = `<table:table-row table:number-rows-repeated="2"><table:table-cell>${comment}<text:p>Wick${object}</text:p></table:table-cell><table:table-cell table:number-columns-repeated="5000"><text:p>2</text:p></table:table-cell></table:table-row>`;
    const content = await odf(
      `<office:spreadsheet><table:table table:name="Tides">${row}</table:table></office:spreadsheet>`,
      { 'Object 1/content.xml': '<chart:title><text:p>Range</text:p></chart:title>' },
    );
    assert.match(content, /^## Tides\n\n\[Cells A1:ALL1\]\n\n\| \[\^c1\] Wick \|(?: 2 \|){999}\n/);
    assert.equal(content.match(/Wick/g)?.length, 3, 'two rows, and the first of them above the second');
    assert.doesNotMatch(content, /Range/);
  });

  it('is read up to the row limit, and says that there are more', async () => {
    const row =
      '<table:table-row table:number-rows-repeated="1000"><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>';
    const sheet = `<office:spreadsheet><table:table>${row.repeat(2000)}</table:table></office:spreadsheet>`;
    const { incomplete } = await readParts('odf', { 'content.xml': sheet });
    assert.match(incomplete ?? '', /only its first/);
  });

  it('says if it is encrypted', async () => {
    const manifest = {
      'META-INF/manifest.xml': '<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>',
    };
    await assert.rejects(odf('\u0000\u0001', manifest), /encrypted with a password/);
  });
});
