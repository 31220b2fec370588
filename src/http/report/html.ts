import { linkSignals, TimeoutError } from '../../base/abort.ts';
import { spawnConfinedChild } from '../../base/confined-child.ts';
import { GatewayError } from '../../base/errors.ts';
import { workOwner } from '../../base/event-loop.ts';
import { FairTurns } from '../../base/fair-turns.ts';
import type { Report } from '../../runs/projections/report.ts';

/** How long making a document may take once it has begun, in milliseconds. */
const LIMIT_MS = 5000;
/** Documents that are made at once, and how many of them for one key; more wait. */
const MAX_CHILDREN = 4;
const MAX_OF_KEY = 2;
/** Documents that wait at most, each with its report in memory, and for how long, in milliseconds. */
const MAX_WAITING = 32;
const WAIT_MS = 15_000;
const STARTUP_MS = 10_000;
const HEAP_MB = 192;

type ChildMessage = 'ready' | { html: string };

/** Makes HTML files of reports, a few at a time, in fair turns of the keys that ask for them. */
export class HtmlReports {
  readonly #turns = new FairTurns({
    places: MAX_CHILDREN,
    ofOwner: MAX_OF_KEY,
    maxWaiting: MAX_WAITING,
    full: tooMany,
  });

  /**
   * The report as an HTML file.
   * @throws GatewayError `overloaded` where many are being made, `invalid_output` where it takes too long; the signal's
   * reason.
   */
  async make(report: Report, options: { signal: AbortSignal }): Promise<string> {
    using _place = await this.#turn(options.signal);
    return await inChild(report, options);
  }

  async #turn(signal: AbortSignal): Promise<Disposable> {
    using limited = linkSignals([signal], { what: 'waiting to make a report', timeoutMs: WAIT_MS });
    try {
      return await this.#turns.enter(workOwner(), limited.signal);
    } catch (error) {
      throw error instanceof TimeoutError ? tooMany() : error;
    }
  }
}

function tooMany(): GatewayError {
  return new GatewayError('overloaded', 'Many reports are being made. Try again.');
}

/**
 * A process of its own: Markdown can be written so that reading it takes very long, and the text is a model's. A thread
 * that runs out of memory would take the whole gateway with it.
 */
async function inChild(report: Report, { signal }: { signal: AbortSignal }): Promise<string> {
  signal.throwIfAborted();
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
