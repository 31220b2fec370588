import type { LoadMeter } from '../../src/runs/load-meter.ts';

/** For a gateway in the process of a test, whose own work would count as the gateway's and refuse what it asks. */
export const CALM: LoadMeter = { utilization: 0, lagMs: 0 };
