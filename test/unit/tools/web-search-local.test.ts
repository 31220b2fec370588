import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import type { JsonObject } from '../../../src/base/json.ts';
import { createLocalSearch } from '../../../src/tools/web-search/local/local-search.ts';
import type { SearchProvider } from '../../../src/tools/web-search/search-provider.ts';
import { createWebSearchTool } from '../../../src/tools/web-search/web-search.ts';
import { eventually } from '../../support/eventually.ts';
import { callTool, searchResults } from '../../support/tool-calls.ts';

const FILES: Record<string, string> = {
  'scaling.md':
    '# Scaling out\n\nHow many instances do you need?\n\n## Redis\n\nWith Redis several instances share their runs. An abandoned run is taken over within six seconds.\n\n## Load balancers\n\nSet the idle timeout above the heartbeat interval.\n',
  'api/responses.md':
    '---\ntitle: "The Responses interface"\n---\n# Ignored heading\n\nA stream is resumed with `starting_after`; `max_tool_calls` bounds the tool calls of a run.\n',
  'page.html':
    '<html><head><title>Heat pumps &amp; homes</title><script>var secretword = 1;</script></head><body><nav>navigationword</nav><h1>Heat pumps</h1><p>A heat pump moves <b>warmth</b> from outside air into a house.</p></body></html>',
  'plain notes.txt': 'Shopping list\n\nBread, butter and saffron.',
  'zh/研究.md':
    '# 深度研究网关\n\n网关在服务器上运行深度研究，并把结果作为事件流发送给客户端。\n\n## 存储\n\n事件日志保存在数据库中。\n',
  'ja.md': '# 検索ツール\n\nこのツールは全文検索エンジンを使って文書を探します。東京タワーの高さは333メートルです。\n',
  'ko.md': '# 게이트웨이\n\n연구 실행은 서버에서 계속됩니다. 연결이 끊어져도 결과를 잃지 않습니다.\n',
  'th.md': '# เกตเวย์\n\nระบบค้นหาเอกสารทำงานบนเซิร์ฟเวอร์ของคุณเอง\n',
  'image.png': 'not a document saffron',
  '.hidden.md': '# hidden saffron',
  'node_modules/pkg/README.md': '# dependency saffron',
};

describe('web_search with the local provider', () => {
  let folder: string;
  let outside: string;
  let search: SearchProvider & Disposable;

  before(async () => {
    outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await writeFile(join(outside, 'private.md'), '# Private saffron');
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    for (const [path, text] of Object.entries(FILES)) await put(path, text);
    await symlink(join(outside, 'private.md'), join(folder, 'link.md'));
    await symlink(outside, join(folder, 'linked'));
    search = createLocalSearch({ folder });
  });
  after(async () => {
    search[Symbol.dispose]();
    await rm(folder, { recursive: true });
    await rm(outside, { recursive: true });
  });

  async function put(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }

  async function find(query: string, limit = 5) {
    const filters = { allowedDomains: [], blockedDomains: [] };
    const { signal } = new AbortController();
    return (await search.search({ text: query, limit, filters }, { signal })).hits;
  }

  const expected: [query: string, url: string][] = [
    ['How is an abandoned run taken over?', 'corpus:///scaling.md'],
    ['starting_after', 'corpus:///api/responses.md'],
    ['max_tool_calls', 'corpus:///api/responses.md'],
    ['resuming streams', 'corpus:///api/responses.md'],
    ['heat pump', 'corpus:///page.html'],
    ['SAFFRON', 'corpus:///plain%20notes.txt'],
    ['深度研究', 'corpus:///zh/%E7%A0%94%E7%A9%B6.md'],
    ['事件日志保存在哪里？', 'corpus:///zh/%E7%A0%94%E7%A9%B6.md'],
    ['库', 'corpus:///zh/%E7%A0%94%E7%A9%B6.md'],
    ['東京タワーの高さ', 'corpus:///ja.md'],
    ['全文検索', 'corpus:///ja.md'],
    ['연구 실행', 'corpus:///ko.md'],
    ['ค้นหาเอกสาร', 'corpus:///th.md'],
    ['深度研究 Redis', 'corpus:///zh/%E7%A0%94%E7%A9%B6.md'],
  ];
  for (const [query, url] of expected) {
    it(`finds the right document for ${query}`, async () => {
      assert.equal((await find(query))[0]?.url, url);
    });
  }

  it('takes titles from front matter, headings, <title> and file names', async () => {
    const titles = new Map(
      (await find('run heat saffron responses redis 検索', 20)).map(({ url, title }) => [url, title]),
    );
    assert.equal(titles.get('corpus:///api/responses.md'), 'The Responses interface');
    assert.equal(titles.get('corpus:///scaling.md'), 'Scaling out');
    assert.equal(titles.get('corpus:///page.html'), 'Heat pumps & homes');
    assert.equal(titles.get('corpus:///plain%20notes.txt'), 'plain notes');
  });

  it('shows the passage that answers the query, without markup', async () => {
    assert.match((await find('abandoned run'))[0]?.snippet ?? '', /taken over within six seconds/);
    assert.match((await find('warmth house'))[0]?.snippet ?? '', /A heat pump moves warmth from outside air/);
    assert.match((await find('东西 数据库'))[0]?.snippet ?? '', /事件日志保存在数据库中/);
  });

  it('leaves out scripts, navigation, hidden files, dependencies, other file types and links', async () => {
    assert.deepEqual(await find('secretword'), []);
    assert.deepEqual(await find('navigationword'), []);
    assert.deepEqual(
      (await find('saffron', 20)).map(({ url }) => url),
      ['corpus:///plain%20notes.txt'],
    );
  });

  it('follows new, changed and deleted files', async () => {
    assert.deepEqual(await find('zeppelin'), []);
    await put('late.md', '# Late\n\nA zeppelin arrives.');
    await eventually('the document', async () => (await find('zeppelin')).length === 1);
    await put('late.md', '# Late\n\nA submarine arrives.');
    await eventually(
      'the document',
      async () => (await find('zeppelin')).length === 0 && (await find('submarine')).length === 1,
    );
    await rm(join(folder, 'late.md'));
    await eventually('the document', async () => (await find('submarine')).length === 0);
  });

  it('prefers the document in which the words of a name are adjacent', async () => {
    const aside = 'Nothing more is known of it, and nobody has asked. '.repeat(6);
    await put(
      'names/apart.md',
      `# One\n\n${aside}Tarnfeld had a mill once, and a mill again: Tarnfeld liked it. ${aside}`,
    );
    await put(
      'names/whole.md',
      `# Two\n\n${aside}The offices of Tarnfeld Mill were moved when it had grown a lot. ${aside}`,
    );
    await eventually('the document', async () => (await find('Tarnfeld Mill')).length === 2);
    assert.equal((await find('Tarnfeld Mill'))[0]?.url, 'corpus:///names/whole.md');
    await rm(join(folder, 'names'), { recursive: true });
    await eventually('the document', async () => (await find('Tarnfeld')).length === 0);
  });

  it('survives any query', async () => {
    for (const query of [
      '"',
      'AND',
      'NEAR(a b)',
      'title:x',
      '*',
      'a*',
      '^b',
      '(',
      ')',
      '{x}',
      "'; DROP TABLE words",
      '-',
      '\0',
      '\ud800',
    ]) {
      await find(query);
    }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (query) => {
        await find(query);
      }),
      { numRuns: 300 },
    );
  });

  it('splits long documents into passages, but lists each document once', async () => {
    const filler = Array.from({ length: 400 }, (_, at) => `Paragraph ${at} speaks of weather and wine.`).join('\n\n');
    await put('long.md', `# Long\n\n${filler}\n\nThe quetzal is a bird.\n\n${filler}`);
    await put('oneline.txt', `${'lorem ipsum '.repeat(20_000)}axolotl ${'dolor sit '.repeat(20_000)}`);
    await eventually('the document', async () => (await find('quetzal')).length === 1);
    assert.match((await find('quetzal'))[0]?.snippet ?? '', /The quetzal is a bird\./);
    assert.equal((await find('weather wine paragraph', 20)).filter(({ url }) => url === 'corpus:///long.md').length, 1);
    const [hit] = await find('axolotl');
    assert.match(hit?.snippet ?? '', /axolotl/);
    assert.ok((hit?.snippet ?? '').length < 500);
  });

  it('returns the documented fields, merges queries and numbers sources', async () => {
    const tool = createWebSearchTool({ providers: [search], maxResults: 3 });
    const called = await callTool(tool, { queries: ['heat pump', 'warmth from air', 'redis instances'] });
    const results = searchResults(called);
    assert.equal(results[0]?.url, 'corpus:///page.html');
    assert.deepEqual(Object.keys(Object(called.result)), ['results']);
    assert.deepEqual(
      results.map(({ source_id }) => source_id),
      results.map((_, at) => at + 1),
    );
    assert.equal(new Set(results.map(({ url }) => url)).size, results.length);
    assert.ok(results.some(({ url }) => url === 'corpus:///scaling.md'));
    assert.ok(called.output.sources.every(({ kind }) => kind === 'listed'));
  });

  it('accepts one query as a string, and refuses missing and empty ones', async () => {
    const tool = createWebSearchTool({ providers: [search] });
    assert.equal(searchResults(await callTool(tool, { query: 'heat pump' }))[0]?.url, 'corpus:///page.html');
    assert.equal(searchResults(await callTool(tool, { queries: 'heat pump' }))[0]?.url, 'corpus:///page.html');
    const broken: JsonObject[] = [{}, { queries: [] }, { queries: [''] }, { queries: [1] }, { queries: null }];
    for (const args of broken) {
      await assert.rejects(callTool(tool, args), { code: 'invalid_arguments' });
    }
  });

  it('distinguishes an unreadable folder from one without results', async () => {
    using missing = createLocalSearch({ folder: join(folder, 'no such folder') });
    const tool = createWebSearchTool({ providers: [missing] });
    await assert.rejects(callTool(tool, { queries: ['x'] }), { code: 'search_failed', message: /cannot be read/ });
    const nothing = await callTool(createWebSearchTool({ providers: [search] }), { queries: ['xyzzyplugh'] });
    assert.deepEqual(searchResults(nothing), []);
    assert.match(String(nothing.result.note), /No results/);
  });

  it('reads texts in other encodings', async () => {
    const other = await mkdtemp(join(tmpdir(), 'corpus-'));
    await writeFile(join(other, 'latin.txt'), Buffer.from('Die Größe der Brücke beträgt zehn Meter.', 'latin1'));
    await writeFile(join(other, 'wide.txt'), Buffer.from('\ufeffA lighthouse on the reef.', 'utf16le'));
    using local = createLocalSearch({ folder: other });
    for (const text of ['Brücke', 'lighthouse']) {
      const filters = { allowedDomains: [], blockedDomains: [] };
      const { hits } = await local.search({ text, limit: 5, filters }, { signal: new AbortController().signal });
      assert.equal(hits.length, 1, text);
    }
    await rm(other, { recursive: true });
  });

  it('rejects with the abort reason of its caller', async () => {
    const aborted = AbortSignal.abort(new Error('cancelled'));
    await assert.rejects(
      callTool(createWebSearchTool({ providers: [search] }), { queries: ['x'] }, { signal: aborted }),
      /cancelled/,
    );
  });
});
