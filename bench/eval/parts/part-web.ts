import { once } from 'node:events';
import { createServer } from 'node:http';
import type { PartPage } from './part-pages.ts';

/** The pages of a part on a loopback port, and beside them a search in the form of SearXNG that finds them by subject. */
export async function startPartWeb(pages: readonly PartPage[]): Promise<AsyncDisposable & { origin: string }> {
  let origin = '';
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', origin);
    if (url.pathname === '/search') {
      const query = url.searchParams.get('q') ?? '';
      const found = pages.filter(({ subject }) => query.includes(subject));
      const results = found.map(({ path, title }) => ({ url: `${origin}/${path}`, title, content: `About ${title}.` }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ query, results, unresponsive_engines: [] }));
      return;
    }
    const page = pages.find(({ path }) => `/${path}` === url.pathname);
    if (page?.failsWith === 0) response.destroy();
    else {
      response.writeHead(page ? (page.failsWith ?? 200) : 404, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page?.failsWith ? 'gone' : page?.html);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return {
    origin,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
