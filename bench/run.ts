import { parseArgs } from 'node:util';
import { firstEvent } from './first-event.ts';
import { liveStreams } from './live-streams.ts';
import { passthrough } from './passthrough.ts';
import { replay } from './replay.ts';
import { researchDeltas } from './research-deltas.ts';
import type { StoreKind } from './support/processes.ts';

/** `npm run bench -- [--store sqlite|redis] [--streams N] [name ...]`: runs benchmarks and prints their tables. See README.md. */
const BENCHMARKS: Readonly<
  Record<string, (options: { stores: readonly StoreKind[]; streams?: number }) => Promise<string>>
> = {
  'research-deltas': researchDeltas,
  passthrough,
  replay,
  'first-event': firstEvent,
  'live-streams': liveStreams,
};

const { values, positionals: names } = parseArgs({
  options: { store: { type: 'string' }, streams: { type: 'string' } },
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
  console.log(`${await run({ stores, ...(values.streams ? { streams: Number(values.streams) } : {}) })}\n`);
}
process.exit(0);
