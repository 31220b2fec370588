import assert from 'node:assert/strict';
import { Sealer } from '../../../src/base/secrets/sealed.ts';
import { entryOf, readKey } from '../../../src/keys/key-record.ts';
import type { StoredKey } from '../../../src/keys/stored-key.ts';

describe('a stored key', () => {
  const sealer = new Sealer({ keys: ['k'.repeat(32)], share: async () => '' });
  const settings = { provider_keys: { openai: 'sk-of-ann' }, models: ['deep'] };
  const keyOf = (id: string): StoredKey => ({ id, settings, hashes: [{ sha256: 'ab' }], createdAt: 1 });

  it('is read as it was stored, with its credentials encrypted', async () => {
    const entry = await entryOf(keyOf('ann'), sealer);
    assert.ok(!entry.value.includes('sk-of-ann'));
    assert.deepEqual(await readKey(entry, sealer), keyOf('ann'));
  });

  it('is locked if its credentials are those of another key', async () => {
    const ann = await entryOf(keyOf('ann'), sealer);
    const { credentials } = JSON.parse(ann.value);
    const bob = await entryOf(keyOf('bob'), sealer);
    const value = JSON.stringify({ ...JSON.parse(bob.value), credentials });
    const read = await readKey({ ...bob, value }, sealer);
    assert.deepEqual([read?.locked, read?.settings], [credentials, { models: ['deep'] }]);
  });
});
