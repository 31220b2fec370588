import assert from 'node:assert/strict';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { newsPage, oldBlogPage, paperPage, wikiPage } from '../../support/sample-pages/articles.ts';
import { questionPage, tableForumPage, threadPage } from '../../support/sample-pages/forums.ts';
import { legacyCharsetPages } from '../../support/sample-pages/languages.ts';
import { longPdf, tablePdf } from '../../support/sample-pages/pdfs.ts';
import type { SamplePage } from '../../support/sample-pages/prose.ts';
import { docsPage, referencePage, tablePage } from '../../support/sample-pages/technical.ts';
import { callTool } from '../../support/tool-calls.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

const GENERATORS = [
  newsPage,
  oldBlogPage,
  paperPage,
  wikiPage,
  docsPage,
  referencePage,
  tablePage,
  threadPage,
  tableForumPage,
  questionPage,
];

const PAGES: SamplePage[] = [
  ...GENERATORS.flatMap((generate, at) => [1, 2, 3].map((seed) => generate(seed * 1000 + at))),
  longPdf(7, 60),
  tablePdf(8),
  ...legacyCharsetPages(),
];

describe('fetch_url_content: reading quality', () => {
  let server: WebServer;
  let safeFetch: SafeFetch;
  let tool: Tool & Disposable;

  before(async () => {
    server = await startWebServer((request, response) => {
      const page = PAGES[Number(request.url?.split('/').at(-1))];
      if (page) response.writeHead(200, { 'content-type': page.contentType }).end(page.body);
      else response.writeHead(404).end();
    });
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
    tool = createFetchUrlContentTool({ safeFetch, partLength: 1_000_000 });
  });
  after(async () => {
    tool[Symbol.dispose]();
    await safeFetch[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('covers at least thirty pages', () => assert.ok(PAGES.length >= 30));

  for (const [at, page] of PAGES.entries()) {
    it(`reads ${page.name}: the complete text without clutter, with ranges, links and tables`, async () => {
      const { result } = await callTool(tool, { url: `${server.origin}/pages/${at}` });
      const content = String(result.content);
      const flat = content.replace(/\s+/g, ' ');
      const missing = page.present.filter((text) => !flat.includes(text));
      assert.deepEqual(missing, [], `missing in:\n${content}`);
      for (const text of page.absent) assert.ok(!content.includes(text), `${text} is in:\n${content}`);
      for (const text of page.markdown) {
        assert.ok(content.includes(text.replaceAll('ORIGIN', server.origin)), `${text} is not in:\n${content}`);
      }
      assert.equal(result.title, page.title);
      assert.equal(result.note, undefined);
      if (page.author) assert.equal(result.author, page.author);
      if (page.published) assert.equal(result.published, page.published);
    });
  }
});
