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
const MOST_LOOKS = 6;

describe('pages that were read', () => {
  // Some 15 seconds, and ten times as long on a machine with much else to do: each page goes through HTTP and a parser.
  it('leave nothing behind in memory, however many', async () => {
    const grown: string[] = [];
    // Each fourth process keeps some 70 MB of what was freed for itself, whatever it read: a leak shows each time.
    while (grown.length < MOST_LOOKS) {
      const { stdout } = await run(process.execPath, [READER, String(PAGES), String(PAGE_BYTES)]);
      const more: Record<string, number> = JSON.parse(stdout);
      if (Object.values(more).every((bytes) => bytes < MAX_GROWTH)) return;
      grown.push(stdout.trim());
    }
    assert.fail(`bytes more: ${grown.join(', ')}`);
  }).timeout(patience(120));
});
