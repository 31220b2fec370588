import assert from 'node:assert/strict';
import { withTimeout } from '../../../src/base/abort.ts';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { type Tool, ToolError } from '../../../src/tools/tool.ts';
import { archiveBombs, type Bomb, htmlBombs, officeBombs, pdfBombs, textBombs } from '../../support/bombs.ts';
import { isSlow } from '../../support/fair-time.ts';
import { patience } from '../../support/time-limit.ts';
import { callTool } from '../../support/tool-calls.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

/**
 * A hostile body gets a text or an error even if its parsing never ends, because the parser process is stopped. The slack
 * is for a busy machine.
 */
const ANSWERED_WITHIN_MS = 20_000;
/** CPU time for parsing: less than the default, since some bombs use all of it. */
const PARSED_WITHIN_MS = 600;
/** How much the gateway itself may grow over all bombs, each of which takes hundreds of megabytes or more. */
const FLAT_BYTES = 300 * 1024 * 1024;

/** The CPU time of the gateway's own thread for one bomb, sending and receiving included, in milliseconds. */
const OWN_WORK_MS = 700;

const GOOD =
  '<!doctype html><html><body><main><h1>Good</h1><p>The next <a href="/x">page</a> reads well.</p></main></body></html>';

describe('fetch_url_content: bombs', function () {
  // Parsers run into their limits of time.
  this.timeout(patience(30));
  const bombs: Bomb[] = [...htmlBombs(), ...pdfBombs(), ...archiveBombs(), ...textBombs(), ...officeBombs()];
  let body: string | Uint8Array = '';
  let server: WebServer;
  let safeFetch: SafeFetch;
  let tool: Tool & Disposable;
  let memoryBefore: number;

  before(async () => {
    server = await startWebServer((request, response) => {
      const bomb = bombs[Number(request.url?.slice(1))];
      const encoding = bomb?.encoding ? { 'content-encoding': bomb.encoding } : {};
      response.writeHead(200, { 'content-type': bomb?.contentType ?? 'text/html', ...encoding });
      response.end(bomb ? body : GOOD);
    });
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
    tool = createFetchUrlContentTool({ safeFetch, parsing: { limits: { timeMs: PARSED_WITHIN_MS } } });
    await readGoodPage();
    memoryBefore = process.memoryUsage.rss();
  });
  after(async () => {
    tool[Symbol.dispose]();
    await safeFetch[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  async function readGoodPage(): Promise<void> {
    const { result } = await callTool(tool, { url: `${server.origin}/good` });
    assert.ok(String(result.content).endsWith(`The next [page](${server.origin}/x) reads well.`));
    assert.equal(result.note, undefined);
  }

  async function readBomb(at: number): Promise<void> {
    const call = (signal: AbortSignal) => callTool(tool, { url: `${server.origin}/${at}` }, { signal });
    try {
      const { result } = await withTimeout('the bomb', ANSWERED_WITHIN_MS, call);
      assert.equal(typeof result.content, 'string');
      assert.ok(String(result.content).length <= 24_000);
    } catch (error) {
      assert.ok(error instanceof ToolError, String(error));
      assert.ok(['unreadable', 'too_large', 'unsupported_content', 'unreachable'].includes(error.code), error.code);
    }
  }

  it('has at least twenty bombs', () => assert.ok(bombs.length >= 20));

  for (const [at, bomb] of bombs.entries()) {
    it(`returns text or an error for ${bomb.name} in time, and reads the next page`, async () => {
      body = await bomb.body();
      const before = process.threadCpuUsage();
      await readBomb(at);
      const { user } = process.threadCpuUsage(before);
      assert.ok(!isSlow(user / 1000, OWN_WORK_MS), `the gateway's own thread worked ${user / 1000} ms`);
      await readGoodPage();
    });
  }

  it('keeps the memory of the gateway bounded', () => {
    const grown = process.memoryUsage.rss() - memoryBefore;
    assert.ok(grown < FLAT_BYTES, `grew by ${grown >> 20} MiB`);
  });
});
