import type { SandboxReport } from '../messages.ts';

export type ReportWriter = (report: SandboxReport) => void;

/** Writes that go out at once, so that a run that is killed has shown what it printed. */
const PROMPT_WRITES = 200;
/** After them, output is gathered up to this many characters. */
const GATHERED_CHARACTERS = 4096;

/** One of Python's output streams: decoded, bounded, reported while the code runs. */
export class OutputStream {
  readonly #name: 'stdout' | 'stderr';
  readonly #report: ReportWriter;
  readonly #decoder = new TextDecoder();
  #left: number;
  #writes = 0;
  #pending = '';
  #cut = false;

  constructor(name: 'stdout' | 'stderr', limit: number, report: ReportWriter) {
    this.#name = name;
    this.#left = limit;
    this.#report = report;
  }

  /** Takes what Python writes; beyond the limit it is dropped, so that a flood costs nothing but its own time. */
  write(bytes: Uint8Array): number {
    if (this.#cut) return bytes.length;
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#pending += text.slice(0, this.#left);
    this.#writes++;
    if (text.length > this.#left) this.#cut = true;
    this.#left -= Math.min(text.length, this.#left);
    if (this.#cut || this.#writes <= PROMPT_WRITES || this.#pending.length >= GATHERED_CHARACTERS) this.#flush();
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
