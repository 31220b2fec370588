import { once } from 'node:events';
import { isMainThread, parentPort, resourceLimits, Worker } from 'node:worker_threads';
import type { ParseJob } from '../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { read } from '../../src/tools/fetch-url-content/reading/read.ts';

/** The cost of reading one document. */
export interface ReadingCost {
  /** The thread's own time, in milliseconds: other work of the machine does not count. */
  ms: number;
  /** UTF-16 code units; 0 where it was unreadable. */
  length: number;
}

/** A thread that reads documents like the parse process. A document that hangs it is terminated with the thread. */
export class DocumentReader {
  #worker: Worker | undefined;

  /** @throws Error where it hangs, or takes more than `heapMb` of heap. */
  async read(job: ParseJob, { wallMs, heapMb }: { wallMs: number; heapMb: number }): Promise<ReadingCost> {
    this.#worker ??= new Worker(new URL(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    const worker = this.#worker;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(new Error(`reading it hangs for ${wallMs} ms`)), wallMs);
    try {
      worker.postMessage(job);
      const [cost] = await once(worker, 'message', { signal: ending.signal });
      return cost;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw ending.signal.aborted ? ending.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

if (!isMainThread && resourceLimits?.maxOldGenerationSizeMb) {
  parentPort?.on('message', async (job: ParseJob) => {
    const began = process.threadCpuUsage();
    const length = await read(job).then(
      ({ content }) => content.length,
      () => 0,
    );
    const { user, system } = process.threadCpuUsage(began);
    parentPort?.postMessage({ ms: (user + system) / 1000, length } satisfies ReadingCost);
  });
}
