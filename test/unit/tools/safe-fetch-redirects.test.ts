import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { createSafeFetch, type SafeFetch, type SafeFetchOptions } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

/** The stand-in for a public site: the one loopback address that these tests open. */
const PUBLIC = '127.0.0.2';

describe('safe fetch: redirects', () => {
  let site: WebServer;
  let inside: WebServer;
  let dns: DnsServer;
  let safe: SafeFetch;
  let targets: Record<string, string>;
  const seen: { method: string; headers: IncomingHttpHeaders; body: string }[] = [];

  const options = (): SafeFetchOptions => ({ allowAddresses: [PUBLIC], resolve: dns.resolve });

  before(async () => {
    inside = await startWebServer((_request, response) => response.end('secret'));
    dns = await startDnsServer(({ name, type }) => {
      if (type === 'AAAA') return [];
      if (name === 'public.test') return [PUBLIC];
      if (name === 'inside.test') return ['127.0.0.1'];
      if (name.endsWith('.internal')) return ['169.254.169.254'];
      if (name === 'both.test') return [PUBLIC, '127.0.0.1'];
      return [];
    });
    site = await startWebServer(async (request, response) => {
      seen.push({ method: request.method ?? '', headers: request.headers, body: await text(request) });
      const url = new URL(request.url ?? '/', 'http://site');
      const status = Number(url.searchParams.get('status') ?? 302);
      const to = url.searchParams.get('to') ?? targets[url.pathname];
      if (to === undefined) response.end('the page');
      else response.writeHead(status, { location: to }).end();
    }, PUBLIC);
    targets = {
      '/a': '/b',
      '/b': '/c',
      '/c': '/final',
      '/loop': '/loop',
    };
    safe = createSafeFetch(options());
  });
  after(async () => {
    await safe[Symbol.asyncDispose]();
    for (const opened of [site, inside, dns]) await opened[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    seen.length = 0;
  });

  const chains: Record<string, () => string> = {
    'to loopback': () => `http://127.0.0.1:${inside.port}/`,
    'to loopback as one number': () => `http://2130706433:${inside.port}/`,
    'to loopback without a scheme': () => `//127.0.0.1:${inside.port}/`,
    'to loopback as IPv6': () => `http://[::ffff:7f00:1]:${inside.port}/`,
    'to a name that resolves to loopback': () => `http://inside.test:${inside.port}/`,
    'to a name with one public and one internal address': () => `http://both.test:${inside.port}/`,
    'to the metadata service': () => 'http://169.254.169.254/latest/meta-data/',
    'to a private address': () => 'http://192.168.0.1/',
    'to a local name': () => 'http://metadata.google.internal/',
    'to a file': () => 'file:///etc/passwd',
    'to another scheme': () => `gopher://127.0.0.1:${inside.port}/_x`,
    'with a user name': () => `http://public.test@127.0.0.1:${inside.port}/`,
    'via an allowed second hop': () => `/?to=${encodeURIComponent(`http://127.0.0.1:${inside.port}/`)}`,
    'via three allowed hops': () => {
      const last = encodeURIComponent(`http://127.0.0.1:${inside.port}/`);
      return `/?to=${encodeURIComponent(`/?to=${encodeURIComponent(`/?to=${last}`)}`)}`;
    },
  };

  for (const [name, target] of Object.entries(chains)) {
    for (const status of [302, 307]) {
      it(`refuses a ${status} ${name}`, async () => {
        const url = `http://public.test:${site.port}/?status=${status}&to=${encodeURIComponent(target())}`;
        await assert.rejects(safe.fetch(url), (error: Error & { code?: string }) =>
          ['blocked_address', 'blocked_host', 'invalid_url'].includes(error.code ?? ''),
        );
        assert.ok(seen.length > 0, 'the first hop was asked');
        assert.equal(inside.connections(), 0);
      });
    }
  }

  it('follows allowed redirects and reports the final URL', async () => {
    const answer = await safe.fetch(`http://public.test:${site.port}/a`);
    assert.equal(await answer.text(), 'the page');
    assert.equal(answer.url, `http://public.test:${site.port}/final`);
    assert.equal(answer.redirected, true);
  });

  it('gives up on endless redirects', async () => {
    await assert.rejects(safe.fetch(`http://public.test:${site.port}/loop`), { code: 'bad_redirect' });
    assert.equal(seen.length, 6);
  });

  it('does not follow redirects with redirect: manual or error', async () => {
    const url = `http://public.test:${site.port}/a`;
    assert.equal((await safe.fetch(url, { redirect: 'manual' })).status, 302);
    await assert.rejects(safe.fetch(url, { redirect: 'error' }), { code: 'bad_redirect' });
  });

  it('sends no credentials to another origin, but keeps them on the same one', async () => {
    const credentials = { authorization: 'Bearer canary', 'x-api-key': 'canary', cookie: 'a=canary' };
    const headers = { ...credentials, 'x-workspace': 'canary', 'ocp-apim-subscription': 'canary', accept: 'text/html' };
    const other = encodeURIComponent(`http://${PUBLIC}:${site.port}/final`);
    await safe.fetch(`http://public.test:${site.port}/?to=${other}`, { headers });
    assert.equal(seen[1]?.headers.accept, 'text/html');
    assert.ok(!JSON.stringify(seen[1]?.headers).includes('canary'));
    seen.length = 0;
    await safe.fetch(`http://public.test:${site.port}/c`, { headers });
    assert.equal(seen[1]?.headers.authorization, 'Bearer canary');
  });

  it('repeats the body of a POST after a 307 and drops it after a 302', async () => {
    const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } };
    await safe.fetch(`http://public.test:${site.port}/?status=307&to=/final`, post);
    assert.deepEqual([seen[1]?.method, seen[1]?.body], ['POST', '{"a":1}']);
    seen.length = 0;
    await safe.fetch(`http://public.test:${site.port}/?status=302&to=/final`, post);
    assert.deepEqual([seen[1]?.method, seen[1]?.body, seen[1]?.headers['content-type']], ['GET', '', undefined]);
  });

  it('connects to the address it checked, so a rebinding name reaches nothing internal', async () => {
    let asked = 0;
    await using rebinding = await startDnsServer(({ type }) => {
      if (type === 'AAAA') return [];
      asked += 1;
      return [asked === 1 ? PUBLIC : '127.0.0.1'];
    });
    await using victim = createSafeFetch({ allowAddresses: [PUBLIC], resolve: rebinding.resolve });
    const first = await victim.fetch(`http://rebind.test:${site.port}/final`, { headers: { connection: 'close' } });
    assert.equal(await first.text(), 'the page');
    await assert.rejects(victim.fetch(`http://rebind.test:${inside.port}/`), { code: 'blocked_address' });
    assert.ok(asked >= 2);
    assert.equal(inside.connections(), 0);
  });

  it('resolves a name once per connection, leaving no gap between check and use', async () => {
    await using counting = await startDnsServer(({ type }) => (type === 'A' ? [PUBLIC] : []));
    await using once = createSafeFetch({ allowAddresses: [PUBLIC], resolve: counting.resolve });
    await (await once.fetch(`http://counted.test:${site.port}/final`)).text();
    assert.equal(counting.questions.filter(({ type }) => type === 'A').length, 1);
  });

  it('refuses a name whose IPv6 address is internal', async () => {
    await using mixed = await startDnsServer(({ type }) => (type === 'A' ? [PUBLIC] : ['0:0:0:0:0:0:0:1']));
    await using victim = createSafeFetch({ allowAddresses: [PUBLIC], resolve: mixed.resolve });
    await assert.rejects(victim.fetch(`http://mixed.test:${site.port}/`), { code: 'blocked_address' });
  });
});
