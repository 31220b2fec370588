import assert from 'node:assert/strict';
import { Keyv } from 'keyv';
import { createLogger, silentLogger } from '../../../src/base/logger.ts';
import { keyvCache, memoryCaches } from '../../../src/store/cache.ts';
import { eventually } from '../../support/eventually.ts';

const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);
const options = { namespace: 'pages', parse: asText };
const MINUTE_MS = 60_000;

describe('an in-memory cache', () => {
  it('returns what was set, apart from other namespaces', async () => {
    const caches = memoryCaches({ log: silentLogger });
    const pages = caches.open(options);
    const searches = caches.open({ ...options, namespace: 'searches' });
    await pages.set('key', 'ünï \u{1f600}', MINUTE_MS);
    assert.equal(await pages.get('key'), 'ünï \u{1f600}');
    assert.equal(await searches.get('key'), undefined);
  });

  it('forgets an entry after its time to live', async () => {
    const cache = memoryCaches({ log: silentLogger }).open(options);
    await cache.set('short', 'x', 1);
    await cache.set('long', 'x', MINUTE_MS);
    await eventually('the end of its time', async () => (await cache.get('short')) === undefined || undefined);
    assert.equal(await cache.get('long'), 'x');
  });

  it('treats a value of another shape as a miss', async () => {
    const cache = memoryCaches({ log: silentLogger }).open<unknown>({ ...options, parse: asText });
    await cache.set('key', { not: 'text' }, MINUTE_MS);
    assert.equal(await cache.get('key'), undefined);
  });

  it('stays within its limit by evicting the least recently used, and refuses larger values', async () => {
    const cache = memoryCaches({ log: silentLogger }).open({ ...options, maxBytes: 10_000 });
    await cache.set('used', 'again and again', MINUTE_MS);
    for (let n = 0; n < 100; n++) {
      await cache.set(`${n}`, 'x'.repeat(200), MINUTE_MS);
      assert.equal(await cache.get('used'), 'again and again');
    }
    assert.equal(await cache.get('0'), undefined);
    assert.equal(await cache.get('99'), 'x'.repeat(200));
    await cache.set('huge', 'x'.repeat(20_000), MINUTE_MS);
    assert.equal(await cache.get('huge'), undefined);
  });
});

describe('a cache whose backend fails', () => {
  const broken = (answer: () => Promise<never>) => {
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    const store = { get: answer, set: answer, delete: answer, clear: answer, opts: {}, on: () => {} };
    return { cache: keyvCache(new Keyv({ store, throwOnErrors: true }), { ...options, log }), lines };
  };

  it('misses and logs a line, but never fails a request', async () => {
    const { cache, lines } = broken(() => Promise.reject(new Error('backend is away')));
    await cache.set('key', 'x', MINUTE_MS);
    assert.equal(await cache.get('key'), undefined);
    assert.equal(lines.length, 2);
    assert.match(lines.join(), /pages.*backend is away/);
  });

  it('gives up on a backend that does not answer', async () => {
    const { cache, lines } = broken(() => new Promise(() => {}));
    assert.equal(await cache.get('key'), undefined);
    assert.match(lines.join(), /took longer/);
  });
});
