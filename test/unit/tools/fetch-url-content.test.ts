import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { createLocalSearch } from '../../../src/tools/web-search/local/local-search.ts';
import { callTool } from '../../support/tool-calls.ts';
import { servePages, startWebServer, type WebServer } from '../../support/web-server.ts';

const ARTICLE = `<!doctype html><html lang="en"><head><title>Tides of the North Sea | Coastal News</title>
<meta name="author" content="Ada Marsh"><meta property="article:published_time" content="2024-03-05T08:00:00Z"></head>
<body><nav><a href="/">Home</a><a href="/about">About</a></nav>
<main><h1>Tides of the North Sea</h1><p>The tidal range at the northern coast is 3–5 m, while the southern bight sees
only 1.5 m. See the <a href="data/ranges.html">table of ranges</a> for all stations, and the notes on storms.</p>
<table><tr><th>Station</th><th>Range</th></tr><tr><td>Wick</td><td>2.8 m</td></tr></table></main>
<footer>Copyright Coastal News</footer></body></html>`;

const LONG = Array.from({ length: 3000 }, (_, at) => `Line ${at} of a long text. 🌊`).join('\n');

describe('fetch_url_content', () => {
  let folder: string;
  let server: WebServer;
  let safeFetch: SafeFetch;
  let tool: Tool & Disposable;
  let outside: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    await mkdir(join(folder, 'sub dir'));
    await writeFile(join(folder, 'sub dir', 'größe.md'), '# Size matters\n\nTen metres.');
    await writeFile(join(folder, 'page.html'), ARTICLE);
    await writeFile(join(folder, '.secret.md'), 'hidden');
    await writeFile(join(folder, 'config.yaml'), 'secret: x');
    await symlink('/etc/hostname', join(folder, 'link.md'));
    outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await writeFile(join(outside, 'private.md'), 'private');
    await symlink(outside, join(folder, 'linked'));
    server = await startWebServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/article' }).end();
      else if (request.url === '/forbidden') response.writeHead(403).end('no');
      else if (request.url === '/broken') response.writeHead(500).end('no');
      else pages(request, response);
    });
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
    tool = createFetchUrlContentTool({ safeFetch, corpusFolder: folder });
  });
  after(async () => {
    tool[Symbol.dispose]();
    await safeFetch[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    await rm(outside, { recursive: true });
  });

  const pages = servePages({
    '/article': { type: 'text/html; charset=utf-8', body: ARTICLE },
    '/turkish.txt': { type: 'text/plain; charset=utf-8', body: 'Başkent Ankara, en büyük şehir İstanbul.' },
    '/huge.txt': { type: 'text/plain', body: 'A line about zebras.\n'.repeat(400_000) },
    '/waves.txt': { type: 'text/plain; charset=utf-8', body: `${'🌊'.repeat(400)}needle${'🌊'.repeat(400)}` },
    '/wavesx.txt': { type: 'text/plain; charset=utf-8', body: `x${'🌊'.repeat(400)}needle.${'🌊'.repeat(400)}` },
    '/long.txt': { type: 'text/plain', body: LONG },
    '/hidden.txt': { type: 'text/plain', body: `${LONG}\nThe submarine cable to the island broke.\n${LONG}` },
    '/app': {
      type: 'text/html',
      body: '<html><body><div id="root"></div><script src="/app.js"></script></body></html>',
    },
    '/data.json': { type: 'application/json', body: '{"id": 12345678901234567890}' },
    '/table.csv': { type: 'text/csv', body: 'name;note\r\n"Smith; J.";"said ""no""\nand left"\r\nLee;a|b\r\n' },
    '/image': { type: 'image/png', body: Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]) },
    '/zip': { type: 'text/html', body: Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0]) },
    '/feed': {
      type: 'application/rss+xml',
      body: '<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour log</title><item><title>Ship &amp; crew</title><link>/ships/1</link><pubDate>Mon, 04 Mar 2024 10:00:00 GMT</pubDate><description><![CDATA[<p>The <b>ship</b> came in.</p>]]></description></item></channel></rss>',
    },
  });

  const read = async (url: string, rest: JsonObject = {}) => (await callTool(tool, { url, ...rest })).result;

  it('returns the documented fields, with links, tables and no navigation', async () => {
    const { result, output } = await callTool(tool, { url: `${server.origin}/article`, goal: 'tidal range' });
    assert.equal(result.url, `${server.origin}/article`);
    assert.equal(result.title, 'Tides of the North Sea');
    assert.equal(result.source_id, 1);
    assert.equal(result.truncated, false);
    assert.equal(result.author, 'Ada Marsh');
    assert.equal(result.published, '2024-03-05T08:00:00Z');
    const content = String(result.content);
    assert.match(content, /tidal range at the northern coast is 3–5 m/);
    assert.ok(content.includes(`[table of ranges](${server.origin}/data/ranges.html)`), content);
    assert.match(content, /\| Station \| Range \|\n\| --- \| --- \|\n\| Wick \| 2.8 m \|/);
    assert.doesNotMatch(content, /About|Copyright/);
    assert.deepEqual(
      output.sources.map(({ kind }) => kind),
      ['read'],
    );
  });

  it('reports where a redirect led, beside the requested URL', async () => {
    const result = await read(`${server.origin}/moved`);
    assert.equal(result.url, `${server.origin}/moved`);
    assert.equal(result.final_url, `${server.origin}/article`);
  });

  it('reads corpus documents by the URLs that the search returns', async () => {
    const result = await read('corpus:///sub%20dir/gr%C3%B6%C3%9Fe.md');
    assert.deepEqual([result.title, result.content], ['Size matters', '# Size matters\n\nTen metres.']);
    assert.equal((await read('corpus:///page.html')).title, 'Tides of the North Sea');
    assert.equal((await read('corpus:///page.html#part')).title, 'Tides of the North Sea');
  });

  for (const path of [
    '../etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    'sub%20dir/../../x.md',
    'sub%20dir/%2e%2e/page.html',
    '%2e%2e/x.md',
    '/etc/passwd',
    '..\\x.md',
    'link.md',
    'linked/private.md',
    '.secret.md',
    'config.yaml',
    'page.html%00.md',
    'page.html/',
    'sub%20dir',
    '%ff.md',
    '',
    'no such.md',
  ]) {
    it(`answers not_found for the corpus path ${JSON.stringify(path)}`, async () => {
      await assert.rejects(read(`corpus:///${path}`), { code: 'not_found' });
    });
  }

  it('is not blocked by a pipe or a device in the corpus', async () => {
    await promisify(execFile)('mkfifo', [join(folder, 'pipe.md'), join(folder, 'sub dir', 'pipe.txt')]);
    await symlink('/dev/zero', join(folder, 'zero.txt'));
    for (const path of ['pipe.md', 'sub%20dir/pipe.txt', 'zero.txt']) {
      await assert.rejects(read(`corpus:///${path}`), { code: 'not_found' });
    }
    using search = createLocalSearch({ folder });
    const query = { text: 'metres', limit: 5, filters: { allowedDomains: [], blockedDomains: [] } };
    const { hits } = await search.search(query, { signal: new AbortController().signal });
    assert.deepEqual(
      hits.map(({ url }) => url),
      ['corpus:///sub%20dir/gr%C3%B6%C3%9Fe.md'],
    );
  });

  it('does not serve a cached page of a host or address that is now denied', async () => {
    const kept = new Map<string, JsonValue>();
    const store = {
      get: async (key: string) => kept.get(key),
      set: async (key: string, value: JsonValue) => kept.set(key, value),
    };
    const cache = { store, ttlMs: 60_000 };
    const url = `${server.origin}/moved`;
    using open = createFetchUrlContentTool({ safeFetch, cache });
    const asked = () => server.requests.filter((path) => path === '/moved').length;
    const before = asked();
    await callTool(open, { url });
    await callTool(open, { url });
    assert.equal(asked(), before + 1);
    await using denying = createSafeFetch({ allowPrivateAddresses: true, denyHosts: ['127.0.0.1'] });
    using closed = createFetchUrlContentTool({ safeFetch: denying, cache });
    await assert.rejects(callTool(closed, { url }), { code: 'blocked_host' });
    await using listing = createSafeFetch();
    using outside = createFetchUrlContentTool({ safeFetch: listing, cache });
    await assert.rejects(callTool(outside, { url }), { code: 'blocked_address' });
  });

  it('returns long documents in parts that join to the whole', async () => {
    let text = '';
    let offset = 0;
    for (let part = 0; part < 50; part++) {
      const result = await read(`${server.origin}/long.txt`, { offset });
      const content = String(result.content);
      assert.ok(content.length <= 24_000);
      assert.doesNotMatch(content, /[\ud800-\udbff]$|^[\udc00-\udfff]/);
      text += content;
      if (!result.truncated) break;
      assert.equal(result.total_length, LONG.length);
      offset = Number(result.next_offset);
    }
    assert.equal(text, LONG);
    await assert.rejects(read(`${server.origin}/long.txt`, { offset: LONG.length }), { code: 'invalid_arguments' });
  });

  it('points to the passage of a long document that matches the goal', async () => {
    const result = await read(`${server.origin}/hidden.txt`, { goal: 'Which submarine cable broke?' });
    assert.equal(result.truncated, true);
    const [passage] = Array.isArray(result.more_on_goal) ? result.more_on_goal : [];
    assert.ok(typeof passage === 'object' && passage !== null && !Array.isArray(passage));
    assert.match(String(passage.text), /The submarine cable to the island broke/);
    const there = await read(`${server.origin}/hidden.txt`, { offset: Number(passage.offset) });
    assert.match(String(there.content), /The submarine cable to the island broke/);
    assert.equal((await read(`${server.origin}/hidden.txt`, { goal: 'zebras elsewhere' })).more_on_goal, undefined);
    assert.equal((await read(`${server.origin}/article`, { goal: 'tidal range' })).more_on_goal, undefined);
  });

  it('finds a phrase, or words close together, anywhere in a long document', async () => {
    const url = `${server.origin}/hidden.txt`;
    const found = await read(url, { find: 'Submarine cable' });
    const [match] = z.array(z.object({ offset: z.number() })).parse(found.matches);
    assert.ok(match && match.offset > 24_000);
    assert.match(String(found.content), /^\[offset \d+\]\n[\s\S]*The submarine cable to the island broke\./);
    const around = await read(url, { offset: match.offset });
    assert.match(String(around.content).slice(0, 1000), /submarine cable/);
    const words = await read(url, { find: 'which island had the cable that broke?' });
    assert.match(String(words.content), /The submarine cable to the island broke/);
    const none = await read(url, { find: 'elephants' });
    assert.deepEqual([none.content, none.matches], ['', []]);
    assert.match(String(none.note), /None of these words/);
  });

  it('finds words in any case beside a dotted capital I', async () => {
    const found = await read(`${server.origin}/turkish.txt`, { find: 'ankara' });
    assert.match(String(found.content), /Ankara/);
    assert.equal((await read(`${server.origin}/turkish.txt`, { find: 'İstanbul' })).note, undefined);
  });

  it('says that words were looked for only in the part that was read', async () => {
    const found = await read(`${server.origin}/huge.txt`, { find: 'elephants' });
    assert.match(String(found.note), /only its first .* None of these words/s);
  });

  it('cuts no character in half', async () => {
    for (const text of ['', 'x']) {
      const url = `${server.origin}/waves${text}.txt`;
      const output = await callTool(tool, { url, find: 'needle' });
      assert.ok(JSON.stringify(output.result).isWellFormed());
      for (const source of [...output.output.sources, ...(await callTool(tool, { url })).output.sources])
        assert.ok(source.snippet.isWellFormed(), url);
      assert.ok(String(output.result.content).isWellFormed(), url);
    }
  });

  it('says so if a page has no text', async () => {
    const result = await read(`${server.origin}/app`);
    assert.equal(result.content, '');
    assert.match(String(result.note), /no text/);
  });

  it('keeps every digit of JSON', async () => {
    assert.equal((await read(`${server.origin}/data.json`)).content, 'id: 12345678901234567890');
  });

  it('turns CSV into a table and a feed into a list', async () => {
    assert.equal(
      (await read(`${server.origin}/table.csv`)).content,
      '| name | note |\n| --- | --- |\n| Smith; J. | said "no" and left |\n| Lee | a\\|b |',
    );
    const feed = await read(`${server.origin}/feed`);
    assert.equal(feed.title, 'Harbour log');
    assert.equal(
      feed.content,
      `# Harbour log\n\n## [Ship & crew](${server.origin}/ships/1)\n\nMon, 04 Mar 2024 10:00:00 GMT\n\nThe **ship** came in.`,
    );
  });

  const failures: [path: string, code: string][] = [
    ['/nothing', 'not_found'],
    ['/forbidden', 'forbidden'],
    ['/broken', 'http_error'],
    ['/image', 'unsupported_content'],
    ['/zip', 'unsupported_content'],
  ];
  for (const [path, code] of failures) {
    it(`answers ${code} for ${path}`, async () => {
      await assert.rejects(read(server.origin + path), { code });
    });
  }

  it('names the missing or wrong argument', async () => {
    const broken: [JsonObject, RegExp][] = [
      [{}, /url/],
      [{ url: '' }, /url/],
      [{ url: 5 }, /url/],
      [{ url: 'corpus:///page.html', offset: -1 }, /offset/],
      [{ url: 'corpus:///page.html', offset: 'x' }, /offset/],
    ];
    for (const [args, message] of broken) {
      await assert.rejects(callTool(tool, args), { code: 'invalid_arguments', message });
    }
    await assert.rejects(read('file:///etc/passwd'), { code: 'invalid_url' });
    await assert.rejects(read('http://'), { code: 'invalid_url' });
  });

  it('rejects with the abort reason of its caller', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));
    await assert.rejects(callTool(tool, { url: `${server.origin}/article` }, { signal }), /cancelled/);
  });
});
