import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { JsonValue } from '../../../src/base/json.ts';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { PoliteHosts } from '../../../src/tools/fetch-url-content/polite-hosts.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { callTool } from '../../support/tool-calls.ts';
import { startWebServer } from '../../support/web-server.ts';

describe('fetch_url_content: politeness', () => {
  let safeFetch: SafeFetch;
  before(() => {
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
  });
  after(() => safeFetch[Symbol.asyncDispose]());

  it('requests at most two pages of a host at a time', async () => {
    const open = new Set<ServerResponse>();
    let highest = 0;
    let answered = 0;
    await using server = await startWebServer((_request, response) => {
      open.add(response);
      highest = Math.max(highest, open.size);
      // Answers only when no more requests arrive: then both slots are taken.
      setImmediate(() => {
        open.delete(response);
        answered += 1;
        response.writeHead(200, { 'content-type': 'text/plain' }).end('page');
      });
    });
    using tool = createFetchUrlContentTool({ safeFetch });
    await Promise.all(Array.from({ length: 10 }, (_, at) => callTool(tool, { url: `${server.origin}/${at}` })));
    assert.equal(answered, 10);
    assert.ok(highest <= 2, `${highest} at once`);
  });

  it('stays away from a host for as long as its Retry-After says', async () => {
    await using server = await startWebServer((_request, response) => {
      response.writeHead(429, { 'retry-after': '120' }).end();
    });
    using tool = createFetchUrlContentTool({ safeFetch });
    await assert.rejects(callTool(tool, { url: `${server.origin}/a` }), { code: 'rate_limited', message: /HTTP 429/ });
    await assert.rejects(callTool(tool, { url: `${server.origin}/b` }), { code: 'rate_limited', message: /for 120 s/ });
    assert.deepEqual(server.requests, ['/a']);
  });

  it('waits out a short Retry-After', async () => {
    let now = 0;
    const hosts = new PoliteHosts(() => now);
    hosts.pause('a.test', new Headers({ 'retry-after': '1' }));
    now = 990;
    assert.equal(
      await hosts.visit('a.test', async () => 'visited', { signal: new AbortController().signal }),
      'visited',
    );
    hosts.pause('a.test', new Headers({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }));
    const visit = hosts.visit('a.test', async () => 'visited', { signal: new AbortController().signal });
    await assert.rejects(visit, { code: 'rate_limited' });
    assert.equal(await hosts.visit('b.test', async () => 'other', { signal: new AbortController().signal }), 'other');
  });

  it('releases its slot when a visit fails or its caller leaves', async () => {
    const hosts = new PoliteHosts();
    const { signal } = new AbortController();
    const leaving = new AbortController();
    const { promise, resolve } = Promise.withResolvers<string>();
    const first = hosts.visit('a.test', () => promise, { signal });
    const second = hosts.visit('a.test', () => Promise.reject(new Error('failed')), { signal });
    const third = hosts.visit('a.test', () => promise, { signal });
    const fourth = hosts.visit('a.test', async () => 'four', { signal: leaving.signal });
    leaving.abort(new Error('left'));
    await assert.rejects(second, /failed/);
    await assert.rejects(fourth, /left/);
    resolve('done');
    assert.deepEqual(await Promise.all([first, third]), ['done', 'done']);
    assert.equal(await hosts.visit('a.test', async () => 'again', { signal }), 'again');
  });

  it('fetches a page once for all runs and parts, and does not cache failures', async () => {
    let broken = true;
    await using server = await startWebServer((request, response) => {
      if (request.url === '/broken' && broken) response.writeHead(500).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('line\n'.repeat(200));
    });
    const entries = new Map<string, JsonValue>();
    const store = {
      get: async (key: string) => entries.get(key),
      set: async (key: string, value: JsonValue) => entries.set(key, value),
    };
    for (let run = 0; run < 2; run++) {
      using tool = createFetchUrlContentTool({ safeFetch, partLength: 300, cache: { store, ttlMs: 1000 } });
      const { result } = await callTool(tool, { url: `${server.origin}/page` });
      const { result: next } = await callTool(tool, {
        url: `${server.origin}/page#part`,
        offset: Number(result.next_offset),
      });
      assert.match(String(next.content), /^line/);
    }
    assert.deepEqual(server.requests, ['/page']);
    using tool = createFetchUrlContentTool({ safeFetch, cache: { store, ttlMs: 1000 } });
    await assert.rejects(callTool(tool, { url: `${server.origin}/broken` }), { code: 'http_error' });
    broken = false;
    await callTool(tool, { url: `${server.origin}/broken` });
  });

  it('works although the cache is down or has invalid entries', async () => {
    await using server = await startWebServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('page');
    });
    const down = { get: () => Promise.reject(new Error('down')), set: () => Promise.reject(new Error('down')) };
    const odd = { get: async (): Promise<JsonValue> => ({ title: 1 }), set: async () => {} };
    for (const store of [down, odd]) {
      using tool = createFetchUrlContentTool({ safeFetch, cache: { store, ttlMs: 1000 } });
      assert.equal((await callTool(tool, { url: server.origin })).result.content, 'page');
    }
  });

  it('sends a User-Agent that names the gateway', async () => {
    let agent = '';
    await using server = await startWebServer((request, response) => {
      agent = request.headers['user-agent'] ?? '';
      response.writeHead(200, { 'content-type': 'text/plain' }).end('page');
    });
    using tool = createFetchUrlContentTool({ safeFetch });
    await callTool(tool, { url: server.origin });
    assert.match(agent, /^research-gateway\/\d/);
  });
});
