import { z } from 'zod';
import { linkSignals, TimeoutError } from '../../base/abort.ts';
import { ConfinedWorker, JobFailedError } from '../../base/confined/confined-worker.ts';
import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import type { WorkLimits } from '../../base/load/process-usage.ts';
import type { Report } from '../../runs/projections/report.ts';
import type { DocumentFormat } from './document-child.ts';

const LIMITS: WorkLimits = { timeMs: 5000, memoryBytes: 384 * 1024 * 1024 };
/** How many documents are made at once, in all and for one key; more wait. */
const MAX_CHILDREN = 4;
const MAX_OF_KEY = 2;
/** How many documents may wait, each with its report in memory, and for how long, in milliseconds. */
const MAX_WAITING = 32;
const WAIT_MS = 15_000;
const HEAP_MB = 192;

const NAMES: Readonly<Record<DocumentFormat, string>> = { html: 'HTML', docx: 'a Word document', json: 'JSON' };

const childResult = z.object({ body: z.instanceof(Uint8Array) });

/** Makes documents of reports, a few at a time and shared fairly among keys. */
export class ReportDocuments {
  readonly #turns = new FairSemaphore({
    name: 'report_documents',
    permits: MAX_CHILDREN,
    perOwner: MAX_OF_KEY,
    maxWaiting: MAX_WAITING,
    fullError: tooMany,
  });

  /**
   * The report as a file of this format.
   * @throws GatewayError `overloaded` if too many are being made, `invalid_output` if it takes too long; the signal's reason.
   */
  async make(report: Report, options: MakeOptions): Promise<Uint8Array> {
    using limited = linkSignals([options.signal], { what: 'waiting to make a report', timeoutMs: WAIT_MS });
    using _place = await this.#turns.acquire(workOwner(), limited.signal).catch((error: unknown) => {
      throw error instanceof TimeoutError ? tooMany() : error;
    });
    return await inChild(report, options);
  }
}

interface MakeOptions {
  format: DocumentFormat;
  signal: AbortSignal;
}

function tooMany(): GatewayError {
  return new GatewayError('overloaded', 'Many reports are being made. Try again.');
}

/**
 * Makes the document in a child process, because a model can write Markdown that takes very long to parse. A worker thread
 * that runs out of memory would crash the whole gateway.
 */
async function inChild(report: Report, { format, signal }: MakeOptions): Promise<Uint8Array> {
  using worker = new ConfinedWorker(new URL('./document-child.ts', import.meta.url), {
    packages: ['marked', 'entities', 'temml', 'zod'],
    heapMb: HEAP_MB,
    read: (message) => childResult.safeParse(message).data,
  });
  try {
    const { body } = await worker.run({ report, format }, { limits: LIMITS, signal });
    return body;
  } catch (error) {
    if (!(error instanceof JobFailedError)) throw error;
    throw error.kind === 'not_started' ? tooMany() : unreadable(format, error);
  }
}

function unreadable(format: DocumentFormat, cause: JobFailedError): GatewayError {
  const message = `The text of this report cannot be made into ${NAMES[format]}. Get it with format=md.`;
  return new GatewayError('invalid_output', message, { cause });
}
