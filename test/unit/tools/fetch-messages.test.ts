import assert from 'node:assert/strict';
import { isMessage, readMessage } from '../../../src/tools/fetch-url-content/reading/plain/message.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';

const readText = (text: string) =>
  read({
    kind: 'text',
    bytes: Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1'),
    charset: undefined,
    url: 'https://example.org/a.eml',
    softLimitMs: 2500,
  });
const base64 = (text: string) =>
  (
    Buffer.from(text)
      .toString('base64')
      .match(/.{1,20}/g) ?? []
  ).join('\n');

const HEAD = `Return-Path: <jane@example.org>
From: =?utf-8?q?Jane_M=C3=B6we?= <jane@example.org>
To: Max <max@example.org>
Date: Wed, 01 May 2024 10:00:00 +0200
Subject: =?utf-8?B?${Buffer.from('Tide ').toString('base64')}?=
 =?iso-8859-1?Q?t=E4bles?=
MIME-Version: 1.0
`;
const SHOWN =
  'From: Jane Möwe <jane@example.org>\nTo: Max <max@example.org>\nDate: Wed, 01 May 2024 10:00:00 +0200\nSubject: Tide täbles';

describe('fetch_url_content: messages', () => {
  it('are decoded, with their sender, date and subject', async () => {
    const { title, author, published, content } = await readText(
      `${HEAD}Content-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: base64\n\n${base64('High tide in Göteborg.')}\n`,
    );
    assert.deepEqual(
      [title, author, published],
      ['Tide täbles', 'Jane Möwe <jane@example.org>', '2024-05-01T08:00:00.000Z'],
    );
    assert.equal(content, `${SHOWN}\n\nHigh tide in Göteborg.`);
  });

  it('are read in their best form, with the names of attachments', async () => {
    const { content } = await readText(`${HEAD}Content-Type: multipart/mixed; boundary="a=b"

Preamble.
--a=b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain

Bare.
--c
Content-Type: text/html; charset=windows-1252
Content-Transfer-Encoding: quoted-printable

<p>The <a href=3D"https://example.org/t">t=E4b=
les</a>.</p>
--c--
--a=b
Content-Type: application/pdf; name="tides.pdf"
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="tides.pdf"

${base64('%PDF-1.7')}
--a=b--
Epilogue.
`);
    assert.equal(content, `${SHOWN}\n\nThe [täbles](https://example.org/t).\n\nAttachment: tides.pdf`);
  });

  it('may be pages that a browser saved', async () => {
    const text = 'The harbour was dredged in spring, and the ferries kept to the northern channel until June.';
    const { title, content } = await readText(`From: <Saved by Blink>
Snapshot-Content-Location: https://example.org/b/
Subject: Harbour
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="x"

--x
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<title>Harbour</title><main><p>${text} <a href=3D"c">More</a></p></main>
--x
Content-Type: text/css

p { color: red }
--x--
`);
    assert.deepEqual([title, content], ['Harbour', `${text} [More](https://example.org/b/c)`]);
  });

  it('are told from other texts', async () => {
    for (const text of [
      'Name: Jane\nPlace: Wick\n\nA letter.',
      'Received: 3 parcels\n',
      'A line\nMIME-Version: 1.0\n\nx',
    ])
      assert.equal((await readText(text)).content.replaceAll('\r', ''), text);
  });

  it('lose nothing if their parts are many, nested deeply, or without a boundary or headers', async () => {
    const shown = (headers: string) => readText(`${HEAD}${headers}`).then(({ content }) => content);
    const part = (n: number) => `--a\nContent-Type: text/plain\n\nPart ${n}.\n`;
    const many = Array.from({ length: 2000 }, (_, n) => part(n)).join('');
    assert.match(await shown(`Content-Type: multipart/digest; boundary=a\n\n${many}--a--`), /Part 1999\.$/);
    const levels = Array.from({ length: 15 }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\n\n--b${n}\n`);
    assert.match(await shown(`${levels.join('')}\nDeep.`), /Deep\.$/);
    assert.equal(await shown('Content-Type: multipart/mixed\n\nBare.'), `${SHOWN}\n\nBare.`);
    assert.equal(
      await shown('Content-Type: multipart/mixed; boundary=a\n\n--a\n\nPlain.\n--a--'),
      `${SHOWN}\n\nPlain.`,
    );
    assert.match(await shown(`X: ${'a\n '.repeat(40_000)}\n\nAfter a long header.`), /After a long header\.$/);
  });

  it('are read in linear time, however they are nested', () => {
    const nested = 'Content-Type: multipart/mixed; boundary=a\n\n--a\n'.repeat(20_000);
    const empty = `Content-Type: multipart/mixed; boundary=a\n\n${'--a\n\n'.repeat(200_000)}`;
    for (const part of [
      nested,
      empty,
      `X: ${' \n'.repeat(300_000)}`,
      `Content-Type: text/html${'; a="'.repeat(10_000)}\n\nx`,
    ]) {
      const text = HEAD + part;
      assert.ok(isMessage(text));
      const ms = ownMs(() => readMessage(Buffer.from(text), 'https://example.org/a.eml'));
      assert.ok(!isSlow(ms, 1000), `${ms} ms`);
    }
  });
});
