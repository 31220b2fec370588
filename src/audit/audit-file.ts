import { appendFile } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

/**
 * Writes lines where `logging.audit` says: to standard output, or behind what stands in a file, which only its owner may
 * read. The file is opened for each line: it may be moved away to begin a new one, and a disk that was full has room again.
 * A line that cannot be written is reported in the log, once until writing works again.
 */
export function openAuditFile(target: string, log: Logger): { write(line: string): void } & AsyncDisposable {
  if (target === 'stdout')
    return { write: (line) => void process.stdout.write(line), async [Symbol.asyncDispose]() {} };
  let failed = false;
  const append = async (text: string) => {
    try {
      await appendFile(target, text, { mode: 0o600 });
      failed = false;
    } catch (thrown) {
      if (!failed) log.error({ err: messageOf(thrown) }, 'the audit file cannot be written');
      failed = true;
    }
  };
  // That it cannot be written is known from the start.
  let written = append('');
  return {
    write(line) {
      written = written.then(() => append(line));
    },
    [Symbol.asyncDispose]: () => written,
  };
}
