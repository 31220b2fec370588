import { sleep } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import { isStoreUnavailable } from '../../store/failure.ts';
import { NewerDataError } from '../stored/stored-data.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { Execution, type ExecutionOptions } from './execution.ts';
import { ClaimLostError, LEASE_MS } from './run-lease.ts';
import { recordRunEnd } from './run-span.ts';

/** Drives a claimed run until it ends or is handed over. Never rejects: what fails is logged. */
export async function executeRun(options: ExecutionOptions): Promise<ExecutionResult> {
  const { driver, lease, log } = options;
  let execution: Execution | undefined;
  let result: ExecutionResult = 'lost';
  try {
    if (!options.beginning) await driver.beforeResume?.(lease.run);
    execution = await Execution.open(options);
    result = await execution.drive();
    // A claim lost to an unreachable store is no crash: release it, so that it does not count as one.
    if (result === 'lost') await lease.release().catch(() => {});
  } catch (thrown) {
    // The log could not be read: the run stays open and is claimed again. If only a newer gateway can drive it, or the
    // store is away, release the claim so that it does not count as an attempt.
    const isAway = isStoreUnavailable(thrown);
    const isTemporary = isAway || thrown instanceof NewerDataError;
    if (!(thrown instanceof ClaimLostError)) {
      log[isTemporary ? 'warn' : 'error']({ run: lease.run.id, err: messageOf(thrown) }, 'run cannot be driven now');
    }
    // Wait first: a store that fails reads but takes claims would be asked in a tight loop.
    if (isAway) await sleep(LEASE_MS, { signal: lease.signal }).catch(() => {});
    if (isTemporary) await lease.release().catch(() => {});
  }
  recordRunEnd(execution?.ended);
  try {
    driver.afterExecution?.({ run: lease.run, result, ended: execution?.ended });
  } catch (thrown) {
    // Accounting of one run must not end the process that drives all others.
    log.error({ run: lease.run.id, err: messageOf(thrown) }, 'the end of a run could not be accounted for');
  }
  return result;
}
