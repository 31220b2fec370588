import assert from 'node:assert/strict';
import { describeContent } from '../../../src/tools/fetch-url-content/content-kind.ts';
import { zipOf } from '../../support/zip-file.ts';

const kindOf = (bytes: Uint8Array | string, type: string | null = null) =>
  describeContent(Buffer.from(bytes), type).kind;
const zip = (...names: string[]) => zipOf(names.map((name) => ({ name, data: 'x' })));
const OLD = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

describe('the kind of a document', () => {
  it('is recognised by the names of its parts, however they vary and however many there are', () => {
    const types = '[Content_Types].xml';
    assert.equal(kindOf(zip(types, 'word/document2.xml')), 'docx');
    assert.equal(kindOf(zip(types, 'other/workbook.xml')), 'xlsx');
    assert.equal(kindOf(zip(types, 'ppt\\presentation.xml')), 'pptx');
    const pictures = Array.from({ length: 1500 }, (_, at) => `ppt/media/a-picture-with-a-long-name-${at}.png`);
    assert.equal(kindOf(zip(types, 'ppt/presentation.xml', ...pictures)), 'pptx');
    assert.equal(kindOf(zip(types, ...pictures, 'ppt/presentation.xml')), 'pptx');
    assert.equal(kindOf(zip(types, 'other/presentation1.xml')), 'pptx');
    for (const [name, kind] of [
      ['word\\document.xml', 'docx'],
      ['ppt\\presentation.xml', 'pptx'],
      ['xl\\workbook.xml', 'xlsx'],
    ] as const)
      assert.equal(kindOf(zip(name)), kind);
    assert.throws(() => kindOf(zip('notes/document.xml')), /a ZIP archive/, 'no package');
  });

  it('is HTML by its first tag, also behind a byte order mark', () => {
    const html = '<!doctype html><title>Tides</title>';
    assert.equal(kindOf(html), 'html');
    assert.equal(kindOf(`\ufeff${html}`), 'html');
    assert.equal(kindOf(Buffer.from(`\ufeff${html}`, 'utf16le')), 'html');
  });

  it('is recognised behind large parts, and in a truncated file', () => {
    const parts = [
      { name: 'large.bin', data: Buffer.alloc(2_200_000, 1), stored: true },
      { name: 'word/document.xml', data: 'x' },
    ];
    assert.equal(kindOf(zipOf(parts)), 'docx');
    assert.equal(kindOf(zipOf(parts).subarray(0, -22)), 'docx');
  });

  it('is recognised if the mimetype part is not first', () => {
    assert.equal(kindOf(zip('META-INF/container.xml', 'mimetype', 'book.opf')), 'epub');
    assert.equal(kindOf(zip('Pictures/', 'content.xml', 'META-INF/manifest.xml', 'mimetype')), 'odf');
    assert.throws(() => kindOf(zip('content.xml')), /a ZIP archive/);
    assert.throws(() => kindOf(zip('META-INF/manifest.xml')), /a ZIP archive/);
  });

  it('is recognised by a leading mimetype part, whatever else is inside', () => {
    const typed = (data: string) => zipOf([{ name: 'mimetype', data, stored: true }]);
    assert.equal(kindOf(typed('application/epub+zip')), 'epub');
    assert.equal(kindOf(typed('application/vnd.oasis.opendocument.text')), 'odf', 'encrypted as a whole');
  });

  it('is text for text under a misleading type, but not for SVG or binary data', () => {
    assert.equal(kindOf('const tide: number = 5;', 'video/mp2t'), 'text');
    assert.equal(kindOf('Subject: tides', 'message/rfc822'), 'text');
    assert.throws(() => kindOf('<svg/>', 'image/svg+xml'), /something of type image\/svg\+xml/);
    assert.throws(() => kindOf(Buffer.alloc(100), 'video/mp2t'), /something of type video\/mp2t/);
  });

  it('is text for UTF-16 without a byte order mark, and PDF behind leading bytes', () => {
    assert.equal(kindOf(Buffer.from('Tides of the coast', 'utf16le')), 'text');
    assert.equal(kindOf(Buffer.from('Tides of the coast', 'utf16le').swap16()), 'text');
    assert.equal(kindOf(Buffer.from(`\ufeff${'a湖'.repeat(20)}`, 'utf16le')), 'text');
    assert.throws(() => kindOf(Buffer.alloc(100)), /binary data/);
    assert.throws(() => kindOf(Buffer.from('abc', 'utf16le')), /binary data/);
    assert.equal(kindOf('Printed by a program\n%PDF-1.7', 'application/pdf'), 'pdf');
    assert.equal(kindOf(Buffer.from('Printed by a program\n%PDF-1.7\n\x00\x01\x02\x03')), 'pdf');
    assert.equal(kindOf('A file of this kind begins with\n%PDF-1.7'), 'text');
  });

  it('explains what cannot be read, and what to do', () => {
    const old = (name: string) => Buffer.concat([Buffer.from(OLD), Buffer.from(name, 'utf16le')]);
    assert.throws(() => kindOf(old('EncryptedPackage')), /an Office document that is encrypted with a password/);
    assert.throws(() => kindOf(old('__substg1.0_001A001E')), /a message of Outlook.*Save it as text/);
    assert.throws(() => kindOf(old('WordDocument')), /an Office file of an old version.*Save it as docx/);
    assert.throws(() => kindOf(zip('Index/Document.iwa')), /Pages, Numbers or Keynote.*Save it as PDF/);
    assert.throws(() => kindOf(zip('xl/workbook.bin')), /a binary workbook.*Save it as xlsx/);
    assert.throws(() => kindOf(zip('readme.txt')), /a ZIP archive/);
  });
});
