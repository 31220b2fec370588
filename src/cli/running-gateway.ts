import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';

/** A gateway in this process, as the commands that start one see it. */
export interface RunningGateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops gracefully: no new work, streams end, runs are handed over (docs/operating.md, "Stopping and updating"). */
  close(): Promise<void>;
  /**
   * Applies new providers, models, keys and tools without dropping a run. Absent: not supported here.
   * @param whatChanged for the audit, without values.
   */
  reload?(config: GatewayConfig, whatChanged?: string): void | Promise<void>;
  /** Resolves with the reason if the gateway cannot be kept running. */
  readonly failed?: Promise<string>;
}

/** The composition root, given to the commands because it stands above them. */
export type StartGateway = (options: StartOptions) => Promise<RunningGateway>;

export interface StartOptions {
  config: GatewayConfig;
  log: Logger;
  /** The file of the configuration, for processes that read it again. */
  file?: string;
  /** Keeps secrets out of the log: called with all secrets that commands and files give, whenever one changes. */
  hide?(secrets: readonly string[]): void;
  /** How many processes share the port; 1 if absent. */
  workers?: number;
}
