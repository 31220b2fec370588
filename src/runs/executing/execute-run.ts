import { sleep } from '../../base/abort.ts';
import { toSeconds } from '../../base/clock.ts';
import { GatewayError, messageOf } from '../../base/errors.ts';
import { publicId } from '../../base/ids.ts';
import { cancelledError, newResponse } from '../../protocol/response.ts';
import { isStoreUnavailable } from '../../store/failure.ts';
import { NewerDataError } from '../stored/stored-data.ts';
import type { ExecutionResult, RunEnd } from './driving/run-driver.ts';
import { Execution, type ExecutionOptions } from './execution.ts';
import { eventFrames } from './log/event-frames.ts';
import { ClaimLostError, LEASE_MS, MAX_ATTEMPTS } from './run-lease.ts';
import { recordRunEnd } from './run-span.ts';

/** Drives a claimed run until it ends or is handed over. Never rejects: what fails is logged. */
export async function executeRun(options: ExecutionOptions): Promise<ExecutionResult> {
  const { driver, lease, log } = options;
  let execution: Execution | undefined;
  let result: ExecutionResult = 'lost';
  let unreadable: RunEnd | undefined;
  try {
    if (!options.beginning) await driver.beforeResume?.(lease.run);
    execution = await Execution.open(options);
    result = await execution.drive();
    // A claim lost to an unreachable store is no crash: release it, so that it does not count as one.
    if (result === 'lost') await lease.release().catch(() => {});
  } catch (thrown) {
    // What is stored of the run could not be read: it is claimed again, unless it was cancelled or this happened too often.
    // If only a newer gateway can drive it, or the store is away, release the claim so that it does not count as an attempt.
    const isAway = isStoreUnavailable(thrown);
    const isTemporary = isAway || thrown instanceof NewerDataError;
    if (!(thrown instanceof ClaimLostError)) {
      log[isTemporary ? 'warn' : 'error']({ run: lease.run.id, err: messageOf(thrown) }, 'run cannot be driven now');
    }
    if ((!isAway && lease.cancelled) || (!isTemporary && lease.attempts > MAX_ATTEMPTS)) {
      unreadable = await endUnreadable(options);
      if (unreadable) result = 'ended';
    } else if (isTemporary && !lease.cancelled) {
      // Wait first: a run that can be claimed but not read would be claimed in a tight loop.
      await sleep(LEASE_MS, { signal: lease.signal }).catch(() => {});
      await lease.release().catch(() => {});
    }
  }
  const ended = execution?.ended ?? unreadable;
  recordRunEnd(ended);
  try {
    driver.afterExecution?.({ run: lease.run, result, ended });
  } catch (thrown) {
    // Accounting of one run must not end the process that drives all others.
    log.error({ run: lease.run.id, err: messageOf(thrown) }, 'the end of a run could not be accounted for');
  }
  return result;
}

/**
 * Ends a run that cannot be read back, with as much of its response as was read. What it has used counts as last noted.
 * Undefined if its end could not be written.
 */
async function endUnreadable({ store, lease, clock, retentionMs, log }: ExecutionOptions): Promise<RunEnd | undefined> {
  const { run, token, fold, cancelled } = lease;
  const crash = new GatewayError('run_crashed', `What is stored of the run could not be read ${MAX_ATTEMPTS} times.`);
  const at = Math.max(clock.now(), run.startedAt ?? 0);
  const ids = { id: publicId('responses', run.id), created_at: toSeconds(run.createdAt), model: run.model };
  const response = {
    ...(fold?.response ?? newResponse(ids)),
    started_at: run.startedAt === null ? null : toSeconds(run.startedAt),
    completed_at: toSeconds(at),
    status: cancelled ? ('cancelled' as const) : ('failed' as const),
    error: cancelled ? cancelledError() : crash.toObject(),
  };
  const { status, error } = response;
  const first = run.last + 1;
  const frames = eventFrames([{ type: 'response.failed', response }], first);
  const end = { status, at, retainMs: run.api === 'unstored' ? 0 : retentionMs };
  const appended = await store.append(run.id, { token, first, count: 1, frames, end }).catch(() => undefined);
  if (appended?.result !== 'ok') return undefined;
  log.info({ status, error: error.code, attempts: lease.attempts }, 'run ended');
  return { status, used: undefined, error: error.code };
}
