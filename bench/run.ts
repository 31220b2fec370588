import { firstEvent } from './first-event.ts';
import { passthrough } from './passthrough.ts';
import { replay } from './replay.ts';
import { researchDeltas } from './research-deltas.ts';

/** `npm run bench [name ...]`: runs benchmarks and prints their tables. See README.md. */
const BENCHMARKS: Readonly<Record<string, () => Promise<string>>> = {
  'research-deltas': researchDeltas,
  passthrough,
  replay,
  'first-event': firstEvent,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(BENCHMARKS).join(', ')}`);
  process.exit(2);
}
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`${await run()}\n`);
}
process.exit(0);
