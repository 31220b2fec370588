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
const MAX_ATTEMPTS = 6;

describe('reading hundreds of pages', () => {
  // Takes 15 seconds, or ten times as long on a busy machine: each page goes through HTTP and a parser.
  it('leaks no memory', async () => {
    const grown: string[] = [];
    // One process in four keeps some 70 MB of freed memory, whatever it read; a leak shows every time.
    while (grown.length < MAX_ATTEMPTS) {
      const { stdout } = await run(process.execPath, [READER, ...[PAGES, PAGE_BYTES, MAX_GROWTH].map(String)]);
      const more: Record<string, number> = JSON.parse(stdout);
      if (Object.values(more).every((bytes) => bytes < MAX_GROWTH)) return;
      grown.push(stdout.trim());
    }
    assert.fail(`bytes more: ${grown.join(', ')}`);
  }).timeout(patience(120));
});
