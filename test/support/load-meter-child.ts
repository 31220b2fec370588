import { EventLoopLoad } from '../../src/runs/load-meter.ts';

/** A process that reports the lag of its load meter and its CPU time since the last report. */
const load = new EventLoopLoad();
const seen = { before: 0, highest: 0 };
let since = 0;
setInterval(() => {
  seen.highest = Math.max(seen.highest, load.lagMs);
}, 10);

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

process.on('message', (what: { work: number }) => {
  const used = usedMs();
  setTimeout(() => {
    process.send?.('working');
    // Blocks the event loop for this much CPU time.
    for (const until = usedMs() + what.work; usedMs() < until; );
    // Waits longer than two samples of the meter.
    setTimeout(() => {
      process.send?.({ ...seen, workedMs: usedMs() - since });
      seen.before = seen.highest = load.lagMs;
      // The next sample of the meter begins before this moment.
      since = used;
    }, 200);
  }, 10);
});
process.send?.('ready');
