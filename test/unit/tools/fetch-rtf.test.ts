import assert from 'node:assert/strict';
import { readRtf } from '../../../src/tools/fetch-url-content/reading/office/rtf.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';

const contentOf = (text: string) => readRtf(Buffer.from(text, 'latin1')).content;

describe('RTF', () => {
  it('is decoded by the charsets of its fonts', () => {
    const fonts = String.raw`{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset128 MS Gothic;}{\f2\fnil\fcharset238 Arial CE;}}`;
    const text = String.raw`\f1\'93\'8c\'8b\'9e \'83A \f2 \'e8esky{\f0 \'e9t\'e9}`;
    assert.equal(contentOf(String.raw`{\rtf1\ansi\ansicpg1252\deff0${fonts}${text}}`), '東京 ア českyété');
    assert.equal(contentOf('{\\rtf1\\ansi\\ansicpg1251 \xd2\xe5\xea\xf1\xf2}'), 'Текст');
    const first = String.raw`{\rtf1\ansi\deff7{\fonttbl{\f7\fcharset204 A;}{\f8\fcharset0 B;}}\'d2\f8\'a5}`;
    assert.equal(contentOf(first), 'Т¥', 'the first font, and one with the code page of the file');
    assert.equal(contentOf(String.raw`{\rtf1\ansi\ansicpg4711 caf\'e9 au\'e0}`), 'café auà', 'an unknown code page');
  });

  it('is decoded in linear time', () => {
    const fonts = String.raw`{\fonttbl{\f0\fnil\fcharset128 MS Gothic;}}`;
    const long = (text: string) => contentOf(String.raw`{\rtf1\ansi\deff0${fonts}\f0 ${text.repeat(200_000)}}`);
    for (const [text, read] of [
      [String.raw`\'93\'8c`, '東'],
      [String.raw`\'83A`, 'ア'],
    ] as const) {
      let content = '';
      const ms = ownMs(() => (content = long(text)));
      assert.equal(content.slice(0, 2), read.repeat(2));
      assert.ok(!isSlow(ms, 2000), `${ms} ms`);
    }
  });

  it('has headings, tables, notes, comments, and headers and footers once', () => {
    const styles = String.raw`{\stylesheet{\s0 Normal;}{\s3\ql\b\snext0 heading 2;}}`;
    const margins = String.raw`{\header IBAN DE02 1203}{\footerf IBAN DE02 1203}{\footer \chpgn / 9}`;
    const row = (...cells: string[]) =>
      String.raw`\trowd\pard\intbl ${cells.map((cell) => `${cell}\\cell `).join('')}\row`;
    const text = String.raw`\pard\s3 Tides\par\pard They are high{\footnote \pard See Smith.}{\*\annotation Sure?}.\par`;
    const table = `${row('Port', 'Range')}\n${row(String.raw`Wick\par North`, '2.8 m')}\n`;
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi${styles}${margins}${text}${table}\pard Below.\par\outlinelevel0 End\par}`),
      '## Tides\n\nThey are high[^1][^c2].\n\n| Port | Range |\n| --- | --- |\n| Wick North | 2.8 m |\n\nBelow.\n\n# End\n\n[^1]: See Smith.\n\n[^c2]: Sure?\n\nIBAN DE02 1203',
    );
  });

  it('keeps notes apart, whatever they contain and wherever the file ends', () => {
    const note = String.raw`x{\footnote\intbl a{\b b}c\par d\cell e{\footnote f}g}\par y\par`;
    assert.equal(contentOf(String.raw`{\rtf1\ansi ${note}}`), 'x[^1]\n\ny\n\n[^1]: abc defg');
    assert.equal(contentOf(String.raw`{\rtf1\ansi x{\footnote a`), 'x[^1]\n\n[^1]: a');
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi x{\*\footnote\chftn\~a}}`),
      'x[^1]\n\n[^1]: a',
      'as pandoc writes it',
    );
    assert.equal(contentOf(String.raw`{\rtf1\ansi{\ftnsep line}x{\footnote }}`), 'x[^1]');
  });

  it('separates paragraphs and tables where they begin and end', () => {
    const row = String.raw`\trowd\pard\intbl a\nestcell b\nestrow\cell c\cell\row`;
    const table = '| a b | c |\n| --- | --- |\n| a b | c |';
    assert.equal(contentOf(String.raw`{\rtf1\ansi ${row}\pard\par ${row} Below\par End}`), `${table}\n\nBelow\n\nEnd`);
    const parts = String.raw`\pard\intbl\pard One\page Two\sect\outlinelevel9 Three\par\s4 Four\par`;
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi{\stylesheet{\s4 Heading 3;}}${parts}}`),
      'One\n\nTwo\n\nThree\n\n### Four',
    );
  });

  it('keeps document properties out of the text', () => {
    const { title, content } = readRtf(Buffer.from(String.raw`{\rtf1{\info{\title Tides}{\company Acme}}x}`));
    assert.deepEqual([title, content], ['Tides', 'x']);
  });

  it('omits hidden and deleted text and pictures, and nothing else', () => {
    assert.equal(contentOf(String.raw`{\rtf1\ansi a{\v hidden\v0 b}{\v hidden\plain c}\bin-9 d}`), 'abcd');
    assert.equal(contentOf('{\\rtf1\\ansi a{\\*\\unknown b\\* c\\par\\\n}\nd}'), 'ad');
    const text = String.raw`a{\v hidden}{\deleted old}{\pict\bin4 }}}}x}{\b\*\cs7 b}{\*\unknown c}{\listtext\u8226 \tab}Dawn\u-3913 ?`;
    assert.equal(contentOf(String.raw`{\rtf1\ansi ${text}\cell}`), 'ab• Dawn•');
  });

  it('counts a control word as the substitute of a character', () => {
    const text = String.raw`{\rtf1\ansi \u8220\ldblquote Hi\u8221\rdblquote  a\u8212\emdash b\u123\{\uc0\u233 t}`;
    assert.equal(contentOf(text), '“Hi” a—b{ét');
  });

  it('has text boxes, but no entries of an index', () => {
    const box = String.raw`{\shp{\*\shpinst\shpleft1{\sp{\sn a}{\sv 1}}{\shptxt \pard Box\par}}{\shprslt{\*\do{\dptxbxtext Box}}}}`;
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi High ${box}{\xe Tides, high}{\tc High}tide\par}`),
      'Box\n\nHigh tide',
    );
  });

  it('has the font table of TextEdit, and the code page of old Macs', () => {
    const fonts = String.raw`{\fonttbl\f0\fswiss\fcharset0 Helvetica;\f1\fnil\fcharset204 PTSans;}`;
    assert.equal(contentOf(String.raw`{\rtf1\ansi\ansicpg1252${fonts}\f0 a \f1 \'cf\'f0\'e8}`), 'a При');
    assert.equal(contentOf(String.raw`{\rtf1\mac caf\'8e}`), 'café');
  });

  it('remains a heading or in its cell after a note', () => {
    const note = String.raw`{\footnote \pard\plain See Smith.}`;
    const row = String.raw`\trowd\intbl A${note}\par B\cell C\cell\row`;
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi\outlinelevel1 Tides${note}\par\pard ${row}}`),
      '## Tides[^1]\n\n| A[^2] B | C |\n| --- | --- |\n\n[^1]: See Smith.\n\n[^2]: See Smith.',
    );
  });

  it('has links', () => {
    const link = (code: string, text: string) => String.raw`{\field{\*\fldinst {${code}}}{\fldrslt {\ul ${text}}}}`;
    const text = `See ${link('HYPERLINK "https://example.org/a"', 'A')}, ${link(String.raw`HYPERLINK \\l "b"`, 'B')}, ${link('PAGE', '3')}`;
    const several = link('HYPERLINK "https://example.org/c"', String.raw`C\par D`);
    assert.equal(
      contentOf(String.raw`{\rtf1\ansi ${text} and ${several}\par}`),
      'See [A](https://example.org/a), B, 3 and C\n\nD',
    );
  });
});
