import { EventLoopLoad } from '../../src/runs/load-meter.ts';

/** A process that says how late its meter says it is: the highest since it was asked last. */
const load = new EventLoopLoad();
let highest = 0;
setInterval(() => {
  highest = Math.max(highest, load.lagMs);
}, 10);
process.on('message', (what) => {
  if (what === 'work') for (const until = performance.now() + 3000; performance.now() < until; );
  // Later than two samples of the meter.
  setTimeout(() => {
    process.send?.({ highest });
    highest = 0;
  }, 200);
});
process.send?.('ready');
