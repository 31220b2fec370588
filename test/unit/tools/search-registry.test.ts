import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { SEARCH_PROVIDER_NAMES } from '../../../src/config/search-providers.ts';

const root = new URL('../../../', import.meta.url);

describe('the registry of search providers', () => {
  it('has a module for every entry and an entry for every module', async () => {
    const files = await readdir(new URL('src/tools/web-search/providers/', root));
    assert.deepEqual(files.map((name) => name.replace(/\.ts$/, '')).sort(), [...SEARCH_PROVIDER_NAMES].sort());
    for (const name of SEARCH_PROVIDER_NAMES) {
      const code: object = await import(`../../../src/tools/web-search/providers/${name}.ts`);
      assert.deepEqual(Object.keys(code), ['createSearch'], name);
    }
  });

  it('is listed completely in docs/configuration.md', async () => {
    const text = await readFile(new URL('docs/configuration.md', root), 'utf8');
    for (const name of SEARCH_PROVIDER_NAMES) assert.match(text, new RegExp(`^\\| \`${name}\` `, 'm'));
  });
});
