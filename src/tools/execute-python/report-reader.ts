import { StringDecoder } from 'node:string_decoder';
import { parseJson } from '../../base/json.ts';
import {
  type Outcome,
  type OutputLimits,
  outcomeSchema,
  READY_LINE,
  reportSchema,
  type SandboxReport,
} from './messages.ts';

/** What a run has shown so far, and how it ended once it has. */
export interface SandboxRecord {
  stdout: string;
  stderr: string;
  truncated: boolean;
  outcome: Outcome | undefined;
}

/** JSON escapes and one nonce per line make a report longer than its text; beyond this factor it is no honest one. */
const OVERHEAD_FACTOR = 16;
const SPARE_BYTES = 64 * 1024;

/** Thrown where a sandbox process says what no honest one says. The process is to be killed. */
export class ForgedReportError extends Error {
  override readonly name = 'ForgedReportError';
}

/**
 * Reads the reports of one sandbox process. Trusts nothing: every line needs the nonce and the right shape, and the sum
 * of bytes is bounded, whatever the process writes.
 */
export class ReportReader {
  readonly record: SandboxRecord = { stdout: '', stderr: '', truncated: false, outcome: undefined };
  readonly #prefix: string;
  readonly #limits: OutputLimits;
  readonly #decoder = new StringDecoder('utf8');
  #bytesLeft: number;
  #rest = '';
  #ready = false;

  constructor(nonce: string, limits: OutputLimits) {
    this.#prefix = `${nonce} `;
    this.#limits = limits;
    this.#bytesLeft = (limits.stdout + limits.stderr + 2 * limits.result) * OVERHEAD_FACTOR + SPARE_BYTES;
  }

  /** Whether the interpreter is loaded. */
  get ready(): boolean {
    return this.#ready;
  }

  /** @throws ForgedReportError */
  push(chunk: Buffer): void {
    if (this.record.outcome) return;
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) throw new ForgedReportError('a sandbox process reported more than it can have to say');
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    if (this.record.outcome) return;
    if (!this.#ready) {
      if (line !== READY_LINE) throw new ForgedReportError('a sandbox process began with an unknown line');
      this.#ready = true;
      return;
    }
    if (!line.startsWith(this.#prefix)) throw new ForgedReportError('a sandbox process reported without its nonce');
    const report = reportSchema.safeParse(parseJson(line.slice(this.#prefix.length)));
    if (!report.success) throw new ForgedReportError('a sandbox process reported in an unknown form');
    this.#apply(report.data);
  }

  #apply(report: SandboxReport): void {
    const { record } = this;
    if (report.type === 'output') {
      const { stream } = report;
      record[stream] = (record[stream] + report.text).slice(0, this.#limits[stream]);
    } else if (report.type === 'cut') {
      record.truncated = true;
    } else {
      record.outcome = this.#outcome(report.outcome);
    }
  }

  /** The driver's own words. Python code can change the driver, so they are checked like any input. */
  #outcome(text: string): Outcome {
    const parsed = outcomeSchema.safeParse(parseJson(text));
    if (!parsed.success) {
      return { result: null, error: { code: 'crashed', message: 'The code broke the interpreter it ran in.' } };
    }
    const { result, error } = parsed.data;
    return {
      result: result === null ? null : this.#cut(result),
      ...(error && { error: { ...error, message: this.#cut(error.message) } }),
    };
  }

  /** The driver cuts texts itself and says so; this is for drivers that were tampered with, and for the notes it adds. */
  #cut(text: string): string {
    const most = this.#limits.result + 1_000;
    if (text.length > this.#limits.result) this.record.truncated = true;
    return text.slice(0, most);
  }
}
