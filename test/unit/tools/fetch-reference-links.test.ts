import assert from 'node:assert/strict';
import { z } from 'zod';
import type { JsonObject } from '../../../src/base/json.ts';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { numberPageLinks } from '../../../src/tools/fetch-url-content/reading/reference-links.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { callTool } from '../../support/tool-calls.ts';
import { servePages, startWebServer, type WebServer } from '../../support/web-server.ts';

const FILLER = 'Words of a long page that say little. '.repeat(400);
const TRACKING = `?utm_source=${'x'.repeat(300)}`;

const paragraph = (at: number) =>
  `<p>Station ${at} lies at the coast of district ${at % 7}, and its tidal range was measured in the year ${1900 + (at % 90)}.
  See <a href="/stations/${at}${TRACKING}">the record of station ${at}</a> and <a href="/index">the index</a>.</p>`;
const article = (count: number) =>
  `<html><head><title>Stations</title></head><body><main><h1>Stations</h1>${Array.from({ length: count }, (_, at) => paragraph(at)).join('')}</main></body></html>`;

const result = z.object({
  content: z.string(),
  links: z.record(z.string(), z.string()).optional(),
  links_left_out: z.number().optional(),
  next_offset: z.number().optional(),
  total_length: z.number().optional(),
  matches: z.array(z.object({ offset: z.number(), length: z.number() })).optional(),
});

describe('fetch_url_content: links of long pages', () => {
  let server: WebServer;
  let safeFetch: SafeFetch;
  let tool: Tool & Disposable;
  const read = async (path: string, rest: JsonObject = {}) =>
    result.parse((await callTool(tool, { url: `${server.origin}${path}`, ...rest })).result);

  before(async () => {
    const html = (body: string) => ({ type: 'text/html', body });
    server = await startWebServer(
      servePages({
        '/short': html(article(3)),
        '/long': html(article(200)),
        '/notes.md': { type: 'text/markdown', body: `${FILLER}\n\n[a](https://example.org/a)` },
      }),
    );
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
    tool = createFetchUrlContentTool({ safeFetch });
  });
  after(async () => {
    tool[Symbol.dispose]();
    await safeFetch[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('stay inline on short pages and in Markdown files', async () => {
    const short = await read('/short');
    assert.ok(short.content.includes(`[the index](${server.origin}/index)`), short.content);
    assert.equal(short.links, undefined);
    assert.match((await read('/notes.md')).content, /\[a\]\(https:\/\/example\.org\/a\)$/);
  });

  it('are numbered, with their addresses beside each part, and the parts join to the whole text', async () => {
    let text = '';
    const addresses: Record<string, string> = {};
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part: z.output<typeof result> = await read('/long', { offset });
      const links = part.links ?? {};
      const listed = Object.entries(links).reduce((sum, [label, address]) => sum + label.length + address.length, 0);
      assert.ok(part.content.length + listed <= 24_000);
      assert.ok(part.content.length >= 24_000 * 0.6 || part.next_offset === undefined, 'the text has most of a part');
      for (const label of Object.keys(links)) assert.ok(part.content.includes(`][${label}]`));
      const used = new Set(part.content.match(/\]\[L\d+\]/g));
      assert.equal(Object.keys(links).length + (part.links_left_out ?? 0), used.size);
      text += part.content;
      Object.assign(addresses, links);
      offset = part.next_offset;
      if (offset !== undefined) assert.equal(offset, text.length);
      else assert.equal(part.total_length, text.length);
    }
    assert.doesNotMatch(text, /\]\(http/);
    assert.equal(new Set(text.match(/the index\]\[L\d+\]/g)).size, 1, 'one address has one number');
    assert.match(text, /\[the record of station 199\]\[L201\]/);
    assert.ok(text.length < 200 * 250);
    assert.equal(addresses.L2, `${server.origin}/index`);
  });

  it('are found with their addresses by words and by labels, at offsets to read on from', async () => {
    const [word, label] = [await read('/long', { find: 'Station 150 lies' }), await read('/long', { find: '[L152]' })];
    const address = `${server.origin}/stations/150${TRACKING}`;
    for (const found of [word, label]) {
      assert.match(found.content, /\[the record of station 150\]\[L152\]/);
      assert.equal(found.links?.L152, address);
      const there = await read('/long', { offset: found.matches?.[0]?.offset ?? 0 });
      assert.ok(there.content.slice(0, 1000).includes('Station 150 lies'));
      assert.equal(found.content.includes(there.content.slice(0, 200)), true);
    }
  });

  it('stay inline once the numbered addresses exceed their limit', () => {
    const base = `https://example.org/${'b'.repeat(1900)}`;
    const text = Array.from({ length: 3000 }, (_, at) => `[a](${base}${at})`).join('\n');
    const { content, links = [] } = numberPageLinks(text);
    assert.ok(links.join('').length <= 2_000_000 && links.length > 1000, `${links.length}`);
    assert.ok(content.endsWith(`[a](${base}2999)`));
  });

  it('are numbered behind code in lists and quotations, and after code of several backticks, but not in it', () => {
    const code = (mark: string) => {
      const blank = mark === '> ' ? mark : ' '.repeat(mark.length);
      return [`${mark}\`\`\`js`, `${blank}f [x](https://example.org/x)`, `${blank}\`\`\``];
    };
    const unchanged = [
      ...code('- '),
      ...code('12. '),
      ...code('> '),
      ...code('> - '),
      '``` a `` [b](https://b.org) ```',
    ];
    const text = [FILLER, ...unchanged, '[y](https://example.org/y)'].join('\n');
    const { content, links } = numberPageLinks(text);
    assert.equal(content, [FILLER, ...unchanged, '[y][L1]'].join('\n'));
    assert.deepEqual(links, ['https://example.org/y']);
  });

  it('are numbered even with parentheses in the address, but not in code or if relative or unfinished', () => {
    const url = 'https://example.org/wiki/Tide_(sea)';
    const lines = [
      FILLER,
      `[Tide](${url}) and [again](${url}), [odd](<https://example.org/a(b>)`,
      '![a picture](https://example.org/p.png)',
      '`[x](https://example.org/x)` but [y](https://example.org/y) after ` one',
      '```md',
      '[z](https://example.org/z)',
      '```',
      'f[0](1) and [w](relative) and [v](https://example.org/open',
    ];
    const { content, links } = numberPageLinks(lines.join('\n'));
    assert.deepEqual(content.split('\n').slice(1), [
      '[Tide][L1] and [again][L1], [odd][L2]',
      '![a picture][L3]',
      '`[x](https://example.org/x)` but [y][L4] after ` one',
      ...lines.slice(4),
    ]);
    assert.deepEqual(links, [url, 'https://example.org/a(b', 'https://example.org/p.png', 'https://example.org/y']);
  });
});
