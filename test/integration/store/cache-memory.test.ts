import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { memoryCaches } from '../../../src/store/cache.ts';
import { collectAll } from '../../support/collect-garbage.ts';

const MINUTE_MS = 60_000;

describe('an in-memory cache', () => {
  it('stores pages as UTF-8, as one non-Latin character doubles the memory of a string', async () => {
    const cache = memoryCaches({ log: silentLogger }).open({
      namespace: 'pages',
      parse: (value) => (typeof value === 'string' ? value : undefined),
    });
    const pageOf = (n: number) => `${n} “${'page '.repeat(20_000)}”`;
    await cache.set('first', pageOf(0), MINUTE_MS);
    collectAll();
    const before = process.memoryUsage().heapUsed;
    for (let n = 1; n <= 60; n++) await cache.set(`${n}`, pageOf(n), MINUTE_MS);
    collectAll();
    assert.ok(process.memoryUsage().heapUsed - before < 1e6);
    assert.equal(await cache.get('1'), pageOf(1));
    assert.equal(await cache.get('60'), pageOf(60));
  });
});
