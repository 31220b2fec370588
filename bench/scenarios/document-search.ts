import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalSearch } from '../../src/tools/web-search/local/local-search.ts';
import { quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import type { Row } from '../support/scoreboard.ts';
import { word } from '../support/words.ts';

/** The local search over a large folder: queries while it is indexed, queries afterwards, and after a restart. */

const QUERY_MS = 100;
const FILTERS = { allowedDomains: [], blockedDomains: [] };

export async function documentSearch(options: BenchOptions): Promise<Row[]> {
  const { documents } = options;
  const folder = await mkdtemp(join(tmpdir(), 'bench-documents-'));
  try {
    await writeDocuments(join(folder, 'docs'), documents);
    const search = { folder: join(folder, 'docs'), indexFolder: join(folder, 'index') };
    const first = await measure(search, documents);
    const again = await measure(search, documents);
    const what = `local search over ${documents} documents`;
    const row = (name: string, unit: string, value: number, atMost: number): Row => ({
      what: `${what}, ${name}`,
      unit,
      ours: [value],
      goal: { atMost },
    });
    return [
      row('query while they are indexed', 'p50 ms', quantile(first.during, 0.5), 20),
      row('query while they are indexed', 'p95 ms', quantile(first.during, 0.95), 100),
      row('query afterwards', 'p50 ms', quantile(first.after, 0.5), 20),
      row('indexing', 's', first.seconds, 600),
      row('ready after a restart', 's', again.seconds, 30),
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Asks until all documents are in the index, then some more. */
async function measure(options: { folder: string; indexFolder: string }, documents: number) {
  using search = createLocalSearch(options);
  const during: number[] = [];
  const after: number[] = [];
  const began = performance.now();
  let seconds: number | undefined;
  for (let n = 0; after.length < 200; n++) {
    const asked = performance.now();
    const query = { text: queryOf(n, documents), limit: 8, filters: FILTERS };
    const { note } = await search.search(query, { signal: AbortSignal.timeout(120_000) });
    const took = performance.now() - asked;
    // The first ones wait for what a small folder has in a moment.
    if (note !== undefined && performance.now() - began > 3000) during.push(took);
    if (note === undefined) {
      seconds ??= (performance.now() - began) / 1000;
      after.push(took);
    }
    await new Promise((resolve) => setTimeout(resolve, note === undefined ? 10 : QUERY_MS));
  }
  return { during: during.length > 0 ? during : [0], after, seconds: seconds ?? 0 };
}

async function writeDocuments(folder: string, documents: number): Promise<void> {
  for (let at = 0; at < documents; at++) {
    const directory = join(folder, String(at % 500));
    if (at < 500) await mkdir(directory, { recursive: true });
    const text = Array.from({ length: 120 }, (_, n) => word(at * 131 + n * 7)).join(' ');
    await writeFile(join(directory, `${at}.md`), `# ${word(at * 17)} ${word(at * 19)}\n\nThe ${text} of the place.\n`);
  }
}

function queryOf(n: number, documents: number): string {
  const at = (n * 7919) % documents;
  return `what is the ${word(at * 131 + 21)} and ${word(at * 131 + 350)} of ${word(at * 17)}`;
}
