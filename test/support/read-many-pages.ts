/**
 * Reads pages with `fetch_url_content` and prints the growth of memory in bytes, peak and final, as JSON. Arguments: the
 * number of pages, the size of each in bytes, and the growth below which nobody looks further.
 */
import { silentLogger } from '../../src/base/logger.ts';
import { createFetchUrlContentTool } from '../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch } from '../../src/tools/safe-fetch/safe-fetch.ts';
import { collectAll } from './collect-garbage.ts';
import { startWebServer } from './web-server.ts';

const [pages = 0, size = 0, enough = 0] = process.argv.slice(2).map(Number);
/** Pages that are read before measuring, so that pools and buffers have reached their final size. */
const WARM_UP = 10;
const LOOK_EVERY = 20;
/** How often, and at what interval in milliseconds, to check at the end whether the freed memory is back. */
const LAST_LOOKS = 200;
const LOOK_MS = 50;

const page = Buffer.from('All of this page is text. '.repeat(Math.ceil(size / 26))).subarray(0, size);
await using server = await startWebServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' }).end(page);
});

await using safeFetch = createSafeFetch({ allowPrivateAddresses: true });
using tool = createFetchUrlContentTool({ safeFetch });
const read = (number: number) =>
  tool.call({ url: `${server.origin}/${number}` }, { signal: new AbortController().signal, log: silentLogger });

/** The memory that remains after a garbage collection. The system gets freed memory back a little later. */
async function used() {
  collectAll();
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return process.memoryUsage();
}

for (let number = 0; number < WARM_UP; number++) await read(number);
const before = await used();
const grown = { rss: 0, arrayBuffers: 0, heapUsed: 0 };
for (let number = 1; number <= pages; number++) {
  await read(number);
  if (number % LOOK_EVERY !== 0) continue;
  // Not only at the end: a process that is replaced takes with it what was kept on its account.
  const now = await used();
  for (const what of ['arrayBuffers', 'heapUsed'] as const) {
    grown[what] = Math.max(grown[what], now[what] - before[what]);
  }
}
grown.rss = Number.POSITIVE_INFINITY;
for (let look = 0; look < LAST_LOOKS && grown.rss >= enough; look++) {
  grown.rss = Math.min(grown.rss, (await used()).rss - before.rss);
}
console.log(JSON.stringify(grown));
