import assert from 'node:assert/strict';
import { pageAddress, shownAddress } from '../../../src/base/hosts.ts';

/** Addresses that programs read in several ways, and how they are written. */
const ODD: Readonly<Record<string, string>> = {
  'https:\\\\bank.example\\@evil.example': 'https://bank.example/@evil.example',
  'https://bank.example\\@evil.example/a': 'https://bank.example/@evil.example/a',
  'https://a.example/b\tc\nd': 'https://a.example/bcd',
  '  https://a.example/b ': 'https://a.example/b',
  'http:/a.example/b': 'http://a.example/b',
  'http:a.example/b': 'http://a.example/b',
  'http:////a.example/b': 'http://a.example/b',
  'HTTPS://A.example/B': 'https://a.example/B',
  'https://а.example/': 'https://xn--80a.example/',
  'https://%61.example/b': 'https://a.example/b',
  'https://a.example./b': 'https://a.example/b',
  'https://a.example..:8080/b': 'https://a.example:8080/b',
  'https://a.example:443/b': 'https://a.example/b',
  'http://0x7f.1/': 'http://127.0.0.1/',
  'https://a。example/': 'https://a.example/',
  'https://a.example/b/../c': 'https://a.example/c',
  'https://a.example/b/%2e%2e/c': 'https://a.example/c',
  'https://a.example/\u202etxt.exe': 'https://a.example/%E2%80%AEtxt.exe',
  'https://a.example/b c': 'https://a.example/b%20c',
};

const PLAIN = [
  'https://a.example',
  'https://a.example/',
  'https://a.example?q=1',
  'https://zh.example/wiki/北京#历史',
  'https://xn--80a.example:8080/b(c)?d=%2F&e=ü',
];

describe('the address of a page', () => {
  for (const [written, shown] of Object.entries(ODD)) {
    it(`is written in one way: ${JSON.stringify(written)}`, () => {
      assert.equal(pageAddress(written), shown);
      assert.equal(shownAddress(shown), shown);
    });
  }

  it('stays as it is where all programs read it alike, or if it is none of the web', () => {
    for (const written of PLAIN) assert.equal(pageAddress(written), written);
    for (const written of ['corpus:///a b', 'file:///c\\d', 'notes', '']) assert.equal(shownAddress(written), written);
  });

  it('is none with a user name', () => {
    for (const written of [
      'https://bank.example@evil.example',
      'https://a:b@c.example/',
      'https:\\\\a@b.example',
      'javascript:1',
    ])
      assert.equal(pageAddress(written), undefined);
  });
});
