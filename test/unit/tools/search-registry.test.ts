import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { SEARCH_PROVIDER_NAMES } from '../../../src/config/search-providers.ts';
import { createSearchProvider } from '../../../src/tools/web-search/create-provider.ts';

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

  it('loads the code of a provider again that could not be loaded', async () => {
    const module = new URL('src/tools/web-search/create-provider.ts', root).href;
    const script = `
      import { registerHooks } from 'node:module';
      import { createSearchProvider } from ${JSON.stringify(module)};
      let failures = 1;
      const load = (url, context, next) => {
        if (url.endsWith('/kagi.ts') && failures-- > 0) throw new Error('EMFILE');
        return next(url, context);
      };
      registerHooks({ load });
      const fetch = async () => Response.json({ data: { search: [] } });
      const provider = createSearchProvider({ provider: 'kagi', api_key: 'k' }, { fetch });
      const query = { text: 'x', limit: 1, filters: { allowedDomains: [], blockedDomains: [] } };
      const search = () => provider.search(query, { signal: new AbortController().signal });
      console.log(JSON.stringify([await search().catch(({ message }) => message), await search()]));`;
    const node = [process.execPath, ['--input-type=module-typescript', '-e', script]] as const;
    const { stdout } = await promisify(execFile)(...node);
    assert.deepEqual(JSON.parse(stdout), ['EMFILE', { hits: [] }]);
  });

  it('has the time that the first search of a large folder waits for its index', async () => {
    const fetch = async () => Response.json({});
    await using local = createSearchProvider({ provider: 'local', folder: 'docs' }, { fetch });
    assert.ok((local.timeoutMs ?? 0) > 15_000);
    await using service = createSearchProvider({ provider: 'kagi', api_key: 'k' }, { fetch });
    assert.equal(service.timeoutMs, undefined);
  });

  it('is listed completely in docs/configuration.md', async () => {
    const text = await readFile(new URL('docs/configuration.md', root), 'utf8');
    for (const name of SEARCH_PROVIDER_NAMES) assert.match(text, new RegExp(`^\\| \`${name}\` `, 'm'));
  });
});
