import { addAbortSignal } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';

/** Where a command reads and writes. Results go to `out`, everything else to `err`. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Where the formatted log goes; `err` if absent. */
  log?(text: string): void;
  /** Whether lines of `err` can be rewritten. */
  readonly live: boolean;
  /** Width of `err` in columns. */
  columns(): number;
  /** Everything on standard input. @throws once the signal aborts; then nothing reads it any more. */
  readInput(signal: AbortSignal): Promise<string>;
  /** Calls `listener` for each of these signals, instead of ending the process, until disposed. */
  onSignal(signals: readonly ('SIGINT' | 'SIGTERM')[], listener: () => void): Disposable;
}

/** The terminal of this process. `plain`: lines are never rewritten. */
export function processTerminal(options: { plain: boolean }): Terminal {
  const { stdin, stdout, stderr } = process;
  // It is no failure if the reader closes the pipe, as `| head` does.
  stdout.on('error', ignoreBrokenPipe);
  stderr.on('error', ignoreBrokenPipe);
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    live: stderr.isTTY === true && !options.plain,
    columns: () => stderr.columns || 80,
    readInput: (signal) => readAll(addAbortSignal(signal, stdin)),
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
