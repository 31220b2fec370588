import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { requireExactMetadata } from '../../../src/protocol/requests/exact-numbers.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';

const check = (metadata: string) => requireExactMetadata(Buffer.from(`{"model": "m", "metadata": ${metadata}}`));

describe('numbers in metadata', () => {
  it('are accepted if JavaScript keeps their value, however they are written', () => {
    for (const number of [
      '0',
      '-0',
      '0.0',
      '1',
      '-12',
      '1.50',
      '0.1',
      '1e3',
      '1E-7',
      '123456789012345',
      '100e-2',
      '1e300',
    ])
      check(`{"n": ${number}}`);
    check('{"a": {"b": [1, "12345678901234567890", {"c": null}]}}');
    requireExactMetadata(Buffer.from('{"model": "m", "other": 12345678901234567890}'));
  });

  it('are refused with their path if JavaScript would change them', () => {
    for (const [metadata, param] of [
      ['{"n": 12345678901234567890}', 'metadata.n'],
      ['{"a": {"b": [1, 9007199254740993]}}', 'metadata.a.b[1]'],
      ['{"n": 0.12345678901234567890}', 'metadata.n'],
      ['{"n": 1e400}', 'metadata.n'],
      ['{"n": 1e-400}', 'metadata.n'],
    ] as const)
      assert.throws(
        () => check(metadata),
        (thrown) => thrown instanceof GatewayError && thrown.code === 'invalid_parameter' && thrown.param === param,
        metadata,
      );
  });

  it('are refused unread in a field with too many values; of duplicate fields only the last counts', () => {
    const many = `[${'0.1,'.repeat(499_000)}1]`;
    const ms = ownMs(() => {
      assert.throws(() => check(many), /metadata: this field holds too many values/);
      requireExactMetadata(Buffer.from(`{"metadata":${many},"metadata":{"n":1}}`));
    });
    assert.ok(!isSlow(ms, 150), `${ms} ms`);
  });
});
