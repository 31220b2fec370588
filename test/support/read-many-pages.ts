/**
 * Reads pages with `fetch_url_content` and prints what memory had grown by at most between the first of them and the last,
 * in bytes, as JSON. Arguments: how many pages, and how large each is in bytes.
 */
import { silentLogger } from '../../src/base/logger.ts';
import { createFetchUrlContentTool } from '../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch } from '../../src/tools/safe-fetch/safe-fetch.ts';
import { collectAll } from './collect-garbage.ts';
import { startWebServer } from './web-server.ts';

const [pages = 0, size = 0] = process.argv.slice(2).map(Number);
/** Read before it is measured: by then pools and buffers have the size that they keep. */
const WARM_UP = 10;
const LOOK_EVERY = 20;
/** How long collected memory is waited for at the end: as often, for so many milliseconds, unless it is back before. */
const LAST_LOOKS = 200;
const LOOK_MS = 50;
const SMALL_SHARE = 0.1;

const page = Buffer.from('All of this page is text. '.repeat(Math.ceil(size / 26))).subarray(0, size);
await using server = await startWebServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' }).end(page);
});

await using safeFetch = createSafeFetch({ allowPrivateAddresses: true });
using tool = createFetchUrlContentTool({ safeFetch });
const read = (number: number) =>
  tool.call({ url: `${server.origin}/${number}` }, { signal: new AbortController().signal, log: silentLogger });

/** What is left when all garbage was collected. Its memory goes back to the system a while later. */
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
for (let look = 0; look < LAST_LOOKS && grown.rss > before.rss * SMALL_SHARE; look++) {
  grown.rss = Math.min(grown.rss, (await used()).rss - before.rss);
}
console.log(JSON.stringify(grown));
