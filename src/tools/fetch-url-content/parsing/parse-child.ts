/**
 * Entry of the child process that reads bodies: one job at a time over the IPC channel. It has no permissions beyond
 * reading its own code, and the parent kills it when it takes too long or too much memory.
 */
import '../../../base/node/polyfills.ts';
import { messageOf } from '../../../base/errors.ts';
import { read } from '../reading/read.ts';
import type { ParseJob } from './parse-job.ts';

process.on('message', (job: ParseJob) => {
  process.send?.('begun');
  read(job).then(
    (document) => process.send?.({ type: 'parsed', document }),
    (error: unknown) => process.send?.({ type: 'failed', message: messageOf(error).slice(0, 300) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('started');
