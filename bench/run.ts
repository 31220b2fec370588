import { parseArgs } from 'node:util';
import { firstEvent } from './first-event.ts';
import { passthrough } from './passthrough.ts';
import { replay } from './replay.ts';
import { researchDeltas } from './research-deltas.ts';
import type { StoreKind } from './support/processes.ts';

/** `npm run bench -- [--store sqlite|redis] [name ...]`: runs benchmarks and prints their tables. See README.md. */
const BENCHMARKS: Readonly<Record<string, (options: { stores: readonly StoreKind[] }) => Promise<string>>> = {
  'research-deltas': researchDeltas,
  passthrough,
  replay,
  'first-event': firstEvent,
};

const { values, positionals: names } = parseArgs({
  options: { store: { type: 'string' } },
  allowPositionals: true,
});
const stores = (['SQLite', 'Redis'] as const).filter((kind) => !values.store || values.store === kind.toLowerCase());
const unknown = names.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(BENCHMARKS).join(', ')}`);
  process.exit(2);
}
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`${await run({ stores })}\n`);
}
process.exit(0);
