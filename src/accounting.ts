import type { Clock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import type { Logger } from './base/logger.ts';
import type { LiveConfig } from './config/live-config.ts';
import type { Admission } from './http/limits/admission.ts';
import type { Activity } from './http/operator/activity.ts';
import type { DriverParts } from './runs/executing/driving/driver-parts.ts';
import type { RunMetrics } from './runs/metrics.ts';
import type { AdmittedRun, EndedRun } from './runs/submission.ts';
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

/** The driver's callbacks: metrics, usage, limits and webhooks of runs. */
export function accounting({ live, metrics, admission, usage, webhooks, activity, storage, log }: AccountingParts) {
  const { maxRunMs: runMs } = live.current().runs;
  const warn = (message: string) => (run: AdmittedRun) => (thrown: unknown) =>
    log.warn({ run: run.id, err: messageOf(thrown) }, message);
  const onNotCounted = warn('a run that begins was not counted');
  const onNotReleased = warn('limits of an ended run were not freed');
  const onNotDelivered = warn('the end of a run is delivered a little later');
  return {
    metrics,
    beforeResume: (run: AdmittedRun) => admission.renewRun({ ...run, runMs }).catch(onNotCounted(run)),
    // A store that is away gets the usage with the next step.
    onUsage: (run: EndedRun) => void admission.noteRunUsage({ ...run, runMs }).catch(() => {}),
    onRunEnded(run: Parameters<NonNullable<DriverParts['onRunEnded']>>[0]) {
      const { error, status, model, keyId, tag, used } = run;
      const team = live.keyById(keyId)?.team;
      usage.add({ labels: { key: keyId, team, model, tag }, used, failed: status === 'failed' });
      admission.settleRun(run).catch(onNotReleased(run));
      if (run.notifies) webhooks.deliverEnd(run.id).catch(onNotDelivered(run));
      if (error === undefined || error === 'cancelled') return;
      activity.recordFailure({ at: storage.clock.now(), where: 'run', code: error, model, key: keyId });
    },
  } satisfies Partial<DriverParts>;
}
