import { performance } from 'node:perf_hooks';
import { EventLoopLoad } from '../../src/runs/load-meter.ts';

/** A process that says how late its meter says it is, and how long it worked, since it was asked last. */
const load = new EventLoopLoad();
const seen = { before: 0, highest: 0 };
let since = 0;
setInterval(() => {
  seen.highest = Math.max(seen.highest, load.lagMs);
}, 10);
process.on('message', (what) => {
  const { active } = performance.eventLoopUtilization();
  if (what === 'work') for (const until = performance.now() + 2000; performance.now() < until; );
  // Later than two samples of the meter.
  setTimeout(() => {
    process.send?.({ ...seen, workedMs: performance.eventLoopUtilization().active - since });
    seen.before = seen.highest = load.lagMs;
    // The next sample of the meter begins before this moment.
    since = active;
  }, 200);
});
process.send?.('ready');
