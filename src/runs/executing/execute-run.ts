import { sleep } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { isStoreAway } from '../../store/failure.ts';
import { NewerDataError } from '../stored/stored-data.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { Execution, type ExecutionOptions } from './execution.ts';
import { ClaimLostError, LEASE_MS } from './run-lease.ts';

/** Drives a claimed run from where its log and transcript stand to its end, or until it is handed over. */
export async function executeRun(options: ExecutionOptions): Promise<ExecutionResult> {
  const { driver, lease, log } = options;
  let execution: Execution | undefined;
  let result: ExecutionResult = 'lost';
  try {
    if (!options.beginning) await driver.begins?.(lease.run);
    execution = await Execution.open(options);
    result = await execution.drive();
    // Where the claim was lost to a store that was away, its owner lives: nothing has crashed.
    if (result === 'lost') await lease.release().catch(() => {});
  } catch (thrown) {
    // Reading the log failed: the run stays open and is claimed again. One that a newer gateway has to go on with is
    // given back without having been tried, and so is one whose store is away.
    const isAway = isStoreAway(thrown);
    const isTemporary = isAway || thrown instanceof NewerDataError;
    if (!(thrown instanceof ClaimLostError)) {
      log[isTemporary ? 'warn' : 'error']({ run: lease.run.id, err: messageOf(thrown) }, 'run cannot be driven now');
    }
    // Not at once: a store that only reads badly would be asked again and again.
    if (isAway) await sleep(LEASE_MS, { signal: lease.signal }).catch(() => {});
    if (isTemporary) await lease.release().catch(() => {});
  }
  try {
    driver.left?.({ run: lease.run, result, ended: execution?.ended });
  } catch (thrown) {
    // Accounting of one run must not end the process that drives all others.
    log.error({ run: lease.run.id, err: messageOf(thrown) }, 'the end of a run could not be told');
  }
  return result;
}
