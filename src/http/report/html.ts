import { spawnConfinedChild } from '../../base/confined-child.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Report } from '../../runs/projections/report.ts';

/** How long making a document may take once it has begun, in milliseconds. */
const LIMIT_MS = 5000;
/** Documents that are made at once; more are refused for the moment. */
const MAX_CHILDREN = 4;
const STARTUP_MS = 10_000;
const HEAP_MB = 192;

type ChildMessage = 'ready' | { html: string };

/** Makes HTML files of reports, a few at a time. */
export class HtmlReports {
  #children = 0;

  /**
   * The report as an HTML file.
   * @throws GatewayError `overloaded` where many are being made, `invalid_output` where it takes too long; the signal's
   * reason.
   */
  async make(report: Report, options: { signal: AbortSignal }): Promise<string> {
    options.signal.throwIfAborted();
    if (this.#children >= MAX_CHILDREN) throw new GatewayError('overloaded', 'Many reports are being made. Try again.');
    this.#children += 1;
    try {
      return await inChild(report, options);
    } finally {
      this.#children -= 1;
    }
  }
}

/**
 * A process of its own: Markdown can be written so that reading it takes very long, and the text is a model's. A thread
 * that runs out of memory would take the whole gateway with it.
 */
async function inChild(report: Report, { signal }: { signal: AbortSignal }): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const child = spawnConfinedChild(new URL('./html-child.ts', import.meta.url), {
    packages: ['marked'],
    heapMb: HEAP_MB,
  });
  let timer = setTimeout(() => reject(unreadable()), STARTUP_MS);
  child.on('message', (message: ChildMessage) => {
    if (message !== 'ready') return resolve(message.html);
    clearTimeout(timer);
    timer = setTimeout(() => reject(unreadable()), LIMIT_MS);
    child.send(report, (error) => error && reject(unreadable(error)));
  });
  child.once('error', (cause) => reject(unreadable(cause)));
  child.once('exit', () => reject(unreadable()));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
  }
}

function unreadable(cause?: unknown): GatewayError {
  const message = 'The text of this report cannot be made into HTML. Get it with format=md.';
  return new GatewayError('invalid_output', message, { cause });
}
