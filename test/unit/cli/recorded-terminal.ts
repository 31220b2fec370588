import type { Terminal } from '../../../src/cli/terminal.ts';

/** A terminal that keeps what is written to it, and can be interrupted. */
export class RecordedTerminal implements Terminal {
  readonly live: boolean;
  readonly #input: string;
  readonly #listeners = new Set<() => void>();
  readonly #waiting: { pattern: RegExp; resolve: () => void }[] = [];
  written = { out: '', err: '' };

  constructor(options: { live?: boolean; input?: string } = {}) {
    this.live = options.live ?? false;
    this.#input = options.input ?? '';
  }

  out = (text: string): void => {
    this.written.out += text;
  };

  err = (text: string): void => {
    this.written.err += text;
    for (const { pattern, resolve } of this.#waiting) if (pattern.test(this.written.err)) resolve();
  };

  columns(): number {
    return 60;
  }

  async readInput(): Promise<string> {
    return this.#input;
  }

  onSignal(_signals: readonly string[], listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Ctrl-C. */
  interrupt(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves once something was written to `err`. */
  shown(pattern: RegExp): Promise<void> {
    if (pattern.test(this.written.err)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ pattern, resolve }));
  }
}
