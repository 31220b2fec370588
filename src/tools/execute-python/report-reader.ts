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

/** The output of a run so far, and its outcome once it has ended. */
export interface SandboxRecord {
  stdout: string;
  stderr: string;
  truncated: boolean;
  outcome: Outcome | undefined;
}

/** JSON escapes and a nonce per line make reports longer than their text, but never by more than this factor. */
const OVERHEAD_FACTOR = 16;
const EXTRA_BYTES = 64 * 1024;
/** The longest note that the driver adds to a text, in characters. */
const MAX_NOTE_LENGTH = 1_000;

/** Thrown for a report that no intact sandbox process sends. The process must be killed. */
export class ForgedReportError extends Error {
  override readonly name = 'ForgedReportError';
}

/**
 * Reads the reports of one sandbox process and trusts none of them: every line needs the nonce and a valid form, and the
 * total of bytes is bounded.
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
    this.#bytesLeft = (limits.stdout + limits.stderr + 2 * limits.result) * OVERHEAD_FACTOR + EXTRA_BYTES;
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
    for (const line of lines) this.#readLine(line);
  }

  #readLine(line: string): void {
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
      record[stream] = (record[stream] + report.text).slice(0, this.#limits[stream]).toWellFormed();
    } else if (report.type === 'cut') {
      record.truncated = true;
    } else {
      record.outcome = this.#outcome(report.outcome);
    }
  }

  /** Validates the outcome that the driver reports: Python code can change the driver. */
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

  /** Cuts a text. An intact driver has cut it already, up to the notes that it adds; a changed one may not have. */
  #cut(text: string): string {
    if (text.length > this.#limits.result) this.record.truncated = true;
    return text.slice(0, this.#limits.result + MAX_NOTE_LENGTH).toWellFormed();
  }
}
