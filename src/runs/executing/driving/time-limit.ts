import { type LinkedSignal, linkSignals, MAX_TIMER_MS } from '../../../base/abort.ts';
import { GatewayError } from '../../../base/errors.ts';
import { deadlineTimer } from '../../../base/load/stall.ts';
import { counted } from '../../../base/text.ts';
import type { GatewayConfig } from '../../../config/schema.ts';

/** Follows the signal of a run, and aborts after `runs.max_minutes` with the error that the run fails with. */
export function runTimeLimit(signal: AbortSignal, { maxRunMs }: Pick<GatewayConfig['runs'], 'maxRunMs'>): LinkedSignal {
  const limit = linkSignals([signal]);
  const expired = () => {
    const message = `The run took longer than ${counted(maxRunMs / 60_000, 'minute')} (runs.max_minutes).`;
    limit.abort(new GatewayError('upstream_timeout', message));
  };
  const timer = deadlineTimer(Math.min(maxRunMs, MAX_TIMER_MS), expired);
  return {
    ...limit,
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      limit[Symbol.dispose]();
    },
  };
}
