import { parseArgs } from 'node:util';
import { busyProcesses } from './busy-cores.ts';
import { type Disruption, endlessly } from './disruptions.ts';
import { runStorm, type StormOptions } from './storm.ts';

/**
 * `npm run chaos [-- --runs 1000 --concurrent 60 --backend redis|sqlite|sentinel|cluster --workers 2 --busy 0]`: the long storm. Prints
 * its numbers and exits with 1 where a promise was broken: receivers of webhooks, which fail half the time, have been told of
 * every end within `--tell` milliseconds, and the limit of the clients' key, which stands in the store, counts what its runs used. `--busy` is how many processes compute
 * beside it all the time, `--workers` of how many processes each instance is, `--calm` the pause between two disruptions in milliseconds: more where instances take long to start.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    concurrent: { type: 'string', default: '60' },
    backend: { type: 'string', default: '' },
    workers: { type: 'string', default: '1' },
    takeover: { type: 'string', default: '6000' },
    pause: { type: 'string', default: '20000' },
    leave: { type: 'string', default: '1000' },
    tell: { type: 'string', default: '180000' },
    calm: { type: 'string', default: '2000' },
    busy: { type: 'string', default: '0' },
    verbose: { type: 'boolean', default: false },
  },
});
const FAILING_OVER: readonly Disruption[] = [
  ...(['kill', 'redis', 'freeze', 'partition', 'kill', 'hang', 'slow', 'kill', 'terminate', 'redis'] as const),
];
const STORMS: Record<StormOptions['backend'], { instances: number; disruptions: readonly Disruption[] }> = {
  redis: {
    instances: 3,
    disruptions: ['kill', 'freeze', 'terminate', 'redis', 'partition', 'kill', 'slow', 'kill', 'hang'],
  },
  sqlite: { instances: 1, disruptions: ['kill', 'freeze', 'terminate', 'kill'] },
  sentinel: { instances: 3, disruptions: FAILING_OVER },
  cluster: { instances: 3, disruptions: FAILING_OVER },
};
using _ = busyProcesses(Number(values.busy));

let broken = 0;
for (const backend of ['redis', 'sqlite', 'sentinel', 'cluster'] as const) {
  if (values.backend !== '' && values.backend !== backend) continue;
  const [runs, workers] = [Number(values.runs), Number(values.workers)];
  console.log(`${runs} runs, ${STORMS[backend].instances} instances over ${backend}`);
  const report = await runStorm({
    backend,
    instances: STORMS[backend].instances,
    workers,
    disruptions: endlessly(STORMS[backend].disruptions.flatMap((each) => (workers > 1 ? [each, 'worker'] : [each]))),
    runs,
    concurrent: Number(values.concurrent),
    calmMs: Number(values.calm),
    pace: 60,
    cancelEvery: 20,
    limitMs: 60_000 + runs * 3000,
    takeoverMs: Number(values.takeover),
    pauseMs: Number(values.pause),
    leaveMs: Number(values.leave),
    tellMs: Number(values.tell),
    ...(values.verbose ? { log: (line: string) => console.log(`  ${line}`) } : {}),
  });
  for (const [what, number] of Object.entries(report.numbers)) console.log(`  ${what}: ${number.toLocaleString('en')}`);
  // What was broken first: lines of log stand beside it.
  const lines = report.faults.toSorted((a, b) => Number(a.startsWith('{')) - Number(b.startsWith('{')));
  for (const fault of lines.slice(0, 100)) console.log(`  BROKEN: ${fault}`);
  console.log(report.faults.length === 0 ? '  every promise was kept' : `  ${report.faults.length} promises broken`);
  broken += report.faults.length;
}
process.exit(broken === 0 ? 0 : 1);
