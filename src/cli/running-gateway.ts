import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';

/** A gateway in this process, as the commands that start one see it. */
export interface RunningGateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops in order: no new work, streams end, runs are handed over (contract section 10). */
  close(): Promise<void>;
  /** Takes over new providers, models, keys and tools without dropping a run. Absent: a restart is needed. */
  reload?(config: GatewayConfig): void | Promise<void>;
}

/** The composition root, given to the commands because it stands above them. */
export type StartGateway = (options: { config: GatewayConfig; log: Logger }) => Promise<RunningGateway>;
