import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createSafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { refusedUrl } from '../../support/scripted-provider.ts';
import { startWebServer } from '../../support/web-server.ts';

const MIB = 1024 * 1024;

describe('safe fetch limits', () => {
  it('stop a body at its limit, declared, chunked or compressed', async () => {
    const zeros = Buffer.alloc(5 * MIB);
    const bodies: Record<string, { headers: Record<string, string>; body: Buffer }> = {
      '/declared': { headers: {}, body: Buffer.alloc(2 * MIB) },
      '/chunked': { headers: { 'transfer-encoding': 'chunked' }, body: Buffer.alloc(2 * MIB) },
      '/gzip': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(zeros) },
      '/twice': { headers: { 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync(zeros)) },
      '/brotli': { headers: { 'content-encoding': 'br' }, body: brotliCompressSync(zeros) },
    };
    await using server = await startWebServer((request, response) => {
      const found = bodies[request.url ?? ''];
      response.writeHead(200, found?.headers).end(found?.body);
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true, maxBytes: MIB });
    for (const path of Object.keys(bodies)) {
      await assert.rejects(
        async () => (await safe.fetch(server.origin + path)).arrayBuffer(),
        { code: 'too_large' },
        path,
      );
    }
  });

  it('allow for servers that answer with no status of HTTP, or with a reason that is no text', async () => {
    await using server = await startWebServer((request, response) => {
      if (request.url === '/refused') response.writeHead(999, 'Request denied').end('denied');
      else response.socket?.end(Buffer.from('HTTP/1.1 200 Gr\xfc\xdfe\r\ncontent-length: 2\r\n\r\nok', 'latin1'));
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true });
    await assert.rejects(safe.fetch(`${server.origin}/refused`), { code: 'http_error', message: /HTTP 999/ });
    assert.equal(await (await safe.fetch(server.origin)).text(), 'ok');
  });

  it('do not apply to an answer without a body', async () => {
    await using server = await startWebServer((_request, response) => {
      response.writeHead(200, { 'content-length': `${5 * MIB}` }).end();
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true, maxBytes: MIB });
    assert.equal((await safe.fetch(server.origin, { method: 'HEAD' })).status, 200);
  });

  it('count decompressed bytes, so a body just within the limit passes', async () => {
    await using server = await startWebServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(MIB)));
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true, maxBytes: MIB });
    assert.equal((await (await safe.fetch(server.origin)).arrayBuffer()).byteLength, MIB);
  });

  it('leave a stream its length, and take that of any other body from the body', async () => {
    const lengths: unknown[] = [];
    await using server = await startWebServer((request, response) => {
      lengths.push([request.headers['content-length'], request.headers['transfer-encoding']]);
      request.resume().once('end', () => response.end());
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true });
    const pieces = [Buffer.from('some '), Buffer.from('words')];
    for (const body of [ReadableStream.from(pieces), 'some words']) {
      const headers = { 'content-length': body instanceof ReadableStream ? '10' : '3' };
      await (await safe.fetch(server.origin, { method: 'PUT', headers, body })).arrayBuffer();
    }
    assert.deepEqual(lengths, [
      ['10', undefined],
      ['10', undefined],
    ]);
  });

  it('time out headers that never come and bodies that stall', async () => {
    await using server = await startWebServer((request, response) => {
      if (request.url === '/stall') response.writeHead(200).write('first words');
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true, timeouts: { headersMs: 300, idleMs: 300 } });
    await assert.rejects(safe.fetch(`${server.origin}/silent`), { code: 'timeout' });
    await assert.rejects(async () => (await safe.fetch(`${server.origin}/stall`)).text(), { code: 'timeout' });
  });

  it('stop with the caller, before the headers and in the body, and close the connection', async () => {
    const closed: Promise<unknown>[] = [];
    await using server = await startWebServer((request, response) => {
      closed.push(once(request.socket, 'close'));
      if (request.url === '/body') response.writeHead(200).write('first words');
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true });
    const reason = new Error('the run was cancelled');

    const before = new AbortController();
    const pending = safe.fetch(`${server.origin}/silent`, { signal: before.signal });
    while (server.requests.length < 1) await new Promise(setImmediate);
    before.abort(reason);
    await assert.rejects(pending, reason);

    const within = new AbortController();
    const answer = await safe.fetch(`${server.origin}/body`, { signal: within.signal });
    const reading = answer.text();
    within.abort(reason);
    await assert.rejects(reading, reason);
    await Promise.all(closed);
  });

  it('report a refused connection as unreachable', async () => {
    await using safe = createSafeFetch({ allowPrivateAddresses: true });
    await assert.rejects(safe.fetch(await refusedUrl()), { code: 'unreachable', message: /ECONNREFUSED/ });
  });

  it('set User-Agent, and drop hop-by-hop headers of the caller', async () => {
    let headers: NodeJS.Dict<string | string[]> = {};
    await using server = await startWebServer((request, response) => {
      headers = request.headers;
      response.end();
    });
    await using safe = createSafeFetch({ allowPrivateAddresses: true });
    await safe.fetch(server.origin, { headers: { host: 'inside.corp', 'proxy-authorization': 'x', te: 'trailers' } });
    assert.match(String(headers['user-agent']), /^research-gateway\//);
    assert.equal(headers.host, `127.0.0.1:${server.port}`);
    assert.equal(headers['proxy-authorization'], undefined);
    assert.equal(headers.te, undefined);
  });

  it('ignore proxies of the environment', async () => {
    await using proxy = await startWebServer((_request, response) => response.end('through the proxy'));
    await using server = await startWebServer((_request, response) => response.end('direct'));
    const module = new URL('../../../src/tools/safe-fetch/safe-fetch.ts', import.meta.url).href;
    const script = `
      import { createSafeFetch } from ${JSON.stringify(module)};
      await using safe = createSafeFetch({ allowPrivateAddresses: true });
      console.log(await (await safe.fetch(${JSON.stringify(server.origin)})).text());`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', script], {
      env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.origin, http_proxy: proxy.origin, ALL_PROXY: proxy.origin },
    });
    assert.equal(stdout.trim(), 'direct');
    assert.equal(proxy.connections(), 0);
  });
});
