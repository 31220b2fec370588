import { appendFile } from 'node:fs/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

/**
 * Opens the target of `logging.audit`: standard output, or a file that is appended to and that only its owner may read. The
 * file is opened anew for each line, so that it can be rotated and a full disk can recover. A failure is logged once until
 * writing works again.
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
      if (!failed) log.error({ err: messageOf(thrown) }, 'the audit file (logging.audit) cannot be written');
      failed = true;
    }
  };
  // Append nothing, to report at the start that the file cannot be written.
  let written = append('');
  return {
    write(line) {
      written = written.then(() => append(line));
    },
    [Symbol.asyncDispose]: () => written,
  };
}
