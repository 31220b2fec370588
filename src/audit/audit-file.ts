import { createWriteStream } from 'node:fs';
import type { Logger } from '../base/logger.ts';

/**
 * Writes lines where `logging.audit` says: to standard output, or behind what stands in a file, which only its owner may
 * read. A file that cannot be written is told of in the log.
 */
export function openAuditFile(target: string, log: Logger): { write(line: string): void } & Disposable {
  if (target === 'stdout') return { write: (line) => void process.stdout.write(line), [Symbol.dispose]() {} };
  const file = createWriteStream(target, { flags: 'a', mode: 0o600 });
  file.on('error', (thrown) => log.error({ err: thrown.message }, 'the audit file cannot be written'));
  return { write: (line) => void file.write(line), [Symbol.dispose]: () => void file.end() };
}
