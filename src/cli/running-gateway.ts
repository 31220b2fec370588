import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';

/** A gateway in this process, as the commands that start one see it. */
export interface RunningGateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops in order: no new work, streams end, runs are handed over (docs/operating.md, "Stopping and updating"). */
  close(): Promise<void>;
  /** Takes over new providers, models, keys and tools without dropping a run. Absent: a restart is needed. */
  reload?(config: GatewayConfig): void | Promise<void>;
  /** Resolves where the gateway cannot be kept running, with the reason. */
  readonly failed?: Promise<string>;
}

/** The composition root, given to the commands because it stands above them. */
export type StartGateway = (options: StartOptions) => Promise<RunningGateway>;

export interface StartOptions {
  config: GatewayConfig;
  log: Logger;
  /** Where the configuration was read, for processes that read it again. */
  file?: string;
  /** Gets the secrets that commands and files gave, all of now whenever one changes: they belong in no log line. */
  hide?(secrets: readonly string[]): void;
  /** Processes behind one port; 1 where absent. */
  workers?: number;
}
