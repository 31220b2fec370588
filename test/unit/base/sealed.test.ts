import assert from 'node:assert/strict';
import { Sealer } from '../../../src/base/secrets/sealed.ts';

const share = async () => 'what the store keeps';
const OLD = 'a key that the operator has made, no. 1';
const NEW = 'a key that the operator has made, no. 2';
const ADA = { user: 'ada', kind: 'reasoning' } as const;
const refused = { code: 'invalid_parameter', param: 'input[1].encrypted_content' };
const open = (sealer: Sealer, sealed: string, of: { user: string; kind: 'reasoning' | 'compaction' } = ADA) =>
  sealer.open(sealed, { ...of, param: refused.param });

describe('Sealer', () => {
  it('opens on any instance what it sealed, and reveals nothing of it', async () => {
    const text = 'Thoughts \u{1F914} of the model.';
    const sealed = await new Sealer({ keys: [], share }).seal(text, ADA);
    assert.match(sealed, /^rgs1\.[0-9a-f]{8}\.[\w-]+$/);
    assert.doesNotMatch(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1'), /Thoughts|ada/);
    assert.equal(await open(new Sealer({ keys: [], share }), sealed), text);
    assert.notEqual(await new Sealer({ keys: [], share }).seal(text, ADA), sealed, 'no two are alike');
  });

  it('refuses content of another user, kind or store', async () => {
    const sealer = new Sealer({ keys: [], share });
    const sealed = await sealer.seal('text', ADA);
    await assert.rejects(open(sealer, sealed, { ...ADA, user: 'bob' }), refused);
    await assert.rejects(open(sealer, sealed, { ...ADA, kind: 'compaction' }), refused);
    await assert.rejects(open(new Sealer({ keys: [], share: async () => 'another store' }), sealed), refused);
  });

  it('refuses content that is changed in any place, truncated or extended', async () => {
    const sealer = new Sealer({ keys: [], share });
    const sealed = await sealer.seal('a text of some length', ADA);
    for (let place = 0; place < sealed.length; place++) {
      for (const other of ['A', 'B', '_', '0', '.', '=']) {
        if (sealed[place] === other) continue;
        const changed = sealed.slice(0, place) + other + sealed.slice(place + 1);
        await assert.rejects(open(sealer, changed), refused, changed);
      }
    }
    const odd = [
      '',
      '.',
      '..',
      'rgs1..',
      `${sealed}.`,
      `${sealed}A`,
      `${sealed}=`,
      sealed.slice(0, -1),
      sealed.slice(0, 20),
    ];
    for (const text of odd) await assert.rejects(open(sealer, text), refused, text);
  });

  it("seals with the operator's first key, and opens with all of them and with the store's secret", async () => {
    const before = await new Sealer({ keys: [], share }).seal('0', ADA);
    const first = await new Sealer({ keys: [OLD], share }).seal('1', ADA);
    const rotated = new Sealer({ keys: [NEW, OLD], share });
    const second = await rotated.seal('2', ADA);
    assert.deepEqual(await Promise.all([before, first, second].map((sealed) => open(rotated, sealed))), [
      '0',
      '1',
      '2',
    ]);
    const after = new Sealer({ keys: [NEW], share });
    assert.equal(await open(after, second), '2');
    await assert.rejects(open(after, first), refused, 'its key was taken away');
  });

  it('retries reading the shared secret after a failure', async () => {
    let away = true;
    const sealer = new Sealer({
      keys: [],
      share: async () => {
        if (away) throw new Error('away');
        return 'secret';
      },
    });
    await assert.rejects(sealer.seal('text', ADA), /away/);
    away = false;
    assert.equal(await open(sealer, await sealer.seal('text', ADA)), 'text');
  });
});
