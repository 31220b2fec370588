import assert from 'node:assert/strict';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { type PdfObject, pdfOf, textPdf } from '../../support/pdf-file.ts';

const JOB = { kind: 'pdf', charset: undefined, url: 'https://example.org/a.pdf', softLimitMs: 2500 } as const;
const HELVETICA = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>';

/** A font that is not embedded, with one of Adobe's character collections. */
const foreignFont = (encoding: string, ordering: string) =>
  `<< /Type /Font /Subtype /Type0 /BaseFont /Mincho /Encoding /${encoding} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Mincho /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /Mincho /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 >> >>] >>`;

/** The text read from a page with this content and these annotations. */
async function pageOf(
  content: string,
  { annotations = '', trailer = '', font = HELVETICA, form = '' } = {},
): Promise<string> {
  const objects: PdfObject[] = [
    { dictionary: `<< /Type /Catalog /Pages 2 0 R ${form && '/AcroForm << /Fields [6 0 R] >>'} >>` },
    { dictionary: '<< /Type /Pages /Kids [4 0 R] /Count 1 >>' },
    { dictionary: font },
    {
      dictionary: `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate 90 /Annots [${annotations}] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>`,
    },
    { dictionary: '<< >>', stream: Buffer.from(content, 'latin1') },
    ...(form ? [{ dictionary: form }] : []),
  ];
  return (await read({ ...JOB, bytes: pdfOf(objects, trailer) })).content.replace('[Page 1]\n\n', '');
}

const level = (text: string, x: number, y: number) => `BT /F1 10 Tf 1 0 0 1 ${x} ${y} Tm (${text}) Tj ET\n`;
const upright = (text: string, x: number, y: number) => `BT /F1 10 Tf 0 1 -1 0 ${x} ${y} Tm (${text}) Tj ET\n`;

describe('pages of a PDF', () => {
  it('are read along their lines if rotated sideways, with tables', async () => {
    const rows = ['Port', 'Wick', 'Oban', 'Ayr'].map(
      (port, at) =>
        upright(port, 100 + at * 14, 50) +
        upright(`${at}.5 m`, 100 + at * 14, 200) +
        upright('high', 100 + at * 14, 300),
    );
    assert.equal(
      await pageOf(rows.join('')),
      '| Port | 0.5 m | high |\n| --- | --- | --- |\n| Wick | 1.5 m | high |\n| Oban | 2.5 m | high |\n| Ayr | 3.5 m | high |',
    );
  });

  it('are read along their lines if upside down, whatever the sign of a zero', async () => {
    const turned = (text: string, zero: string, y: number) =>
      `BT /F1 10 Tf -1 ${zero} 0 -1 400 ${y} Tm (${text}) Tj ET\n`;
    const lines = [
      turned('The first line', '0', 100),
      turned('the second', '-0.00001', 112),
      turned('the third', '0', 124),
    ];
    assert.equal(await pageOf(lines.join('')), 'The first line\nthe second\nthe third');
  });

  it('keep text along the edge apart from the lines', async () => {
    const lines = level('Tides of the coast', 100, 700) + upright('arXiv:1706', 20, 300) + level('are high.', 100, 688);
    assert.equal(await pageOf(lines), 'Tides of the coast\nare high.\n\narXiv:1706');
    const edgeFirst = upright('arXiv:1706', 20, 300) + level('Tides of the coast', 100, 700);
    assert.equal(await pageOf(edgeFirst), 'Tides of the coast\n\narXiv:1706');
  });

  it('say text once that is printed repeatedly to look bold', async () => {
    const bold = [0, 0.2, 0.4].map((by) => level('Annual report', 100 + by, 700)).join('');
    assert.equal(await pageOf(`${bold}${level('Annual report', 100, 600)}`), 'Annual report\n\nAnnual report');
    assert.equal(await pageOf(level('bon', 100, 700) + level('bon', 150, 700)), 'bon bon');
  });

  it('say so if one of them has no text', async () => {
    const bytes = textPdf([[{ text: 'Before.', x: 72, y: 700 }], [], [{ text: 'Behind.', x: 72, y: 700 }]]);
    const { content } = await read({ ...JOB, bytes });
    assert.match(
      content,
      /^\[Page 1\]\n\nBefore\.\n\n\[Page 2\]\n\n\(There is no text .*\)\n\n\[Page 3\]\n\nBehind\.$/,
    );
    await assert.rejects(read({ ...JOB, bytes: textPdf([[], []]) }), /no text/);
  });

  it('keep words apart if later ones are placed further left', async () => {
    assert.equal(await pageOf(level('first', 200, 700) + level('second', 150, 700)), 'first second');
  });

  it('join words that are divided at the end of a line, whichever hyphen the file has', async () => {
    const font = HELVETICA.replace(
      '/WinAnsiEncoding',
      '<< /BaseEncoding /WinAnsiEncoding /Differences [2 /uni2010] >>',
    );
    const lines = ['the har-', 'bour al\\002', 'ways had a well\\002known pier.'];
    const content = lines.map((line, at) => level(line, 100, 700 - at * 12)).join('');
    assert.equal(await pageOf(content, { font }), 'the harbour always had a well‐known pier.');
  });

  it("include form entries and readers' comments", async () => {
    const field = (more: string) => `<< /Type /Annot /Subtype /Widget /F 4 /Rect [0 0 9 9] ${more} >>`;
    const annotations = [
      field('/FT /Tx /T (f1) /TU (Name of the ship) /V (Aurora)'),
      field('/FT /Tx /T (empty)'),
      field('/FT /Btn /T (insured) /V /Yes /AS /Yes /AP << /N << /Yes << >> >> >>'),
      field('/FT /Btn /T (sold) /V /Off /AS /Off /AP << /N << /Yes << >> >> >>'),
      '<< /Type /Annot /Subtype /Text /F 4 /Rect [0 0 9 9] /T (Ann) /Contents (Is this right?) >>',
      '<< /Type /Annot /Subtype /Link /F 4 /Rect [0 0 9 9] /Contents (a link) >>',
    ];
    assert.equal(
      await pageOf(level('Registration', 100, 700), { annotations: annotations.join(' ') }),
      'Registration\n\nComment of Ann: Is this right?\nName of the ship: Aurora\ninsured: yes',
    );
    const radio = (name: string) =>
      field(
        `/FT /Btn /Ff 32768 /TU (${name} lamp) /Parent << /T (lamp) /FT /Btn /Ff 32768 /V /Red >> /AP << /N << /${name} << >> >> >>`,
      );
    const more = [
      radio('Red'),
      radio('Green'),
      field('/FT /Tx /V (nameless)'),
      field('/FT /Ch /T (ports) /Ff 2097152 /Opt [(Wick) (Oban)] /V [(Wick) (Oban)]'),
      '<< /Type /Annot /Subtype /FreeText /F 4 /Rect [0 0 9 9] /T (Ann) /Contents (Printed beside) >>',
      '<< /Type /Annot /Subtype /Text /F 4 /Rect [0 0 9 9] /Contents (By nobody) >>',
    ];
    assert.equal(
      await pageOf('', { annotations: more.join(' ') }),
      'Printed beside\nBy nobody\nRed lamp: Red\nnameless\nports: Wick, Oban',
    );
    const onScreen = '<< /Type /Annot /Subtype /Widget /Rect [0 0 9 9] /FT /Tx /T (tide) /V (high) >>';
    assert.equal(
      await pageOf('', { annotations: '6 0 R', form: onScreen }),
      'tide: high',
      'a field that is not printed',
    );
  });

  it('are read in the East Asian encodings that files name but do not embed', async () => {
    const fonts: [encoding: string, ordering: string, codes: string, text: string][] = [
      ['90ms-RKSJ-H', 'Japan1', '93fa967b41b1', '日本Aｱ'],
      ['EUC-H', 'Japan1', 'c6fccbdc', '日本'],
      ['H', 'Japan1', '467c4b5c', '日本'],
      ['UniJIS-UCS2-H', 'Japan1', '65e5672c', '日本'],
      ['GBK-EUC-H', 'GB1', 'bab0d3ef41', '喊语A'],
      ['ETen-B5-H', 'CNS1', 'a4a4a4e5', '中文'],
      ['KSCms-UHC-H', 'Korea1', 'c7d1b1db41', '한글A'],
      ['UniGB-UTF16-H', 'GB1', '558a8bed', '喊语'],
      ['UniCNS-UCS2-H', 'CNS1', '4e2d6587', '中文'],
      ['UniKS-UCS2-H', 'Korea1', 'd55cae00', '한글'],
      // A line that is as long as the page is high.
      ['UniJIS-UCS2-V', 'Japan1', '65e5672c'.repeat(30), '日本'.repeat(30)],
      ['V', 'Japan1', '467c4b5c'.repeat(30), '日本'.repeat(30)],
      // Numbers within a collection: ASCII is known, and nothing is misread.
      ['Identity-H', 'Japan1', '003504000036', 'TU'],
    ];
    for (const [encoding, ordering, codes, text] of fonts) {
      const font = foreignFont(encoding, ordering);
      const content = `BT /F1 10 Tf 1 0 0 1 100 700 Tm <${codes}> Tj ET`;
      assert.equal(await pageOf(content, { font }), text, encoding);
    }
  });

  it('are read down the columns if single characters stand below one another', async () => {
    const content = ['65e5672c7d048a34', '6d77306e65e5']
      .flatMap((column, at) =>
        [...column.matchAll(/.{4}/g)].map(
          ([code], n) => `BT /F1 10 Tf 1 0 0 1 ${300 - at * 20} ${700 - n * 14} Tm <${code}> Tj ET`,
        ),
      )
      .join('\n');
    assert.equal(await pageOf(content, { font: foreignFont('UniJIS-UCS2-H', 'Japan1') }), '日本約訴海の日');
  });

  it('have headings where lines are larger than the text, but not in introductions, quotes and drop capitals', async () => {
    const lines = [
      ['Tides of the', 24],
      ['northern coast', 24],
      ['The sea rises twice a day, and falls as often,', 14],
      ['in every port of the northern coast.', 14],
      ['T', 30],
      ['The harbour was dredged again in the spring, when the ferries', 10],
      ['kept to the northern channel until the end of the month.', 10],
      ['Depth of the channel2', 12],
      ['It is four metres deep at low water, which is enough for them.', 10],
    ] as const;
    let y = 800;
    const page = lines.map(([text, size]) => {
      y -= size * 1.2;
      return { text, x: 50, y, size };
    });
    const { content, title } = await read({ ...JOB, bytes: textPdf([page]) });
    assert.match(content, /^\[Page 1\]\n\n# Tides of the northern coast\n\nThe sea rises/);
    assert.match(content, /\n\n### Depth of the channel2\n\nIt is/);
    assert.equal(content.match(/^#/gm)?.length, 2);
    assert.equal(title, 'Tides of the northern coast');
  });

  it('say that they are encrypted', async () => {
    const key = '0'.repeat(64);
    const trailer = `/ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${key}> /U <${key}> >>`;
    await assert.rejects(pageOf(level('Tides', 100, 700), { trailer }), /the PDF is encrypted with a password/);
  });

  it('are read although one of them is damaged, but not if all are', async () => {
    const pdf = (kids: string) => {
      const page =
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>';
      const content = Buffer.from(level('High tide', 72, 700), 'latin1');
      const objects = [
        '<< /Type /Catalog /Pages 2 0 R >>',
        `<< /Type /Pages /Kids [${kids}] /Count 2 >>`,
        HELVETICA,
        page,
      ];
      return pdfOf([
        ...objects.map((dictionary) => ({ dictionary })),
        { dictionary: '<< >>', stream: content },
        { dictionary: '(none)' },
      ]);
    };
    const { title, content } = await read({ ...JOB, bytes: pdf('4 0 R 6 0 R') });
    assert.deepEqual([title, content], ['High tide', '[Page 1]\n\nHigh tide\n\n[Page 2]\n\n(This page is damaged.)']);
    await assert.rejects(read({ ...JOB, bytes: pdf('6 0 R 6 0 R') }), /the PDF is damaged/);
  });

  it('keep last lines that differ in more than the page number', async () => {
    const pages = [1, 2, 3, 4].map((number) =>
      [
        'Harbour account',
        `Payment ${number * 17} of the harbour`,
        `Balance: ${number * 1031}.50`,
        `page ${number + 6} of 10`,
      ].map((text, at) => ({ text, x: 72, y: 800 - 40 * at })),
    );
    const withFeet = await read({ ...JOB, bytes: textPdf(pages) });
    assert.ok(!/account|page \d/.test(withFeet.content), withFeet.content);
    const without = await read({ ...JOB, bytes: textPdf(pages.map((lines) => lines.slice(0, 3))) });
    for (const { content } of [withFeet, without]) assert.match(content, /Balance: 1031\.50[\s\S]*Balance: 4124\.50/);
  });
});
