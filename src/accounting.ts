import type { Clock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import type { Logger } from './base/logger.ts';
import type { LiveConfig } from './config/live-config.ts';
import type { Admission } from './http/limits/admission.ts';
import type { Activity } from './http/operator/activity.ts';
import type { DriverParts } from './runs/executing/driving/driver-parts.ts';
import type { RunDriver } from './runs/executing/driving/run-driver.ts';
import type { RunMetrics } from './runs/metrics.ts';
import type { RunRecord } from './runs/runs.ts';
import { notifiesWebhooks, readHeld, readRequest } from './runs/stored/stored-request.ts';
import { emptyTotals } from './upstream/usage-totals.ts';
import type { UsageLog } from './usage/usage.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

export interface AccountingParts {
  live: LiveConfig;
  metrics: RunMetrics;
  admission: Admission;
  usage: Pick<UsageLog, 'add'>;
  webhooks: Pick<Webhooks, 'deliverEnd'>;
  activity: Activity;
  storage: { clock: Clock };
  log: Logger;
}

/** What a driver reports of its runs: to metrics, usage, limits and webhooks. */
export function accounting({ live, metrics, admission, usage, webhooks, activity, storage, log }: AccountingParts) {
  const { maxRunMs: runMs } = live.current().runs;
  const warn = (message: string) => (run: RunRecord) => (thrown: unknown) =>
    log.warn({ run: run.id, err: messageOf(thrown) }, message);
  const onNotCounted = warn('a run that begins was not counted');
  const onNotReleased = warn('limits of an ended run were not freed');
  const onNotDelivered = warn('the end of a run is delivered a little later');
  const admitted = (run: RunRecord) => ({ id: run.id, keyId: run.keyId, held: readHeld(run) });
  return {
    beforeResume: (run) => admission.renewRun({ ...admitted(run), runMs }).catch(onNotCounted(run)),
    // A store that is away gets the usage with the next step.
    onUsage: (run, used) => void admission.noteRunUsage({ ...admitted(run), used, runMs }).catch(() => {}),
    onToolCall: (call) => metrics.toolCall(call),
    afterExecution({ run, result, ended }) {
      metrics.executionEnded(run, { result, status: ended?.status, now: storage.clock.now() });
      if (!ended) return;
      const { error, status, used } = ended;
      const { keyId, model } = run;
      if (used && used.cost > 0) metrics.cost(model, used.cost, live.current().server.currency);
      if (error !== undefined && error !== 'cancelled') {
        activity.recordFailure({ at: storage.clock.now(), where: 'run', code: error, model, key: keyId });
      }
      const team = live.keyById(keyId)?.team;
      const labels = { key: keyId, team, model, tag: readRequest(run).tag };
      usage.add({ labels, used: used ?? emptyTotals(), failed: status === 'failed' });
      admission.settleRun({ ...admitted(run), used }).catch(onNotReleased(run));
      if (notifiesWebhooks(run)) webhooks.deliverEnd(run.id).catch(onNotDelivered(run));
    },
  } satisfies Partial<RunDriver> & Pick<DriverParts, 'onToolCall'>;
}
