import assert from 'node:assert/strict';
import { MaskedBody, SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { providerSecrets } from '../../../src/config/credential-places.ts';
import { preciseMs } from '../../support/fair-time.ts';

const SECRET = 'Ab/cd+EF&gh="0123456789=';

/** Forms in which others may write the secret. */
const FORMS: Readonly<Record<string, string>> = {
  'as it is': SECRET,
  'in JSON': JSON.stringify(SECRET).slice(1, -1),
  'in JSON within JSON': JSON.stringify(JSON.stringify(SECRET).slice(1, -1)).slice(1, -1),
  'in JSON as PHP writes it': JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/'),
  'in JSON as Gson writes it': escaped(SECRET, /[=&"]/g),
  'in JSON with its first character escaped': escaped(SECRET, /^./g),
  'in JSON with each character escaped': escaped(SECRET, /./gs),
  'in a URL': encodeURIComponent(SECRET),
  'in a URL, with lower-case escapes': SECRET.replaceAll('/', '%2f')
    .replaceAll('+', '%2b')
    .replaceAll('&', '%26')
    .replaceAll('=', '%3d')
    .replaceAll('"', '%22'),
  'in HTML': SECRET.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
  'in HTML with numeric references': SECRET.replace(
    /[/+&="]/g,
    (sign) => `&#x${sign.charCodeAt(0).toString(16).toUpperCase()};`,
  ),
};

function escaped(text: string, which: RegExp): string {
  return text.replace(which, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

describe('SecretMask', () => {
  const of = (...secrets: string[]) => new SecretMask(secrets);

  it('replaces credentials by as many asterisks', () => {
    const bytes = Buffer.from('a sk-0123456789ab b sk-0123456789ab');
    of('sk-0123456789ab').maskBytes(bytes);
    assert.equal(bytes.toString(), 'a *************** b ***************');
  });

  for (const [how, form] of Object.entries(FORMS)) {
    it(`masks a credential written ${how}, also when it arrives in pieces`, () => {
      const mask = of('another-credential', SECRET);
      const stars = '*'.repeat(form.length);
      assert.equal(mask.maskText(`key ${form}, said`), `key ${stars}, said`);
      assert.equal(mask.cleanMessage(`key ${form}, said`), 'key [redacted], said');
      const whole = Buffer.from(`{"error":"key ${form}, said"}`);
      mask.maskBytes(whole);
      assert.equal(whole.toString(), `{"error":"key ${stars}, said"}`);
      if (form.includes('&#')) return;
      const text = `{"error":"key ${form}, said"}`;
      for (let at = 0; at <= text.length; at++) {
        const body = new MaskedBody(mask);
        const pieces = [text.slice(0, at), text.slice(at)].map((piece) => body.push(Buffer.from(piece)).toString());
        assert.equal(pieces.join('') + body.end().toString(), whole.toString(), `cut at ${at}`);
      }
    });
  }

  it('leaves other escapes alone, and keeps masked JSON valid', () => {
    const mask = of(SECRET);
    const plain = String.raw`{"a":"\u0041b\/cd \u0041b\\u002fcd+EF","b":"\\\\\n"}`;
    const bytes = Buffer.from(plain);
    mask.maskBytes(bytes);
    assert.equal(bytes.toString(), plain);
    const quoted = Buffer.from(JSON.stringify({ a: JSON.stringify({ b: `\\${SECRET}"` }) }));
    mask.maskBytes(quoted);
    assert.match(JSON.parse(JSON.parse(quoted.toString()).a).b, /^\**"$/);
  });

  const unusual: Readonly<Record<string, string>> = {
    'with a path in it': '/srv/keys/0123456789',
    'with backslashes': String.raw`domain\user\\pass-0123456789`,
    'with a non-ASCII character': 'key-\u{1f511}-0123456789',
    'of nine thousand characters': `${'eyJ'.repeat(3000)}/`,
  };
  for (const [what, secret] of Object.entries(unusual)) {
    it(`masks a credential ${what}, however it is escaped and cut, and keeps the JSON valid`, () => {
      const inJson = JSON.stringify(secret).slice(1, -1);
      const forms = [inJson.replaceAll('/', '\\/'), escaped(secret, /./gs), JSON.stringify(inJson).slice(1, -1)];
      for (const form of forms) {
        const text = Buffer.from(`{"said":"${form} \\u0020"}`);
        const step = Math.ceil(text.length / 200);
        for (let at = 0; at <= text.length; at += step) {
          const body = new MaskedBody(of(secret));
          const pieces = [text.subarray(0, at), text.subarray(at)].map((piece) => body.push(Buffer.from(piece)));
          const masked = Buffer.concat([...pieces, body.end()]).toString();
          assert.match(JSON.parse(masked).said, /^\*+ {2}$/, `${form.slice(0, 80)} cut at ${at}`);
        }
      }
    });
  }

  it('leaves near misses alone without backtracking, even if a credential is full of backslashes', () => {
    const mask = of(`key${'\\'.repeat(30)}${'\\a'.repeat(30)}0123456789`);
    const near = `key${'\\'.repeat(300)}${'\\\\\\\\a'.repeat(30)}012345678 \\u0020`;
    assert.equal(mask.maskText(near.repeat(100)), near.repeat(100));
  });

  it('finds an escaped credential at any offset around 64 KiB in a long text', () => {
    const mask = of(SECRET, 'another-credential');
    const form = escaped(SECRET, /./gs);
    for (let before = 64 * 1024 - SECRET.length - 2; before <= 64 * 1024 + 1; before++) {
      const text = `${'a'.repeat(before)}${form}b`;
      assert.ok(mask.maskText(text, '-') === `${'a'.repeat(before)}-b`, `behind ${before} characters`);
    }
  });

  it('takes at most four times as long for a text full of escapes', () => {
    const msOf = (piece: string) => {
      const bytes = Buffer.from(`\\u00e9${piece.repeat(500_000)}`);
      return preciseMs(() => of(SECRET).maskBytes(bytes));
    };
    const isSlow = () => msOf('\\"') > 4 * msOf('ab');
    assert.ok(!Array.from({ length: 3 }).every(isSlow));
  });

  it('masks credentials in headers and base_url, but nothing else there and no short words', () => {
    const found = providerSecrets({
      base_url: 'https://a.example/v1?version=2026-01-01-preview&key=query%2Fkey-0123456789',
      headers: { Authorization: 'Token abcdefghijklmnop', 'HTTP-Referer': 'https://example.com/' },
      refreshed: [],
    });
    const mask = of('EMPTY', ...found);
    assert.equal(
      mask.maskText(
        'EMPTY abcdefghijklmnop https://example.com/ 2026-01-01-preview query%2Fkey-0123456789 query/key-0123456789',
      ),
      `EMPTY **************** https://example.com/ 2026-01-01-preview ${'*'.repeat(22)} ${'*'.repeat(20)}`,
    );
  });

  it('masks the password of a Basic authorization header, but not the user name', () => {
    const headers = { authorization: `Basic ${Buffer.from('operator:pass-word-12345').toString('base64')}` };
    const mask = of(...providerSecrets({ base_url: 'https://a.example', headers, refreshed: [] }));
    assert.equal(mask.maskText('operator pass-word-12345'), `operator ${'*'.repeat(15)}`);
  });

  it('counts the bytes at the end of a chunk that may begin a credential', () => {
    const found = of('sk-0123456789ab');
    const cases: [string, number][] = [
      ['hello', 0],
      ['hello s', 1],
      ['hello sk-01', 5],
      ['sk-0123456789ab', 0],
      ['ssk', 2],
      ['hello \\u0073k', 7],
      ['hello sk\\u00', 6],
      ['hello \\n', 0],
    ];
    for (const [text, length] of cases) assert.equal(found.unfinishedBytes(Buffer.from(text)), length, text);
    assert.equal(of().unfinishedBytes(Buffer.from('sk-\\')), 0);
  });
});
