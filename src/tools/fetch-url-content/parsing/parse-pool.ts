import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ConfinedPool } from '../../../base/confined/confined-pool.ts';
import { ConfinedWorker, JobFailedError } from '../../../base/confined/confined-worker.ts';
import { FairSemaphore } from '../../../base/fair-semaphore.ts';
import { workOwner } from '../../../base/load/event-loop.ts';
import type { WorkLimits } from '../../../base/load/process-usage.ts';
import type { ParsedDocument, ParseJob } from './parse-job.ts';

/** Why a document could not be read. */
export type ParseFailureKind = 'timeout' | 'memory' | 'crashed' | 'unreadable' | 'busy';

export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly kind: ParseFailureKind;

  constructor(kind: ParseFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The child has handled hostile input, so its messages are validated like any other input. */
export const parsedDocument = z.object({
  title: z.string(),
  content: z.string(),
  author: z.string().optional(),
  published: z.string().optional(),
  updated: z.string().optional(),
  language: z.string().optional(),
  links: z.array(z.string()).optional(),
  incomplete: z.string().optional(),
}) satisfies z.ZodType<ParsedDocument>;

const childMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('parsed'), document: parsedDocument }),
  z.object({ type: z.literal('failed'), message: z.string() }),
]);
type ChildMessage = z.output<typeof childMessage>;

export interface ParsePoolOptions {
  /** The most child processes. Default: two, or one on a machine with at most two cores. */
  size?: number;
  /** Limits for one document. Default 3 s and 512 MiB. */
  limits?: Partial<WorkLimits>;
  /** Whether its processes yield to work that somebody waits for. */
  inBackground?: boolean;
  /** The most documents that wait for a process. Default 1024. */
  maxWaiting?: number;
}

/** The most that waiting documents may hold together, in bytes. One owner may hold at most as much as is left for the others. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** How long an idle child is kept, in milliseconds. */
const IDLE_MS = 60_000;
const HEAP_MB = 320;
/** Reading takes a whole core and one stays free for the gateway: on two cores a second process would only cost 50 MB. */
const DEFAULT_SIZE = Math.max(1, Math.min(2, availableParallelism() - 1));

/** Child processes that read documents. */
export class ParsePool implements Disposable {
  readonly #limits: WorkLimits;
  readonly #pool: ConfinedPool<ChildMessage>;
  /** Bytes of the documents that wait or are being read. */
  readonly #bytes = new FairSemaphore({
    name: 'documents_to_parse',
    permits: MAX_WAITING_BYTES,
    perOwner: 'what is left',
    fullError: tooMany,
  });

  constructor({ size = DEFAULT_SIZE, limits, inBackground = false, maxWaiting = 1024 }: ParsePoolOptions = {}) {
    this.#limits = { timeMs: 3000, memoryBytes: 512 * 1024 * 1024, ...limits };
    this.#pool = new ConfinedPool({
      name: 'parsers',
      permits: size,
      maxWaiting,
      fullError: tooMany,
      start: () => startParser(inBackground),
      idleMs: IDLE_MS,
    });
  }

  /**
   * Reads a document. Waits for a process until the signal aborts.
   * @throws ParseFailure, or the reason of the signal.
   */
  async parse(job: Omit<ParseJob, 'softLimitMs'>, options: { signal: AbortSignal }): Promise<ParsedDocument> {
    using _held = this.#bytes.take(workOwner(), Math.min(job.bytes.byteLength, MAX_WAITING_BYTES / 2));
    const softLimitMs = this.#limits.timeMs * 0.7;
    try {
      const reply = await this.#pool.run({ ...job, softLimitMs }, { limits: this.#limits, signal: options.signal });
      if (reply.type === 'failed') throw new ParseFailure('unreadable', reply.message);
      return reply.document;
    } catch (error) {
      throw error instanceof JobFailedError ? this.#explain(error) : error;
    }
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }

  #explain({ kind }: JobFailedError): ParseFailure {
    const { timeMs, memoryBytes } = this.#limits;
    if (kind === 'time') return new ParseFailure('timeout', `reading it takes longer than ${timeMs} ms`);
    if (kind === 'memory') {
      return new ParseFailure('memory', `reading it takes more than ${memoryBytes >> 20} MiB of memory`);
    }
    return new ParseFailure('crashed', 'the parser broke down');
  }
}

function startParser(inBackground: boolean): ConfinedWorker<ChildMessage> {
  return new ConfinedWorker(new URL('./parse-child.ts', import.meta.url), {
    packages: ['htmlparser2', 'entities', 'yauzl', 'unpdf'],
    heapMb: HEAP_MB,
    inBackground,
    read: (message) => childMessage.safeParse(message).data,
  });
}

function tooMany(): ParseFailure {
  return new ParseFailure('busy', 'too many documents are being read');
}
