import type { SandboxReport } from '../messages.ts';

export type ReportWriter = (report: SandboxReport) => void;

/** How many writes are reported at once, so that the output of a killed run is not lost. */
const IMMEDIATE_WRITES = 200;
/** After these writes, output is buffered up to this many characters. */
const BUFFER_CHARACTERS = 4096;

/** One of Python's output streams, decoded, bounded and reported while the code runs. */
export class OutputStream {
  readonly #name: 'stdout' | 'stderr';
  readonly #report: ReportWriter;
  readonly #decoder = new TextDecoder();
  #remaining: number;
  #writes = 0;
  #pending = '';
  #cut = false;

  constructor(name: 'stdout' | 'stderr', limit: number, report: ReportWriter) {
    this.#name = name;
    this.#remaining = limit;
    this.#report = report;
  }

  /** Takes what Python writes. Output beyond the limit is dropped, so that a flood costs only its own time. */
  write(bytes: Uint8Array): number {
    if (this.#cut) return bytes.length;
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#pending += text.slice(0, this.#remaining);
    this.#writes++;
    if (text.length > this.#remaining) this.#cut = true;
    this.#remaining -= Math.min(text.length, this.#remaining);
    if (this.#cut || this.#writes <= IMMEDIATE_WRITES || this.#pending.length >= BUFFER_CHARACTERS) this.#flush();
    if (this.#cut) this.#report({ type: 'cut', stream: this.#name });
    return bytes.length;
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#pending === '') return;
    this.#report({ type: 'output', stream: this.#name, text: this.#pending });
    this.#pending = '';
  }
}
