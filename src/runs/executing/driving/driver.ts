import { notifiesWebhooks, readHeld, readRequest } from '../../stored/stored-request.ts';
import { recordRunEnd } from '../run-span.ts';
import type { DriverParts } from './driver-parts.ts';
import { drivePlain } from './plain-driver.ts';
import { driveResearch } from './research-driver.ts';
import type { RunDriver } from './run-driver.ts';
import { runTimeLimit } from './time-limit.ts';

/** Creates the driver of runs of every kind. */
export function createDriver(parts: DriverParts): RunDriver {
  return {
    async proxy(options) {
      using limit = runTimeLimit(options.signal, parts.config.current().runs);
      return await parts.proxy({ ...options, signal: limit.signal });
    },
    plain: drivePlain(parts),
    research: driveResearch(parts),
    async beforeResume(run) {
      await parts.beforeResume?.({ id: run.id, keyId: run.keyId, held: readHeld(run) });
    },
    onUsage(run, used) {
      parts.onUsage?.({ id: run.id, keyId: run.keyId, held: readHeld(run), used });
    },
    afterExecution({ run, result, ended }) {
      recordRunEnd({ run, result, ended });
      const { id, keyId, model } = run;
      if (ended) {
        const stored = { held: readHeld(run), tag: readRequest(run).tag, notifies: notifiesWebhooks(run) };
        parts.onRunEnded?.({ id, keyId, model, ...stored, ...ended });
        const { cost } = ended.used;
        if (cost > 0) parts.metrics?.cost(model, cost, parts.config.current().server.currency);
      }
      parts.metrics?.executionEnded(run, { result, status: ended?.status, now: parts.clock.now() });
    },
  };
}
