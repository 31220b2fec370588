import assert from 'node:assert/strict';
import { maskOf } from '../../../src/upstream/credentials/secrets.ts';

describe('credentials in what a model says', () => {
  const mask = maskOf(['sk-provider-credential', 'Bearer header-credential-1', 'EMPTY', undefined]);

  it('are blanked wherever they stand, with and without their scheme', () => {
    assert.equal(mask('key sk-provider-credential!'), 'key [redacted]!');
    assert.equal(mask('header-credential-1 and Bearer header-credential-1'), '[redacted] and [redacted]');
  });

  it('leave ordinary words alone, also short placeholders of keyless servers', () => {
    assert.equal(mask('The list is EMPTY, said the Bearer.'), 'The list is EMPTY, said the Bearer.');
  });
});
