import assert from 'node:assert/strict';
import { SecretMask } from '../../../src/upstream/credentials/secret-mask.ts';

describe('a secret mask', () => {
  const mask = (credential: string | undefined, headers = {}) => new SecretMask({ credential, headers });

  it('blanks credentials at their length', () => {
    const bytes = Buffer.from('a sk-0123456789ab b sk-0123456789ab');
    mask('sk-0123456789ab').apply(bytes);
    assert.equal(bytes.toString(), 'a *************** b ***************');
  });

  it('knows credentials in headers, but not other headers and not short words', () => {
    const headers = { Authorization: 'Token abcdefghijklmnop', 'HTTP-Referer': 'https://example.com/' };
    assert.equal(
      mask('EMPTY', headers).text('EMPTY abcdefghijklmnop https://example.com/'),
      'EMPTY **************** https://example.com/',
    );
  });

  it('knows how much of a chunk may be the start of a credential', () => {
    const found = mask('sk-0123456789ab');
    const cases: [string, number][] = [
      ['hello', 0],
      ['hello s', 1],
      ['hello sk-01', 5],
      ['sk-0123456789ab', 0],
      ['ssk', 2],
    ];
    for (const [text, length] of cases) assert.equal(found.unfinished(Buffer.from(text)), length, text);
    assert.equal(mask(undefined).unfinished(Buffer.from('sk-')), 0);
  });
});
