import { parseArgs } from 'node:util';
import { consoleFrames, consolePaint } from './scenarios/console.ts';
import { documentSearch } from './scenarios/document-search.ts';
import { functionLoop } from './scenarios/function-loop.ts';
import { lanes } from './scenarios/lanes.ts';
import { manyStreams, overload, steadyDelta } from './scenarios/live-streams.ts';
import { mainJob } from './scenarios/main-job.ts';
import { manyKeys } from './scenarios/many-keys.ts';
import { manyRuns } from './scenarios/many-runs.ts';
import { pacedPassThrough, passThrough } from './scenarios/pass-through.ts';
import { plainDelta } from './scenarios/plain-delta.ts';
import { install, start, workers } from './scenarios/processes.ts';
import { replay, resume, snapshots } from './scenarios/reading.ts';
import { shortRun } from './scenarios/short-run.ts';
import { tokens } from './scenarios/tokens.ts';
import { transfers } from './scenarios/transfers.ts';
import { vectorStore } from './scenarios/vector-store.ts';
import { webhooks } from './scenarios/webhooks.ts';
import type { BenchOptions } from './support/options.ts';
import { installPeers } from './support/peers.ts';
import { type Row, scoreboard } from './support/scoreboard.ts';

/** What can be measured. See README.md. */
const SCENARIOS: Readonly<Record<string, (options: BenchOptions) => Promise<Row[]>>> = {
  'pass-through': passThrough,
  'paced-pass-through': pacedPassThrough,
  transfers,
  tokens,
  'steady-delta': steadyDelta,
  'short-run': shortRun,
  'plain-delta': plainDelta,
  'function-loop': functionLoop,
  'main-job': mainJob,
  lanes,
  'many-streams': manyStreams,
  overload,
  replay,
  resume,
  snapshots,
  'many-runs': manyRuns,
  'many-keys': manyKeys,
  webhooks,
  workers,
  'document-search': documentSearch,
  'vector-store': vectorStore,
  'console-paint': consolePaint,
  'console-frames': consoleFrames,
  start,
  install,
};

const HELP = `npm run bench -- [options] [scenario ...]

Measures all scenarios, or the named ones, and prints one table.

  --rounds N            how often each target is loaded in turn (5)
  --store sqlite|redis  only over this store
  --documents N         how many documents document-search indexes (100000)
  --files N             how many files of 100 KB vector-store reads (10000)
  --peers               also install and measure Fastify's proxy, Portkey's gateway and nginx

Scenarios: ${Object.keys(SCENARIOS).join(', ')}
`;

const { values, names } = readOptions();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const options: BenchOptions = {
  stores: (['SQLite', 'Redis'] as const).filter((kind) => !values.store || values.store === kind.toLowerCase()),
  rounds: Number(values.rounds),
  documents: Number(values.documents),
  files: Number(values.files),
  peers: values.peers ? installPeers() : {},
};
const rows: Row[] = [];
for (const [name, run] of Object.entries(SCENARIOS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  try {
    const measured = await run(options);
    rows.push(...measured);
    // Progress goes to standard error: standard output is the table.
    console.error(`${scoreboard(measured)}\n`);
  } catch (thrown) {
    console.error(`${name} could not be measured:`, thrown);
    process.exitCode = 1;
  }
}
console.log(scoreboard(rows));
process.exit();

function readOptions() {
  try {
    const { values, positionals: names } = parseArgs({
      options: {
        peers: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '5' },
        store: { type: 'string' },
        documents: { type: 'string', default: '100000' },
        files: { type: 'string', default: '10000' },
        help: { type: 'boolean', default: false },
      },
      allowPositionals: true,
    });
    for (const name of ['rounds', 'documents', 'files'] as const)
      if (!/^[1-9]\d*$/.test(values[name])) throw new Error(`--${name} is a whole number above 0.`);
    if (values.store !== undefined && !['sqlite', 'redis'].includes(values.store))
      throw new Error('--store is sqlite or redis.');
    const unknown = names.filter((name) => !(name in SCENARIOS));
    if (unknown.length > 0) throw new Error(`There is no scenario ${unknown.join(', ')}.`);
    return { values, names };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    process.exit(2);
  }
}
