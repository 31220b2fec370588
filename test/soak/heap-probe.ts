import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a gateway before its own code (`node --expose-gc --import`): on SIGUSR2 it collects garbage and tells on
 * stderr what is left, in bytes. What is left after a collection shows a leak; the memory of the process alone does not,
 * since the collector takes as much of it as it likes.
 */
if (isMainThread) {
  process.on('SIGUSR2', () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.stderr.write(`${JSON.stringify({ msg: 'live memory', heapUsed, external })}\n`);
  });
}
