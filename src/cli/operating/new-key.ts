import { randomBytes } from 'node:crypto';
import { secretHash } from '../../config/secrets.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

/** Prints a new random API key, and what to write into the configuration so that it need not hold the key itself. */
export function newKey(options: { id: string }, terminal: Terminal): ExitCode {
  const key = `sk-${randomBytes(32).toString('base64url')}`;
  const hash = secretHash({ secret: key });
  terminal.out(
    `key:    ${key}\nsha256: ${hash}\n\n` +
      'Give the key to its user; it is shown only now. For the configuration:\n\n' +
      `keys:\n  - id: ${JSON.stringify(options.id)}\n    secret_sha256: ${hash}\n`,
  );
  return EXIT.completed;
}
