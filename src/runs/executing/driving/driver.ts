import type { DriverParts } from './driver-parts.ts';
import { drivePlain } from './plain-driver.ts';
import { driveResearch } from './research-driver.ts';
import type { RunDriver } from './run-driver.ts';
import { runTimeLimit } from './time-limit.ts';

/** Creates the driver of runs of every kind. It reports to nobody. */
export function createDriver(parts: DriverParts): RunDriver {
  return {
    async proxy(options) {
      using limit = runTimeLimit(options.signal, parts.config.current().runs);
      return await parts.proxy({ ...options, signal: limit.signal });
    },
    plain: drivePlain(parts),
    research: driveResearch(parts),
    pricing({ model: name, keyId }) {
      const { models, server } = parts.config.current();
      const [route] = parts.config.keyById(keyId)?.routes[name] ?? models[name]?.routes ?? [];
      return { currency: server.currency, price: route?.price };
    },
  };
}
