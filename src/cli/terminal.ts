import { text as readAll } from 'node:stream/consumers';

/** Where a command reads and writes. Results go to `out`, everything else to `err`. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Where lines of the log go that are written for eyes; `err` where absent. */
  log?(text: string): void;
  /** Whether a line of `err` can be rewritten. */
  readonly live: boolean;
  /** Width of `err` in columns. */
  columns(): number;
  /** Everything on standard input. */
  readInput(): Promise<string>;
  /** Calls `listener` for each of these signals, instead of ending the process, until disposed. */
  onSignal(signals: readonly ('SIGINT' | 'SIGTERM')[], listener: () => void): Disposable;
}

/** The terminal of this process. `plain`: no line is rewritten. */
export function processTerminal(options: { plain: boolean }): Terminal {
  const { stdin, stdout, stderr } = process;
  // A reader that has seen enough (`| head`) is no failure.
  stdout.on('error', ignoreBrokenPipe);
  stderr.on('error', ignoreBrokenPipe);
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    live: stderr.isTTY === true && !options.plain,
    columns: () => stderr.columns || 80,
    readInput: () => readAll(stdin),
    onSignal(signals, listener) {
      for (const signal of signals) process.on(signal, listener);
      return {
        [Symbol.dispose]() {
          for (const signal of signals) process.off(signal, listener);
        },
      };
    },
  };
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
