import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { patience } from '../../support/time-limit.ts';

const run = promisify(execFile);
const READER = fileURLToPath(new URL('../../support/read-many-pages.ts', import.meta.url));
const PAGES = 200;
const PAGE_BYTES = 8e6;
const MAX_GROWTH = 60e6;

describe('pages that were read', () => {
  // Some 15 seconds, and ten times as long on a machine with much else to do: each page goes through HTTP and a parser.
  it('leave nothing behind in memory, however many', async () => {
    const args = [READER, String(PAGES), String(PAGE_BYTES)];
    const { stdout } = await run(process.execPath, args);
    const grown: { rss: number; arrayBuffers: number; heapUsed: number } = JSON.parse(stdout);
    for (const [what, bytes] of Object.entries(grown)) assert.ok(bytes < MAX_GROWTH, `${what}: ${bytes} bytes more`);
  }).timeout(patience(120));
});
