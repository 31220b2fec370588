import assert from 'node:assert/strict';
import type { RequestHandler } from 'express';
import { Registry } from 'prom-client';
import supertest from 'supertest';
import { consolePages } from '../../src/console/console-pages.ts';
import { createApps } from '../../src/http/app.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

/** The most that a first visit may load, in compressed bytes. */
const BUDGET = 160_000;

describe('GET /console', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const app = (wellKnownKey?: string) => {
    const pages: RequestHandler = consolePages({ wellKnownKey: () => wellKnownKey });
    return createApps({ ...gateway.parts, registry: new Registry(), console: pages });
  };

  it('has a CSP without foreign sources or inline scripts, and requires trusted types', async () => {
    const { headers, text } = await supertest(app().create({ operator: true }))
      .get('/console')
      .expect(200);
    const policy = String(headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      assert.ok(policy.split(';').includes(part), `${part} in ${policy}`);
    }
    assert.doesNotMatch(policy, /unsafe|https?:|upgrade/);
    assert.equal(headers['strict-transport-security'], undefined);
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.doesNotMatch(text, /https?:|<script(?! type="module" src=)|<style|\son\w+=/);
  });

  it('loads only existing files, within the budget, compressed and cacheable', async () => {
    const all = app().create({ operator: true });
    const page = await supertest(all).get('/console').expect(200);
    const files = [...page.text.matchAll(/(?:href|src)="(console\/[^"]+)"/g)].map((match) => `/${match[1]}`);
    const [folder = ''] = /^\/console\/v-[\w-]{20}\//.exec(files[0] ?? '') ?? [];
    assert.notEqual(folder, '');
    files.push(`${folder}report/worker/lexer.js`, `${folder}report/worker/same-start.js`, `${folder}lib/marked.js`);
    assert.ok(!files.some((file) => file.includes('/operate/')), 'operator pages are loaded on demand');
    assert.equal(files.filter((file) => file.endsWith('.css')).length, 1, 'one style sheet blocks rendering');
    assert.ok(files.length > 30);
    let total = Number(page.headers['content-length']);
    for (const file of new Set(files)) {
      const { headers } = await supertest(all).get(file).set('accept-encoding', 'gzip').expect(200);
      assert.equal(headers['content-encoding'], 'gzip');
      assert.match(String(headers['content-type']), /javascript|css|svg/);
      assert.match(String(headers['cache-control']), /immutable/);
      total += Number(headers['content-length']);
      await supertest(all).get(file).set('if-none-match', String(headers.etag)).expect(304);
    }
    assert.ok(total < BUDGET, `${total} bytes`);
    assert.equal(page.headers['cache-control'], 'no-cache');
    await supertest(all).get('/console').set('if-none-match', String(page.headers.etag)).expect(304);
    // A page that was opened before an update still finds its worker, which it starts later.
    await supertest(all).get('/console/v-of-another/report/worker/lexer.js').expect('cache-control', 'no-cache');
    const plain = await supertest(all).get('/console/client.js').set('accept-encoding', 'identity').expect(200);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.match(plain.text, /authorization/);
  });

  it('serves the same page and files at the address of each view', async () => {
    const all = app().create({ operator: true });
    const first = await supertest(all).get('/console').expect(200);
    const loaded = ({ text }: { text: string }, path: string) =>
      [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => new URL(String(match[1]), `http://h${path}`).href);
    for (const path of [
      '/console/runs',
      '/console/runs/resp_0197-a_b',
      '/console/tasks',
      '/console/tasks/task_1',
      '/console/compare/resp_1/resp_2',
      '/console/documents',
      '/console/documents/vs_1',
      '/console/operate',
      '/console/operate/keys',
      '/console/operate/usage',
      '/console/operate/audit',
    ]) {
      const page = await supertest(all).get(path).expect(200).expect('content-type', /html/);
      assert.deepEqual(loaded(page, path), loaded(first, '/console'), path);
      assert.equal(page.headers['content-security-policy'], first.headers['content-security-policy']);
      assert.equal(page.headers['referrer-policy'], 'no-referrer');
      assert.equal(page.headers['cache-control'], 'no-cache');
    }
  });

  it('serves nothing but its own files', async () => {
    const all = app().create({ operator: true });
    for (const path of [
      '/console/../package.json',
      '/console/%2e%2e/console-pages.ts',
      '/console/index.html',
      '/console/lib',
      '/console/v-1/',
      '/console/v-1/index.html',
      '/console/v-1/v-1/client.js',
      '/console/constructor',
      '/console/runs/',
      '/console/runs/a/b',
      '/console/runs/<script>',
      '/console/compare/resp_1',
      '/console/v-1/runs',
      '/console/operate/secrets',
    ]) {
      await supertest(all).get(path).expect(404);
    }
    await supertest(all).post('/console').expect(404);
    await supertest(all).head('/console').expect(200);
    await supertest(all).get('/console/').expect(308).expect('location', '../console');
  });

  it('shows only the well-known key, and only if there is one', async () => {
    await supertest(app().create({ operator: true }))
      .get('/console/start.json')
      .expect(200, { api_key: null });
    await supertest(app('sk-local').create({ operator: true }))
      .get('/console/start.json')
      .expect(200, { api_key: 'sk-local' });
  });

  it('is where / redirects browsers; other clients and the API app get 404', async () => {
    const apps = app();
    const all = apps.create({ operator: true });
    const api = apps.create({ operator: false });
    await supertest(all).get('/').set('accept', 'text/html,*/*').expect(302).expect('location', 'console');
    await supertest(all).get('/').set('accept', '*/*').expect(404);
    await supertest(api).get('/').set('accept', 'text/html').expect(404);
    await supertest(api).get('/console').expect(404);
  });
});
