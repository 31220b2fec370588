import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a gateway before its own code (`node --expose-gc --import`). On SIGWINCH it reports on stderr the longest
 * step of the event loop since the last report, on SIGUSR2 the memory that remains after a garbage collection, which
 * reveals leaks; the memory of the process does not, because the collector lets it grow. Steps are measured by the CPU
 * time of the thread, so other load of the machine does not count.
 */
const BEAT_MS = 20;

let longestStep = 0;
let beat = process.threadCpuUsage();

/** The CPU time between two ticks is that of the tick and, if it is late, of the step that delayed it. */
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
