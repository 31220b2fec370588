import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a gateway before its own code (`node --expose-gc --import`): on SIGWINCH it tells on stderr the longest
 * step of the event loop since it was asked last, on SIGUSR2 what memory is left after a collection. What is left after
 * a collection shows a leak; the memory of the process alone does not, since the collector takes as much of it as it likes.
 * A step is measured by the thread's own time: other work of the machine does not count.
 */
const BEAT_MS = 20;

let longestStep = 0;
let beat = process.threadCpuUsage();

/** Between two beats the thread works for the beat and, where it comes late, for the step that held it up. */
function onBeat(): void {
  const { user, system } = process.threadCpuUsage(beat);
  beat = process.threadCpuUsage();
  longestStep = Math.max(longestStep, (user + system) / 1000 - BEAT_MS);
}

if (isMainThread) {
  setInterval(onBeat, BEAT_MS).unref();
  process.on('SIGWINCH', tell);
  process.on('SIGUSR2', () => {
    onBeat();
    globalThis.gc?.();
    // The collection is not the gateway's own step.
    beat = process.threadCpuUsage();
    tell();
  });
}

function tell(): void {
  onBeat();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ msg: 'probe', live: heapUsed + external, stepMs: longestStep })}\n`);
  beat = process.threadCpuUsage();
  longestStep = 0;
}
