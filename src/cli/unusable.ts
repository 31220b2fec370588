import type { ExitCode } from './exit-codes.ts';

/** Ends the command with this exit code. */
export class Unusable extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode, message: string) {
    super(message);
    this.code = code;
  }
}
