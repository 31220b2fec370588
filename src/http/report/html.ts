import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../base/errors.ts';
import type { Report } from '../../runs/projections/report.ts';

/** How long making a document may take once it has begun, in milliseconds. */
const LIMIT_MS = 5000;
/** Documents that are made at once; more are refused for the moment. */
const MAX_THREADS = 4;

type ThreadMessage = 'begun' | { html: string };

/** Makes HTML files of reports, a few at a time. */
export class HtmlReports {
  #threads = 0;

  /**
   * The report as an HTML file.
   * @throws GatewayError `overloaded` where many are being made, `invalid_output` where it takes too long; the signal's
   * reason.
   */
  async make(report: Report, options: { signal: AbortSignal }): Promise<string> {
    options.signal.throwIfAborted();
    if (this.#threads >= MAX_THREADS) throw new GatewayError('overloaded', 'Many reports are being made. Try again.');
    this.#threads += 1;
    try {
      return await inThread(report, options);
    } finally {
      this.#threads -= 1;
    }
  }
}

/** A thread of its own: Markdown can be written so that reading it takes very long, and the text is a model's. */
async function inThread(report: Report, { signal }: { signal: AbortSignal }): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const worker = new Worker(new URL('./html-thread.ts', import.meta.url), {
    workerData: report,
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  });
  worker.on('message', (message: ThreadMessage) => {
    if (message !== 'begun') resolve(message.html);
    else timer = setTimeout(() => reject(unreadable()), LIMIT_MS);
  });
  worker.on('error', (cause) => reject(unreadable(cause)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function unreadable(cause?: unknown): GatewayError {
  const message = 'The text of this report cannot be made into HTML. Get it with format=md.';
  return new GatewayError('invalid_output', message, { cause });
}
