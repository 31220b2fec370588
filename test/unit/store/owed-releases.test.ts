import assert from 'node:assert/strict';
import { type OwedRelease, OwedReleases } from '../../../src/store/redis/owed-releases.ts';

const owedBy = (id: string): OwedRelease => ({ holder: { key: 'ann', id }, releases: [] });

describe('what is owed to Redis', () => {
  it('is repeated once, in order; behind a failure the rest waits for the next time', async () => {
    const repeated: string[] = [];
    let away = 'b';
    const owed = new OwedReleases(async ({ holder: { id } }) => {
      if (id === away) throw new Error('away');
      repeated.push(id);
    });
    for (const id of ['a', 'b', 'c']) owed.add(owedBy(id));
    await owed.repeatAll();
    assert.deepEqual(repeated, ['a']);
    away = '';
    await Promise.all([owed.repeatAll(), owed.repeatAll()]);
    await owed.repeatAll();
    assert.deepEqual(repeated, ['a', 'b', 'c']);
  });

  it('forgets the oldest above 10 000', async () => {
    const repeated: string[] = [];
    const owed = new OwedReleases(async ({ holder: { id } }) => void repeated.push(id));
    for (let n = 0; n < 10_002; n++) owed.add(owedBy(`${n}`));
    await owed.repeatAll();
    assert.deepEqual([repeated[0], repeated.length], ['2', 10_000]);
  });
});
