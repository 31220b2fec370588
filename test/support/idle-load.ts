import type { LoadMeter } from '../../src/runs/load-meter.ts';

/** An idle load meter for a gateway in the process of a test: the test's own work would make the gateway refuse requests. */
export const IDLE_LOAD: LoadMeter = { utilization: 0, lagMs: 0 };
