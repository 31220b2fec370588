import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ConfinedPool } from '../../../base/confined/confined-pool.ts';
import { BrokenJob, ConfinedWorker } from '../../../base/confined/confined-worker.ts';
import { FairSemaphore } from '../../../base/fair-semaphore.ts';
import { workOwner } from '../../../base/load/event-loop.ts';
import type { WorkLimits } from '../../../base/load/process-usage.ts';
import type { ParsedDocument, ParseJob } from './parse-job.ts';

/** Why a document was not read. */
export type ParseFailureKind = 'timeout' | 'memory' | 'crashed' | 'unreadable' | 'busy';

export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly kind: ParseFailureKind;

  constructor(kind: ParseFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The child has touched hostile input, so what it sends is checked like any other input. */
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
  /** Child processes at most. Default: two, one where there are no more than two cores. */
  size?: number;
  /** Limits of one document. Default 3 s and 512 MiB. */
  limits?: Partial<WorkLimits>;
  /** Whether its processes stand back behind what somebody waits for. */
  inBackground?: boolean;
  /** Documents waiting for a process at most. Default 1024. */
  maxWaiting?: number;
}

/** Documents that wait hold no more than this together, in bytes; those of one owner as much as is left for others. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** Idle children end after this time, in milliseconds. */
const IDLE_MS = 60_000;
const HEAP_MB = 320;
/** Reading takes a whole core, and one is left to the gateway: a second process would take turns with it, and 50 MB. */
const PROCESSES = Math.max(1, Math.min(2, availableParallelism() - 1));

/** Child processes that read documents. */
export class ParsePool implements Disposable {
  readonly #limits: WorkLimits;
  readonly #pool: ConfinedPool<ChildMessage>;
  /** Documents that wait or are read, in bytes. */
  readonly #bytes = new FairSemaphore({
    name: 'documents_to_parse',
    permits: MAX_WAITING_BYTES,
    ofOwner: 'what is left',
    full: tooMany,
  });

  constructor({ size = PROCESSES, limits, inBackground = false, maxWaiting = 1024 }: ParsePoolOptions = {}) {
    this.#limits = { timeMs: 3000, memoryBytes: 512 * 1024 * 1024, ...limits };
    this.#pool = new ConfinedPool({
      name: 'parsers',
      permits: size,
      maxWaiting,
      full: tooMany,
      start: () => startParser(inBackground),
      idleMs: IDLE_MS,
    });
  }

  /**
   * Reads a document. Waits for a process as long as the caller does.
   * @throws ParseFailure, or the reason of the signal.
   */
  async parse(job: Omit<ParseJob, 'softLimitMs'>, options: { signal: AbortSignal }): Promise<ParsedDocument> {
    using _held = this.#bytes.take(workOwner(), Math.min(job.bytes.byteLength, MAX_WAITING_BYTES / 2));
    const softLimitMs = this.#limits.timeMs * 0.7;
    try {
      const said = await this.#pool.run({ ...job, softLimitMs }, { limits: this.#limits, signal: options.signal });
      if (said.type === 'failed') throw new ParseFailure('unreadable', said.message);
      return said.document;
    } catch (error) {
      throw error instanceof BrokenJob ? this.#explain(error) : error;
    }
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }

  #explain({ kind }: BrokenJob): ParseFailure {
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
