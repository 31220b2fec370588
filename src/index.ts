import './base/node/polyfills.ts';
import { createLogger, Redactor } from './base/logger.ts';
import { readEnvironment } from './config/environment.ts';
import { loadConfig as load, noticesOf } from './config/load.ts';
import type { GatewayConfig } from './config/schema.ts';
import { secretsIn } from './config/secrets.ts';

/** The package's API, for programs that run a gateway themselves (docs/package.md, "In a program"). */
export type { GatewayConfig };

export interface LoadConfigOptions {
  /** For `${NAME}` in the file, `GATEWAY_CONFIG`, `HOST` and `PORT`; defaults to the environment of the process. */
  variables?: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths start at; defaults to the working directory. */
  root?: string;
}

export interface StartGatewayOptions {
  /** Receives log lines, JSON with secrets removed; defaults to standard error. */
  log?: { write(line: string): void };
}

/** A gateway that runs in this process. */
export interface Gateway extends AsyncDisposable {
  /** Its address without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops gracefully: no new work, streams end, runs are handed over. Takes at most `server.shutdown_grace_seconds`. */
  close(): Promise<void>;
}

/**
 * Reads and validates a configuration file (docs/configuration.md). The result is frozen; a gateway can also be started
 * with a changed copy of it.
 * @param file defaults to `GATEWAY_CONFIG`, then `config/gateway.yaml`.
 * @throws Error whose message names all problems of the file.
 */
export async function loadConfig(file?: string, options: LoadConfigOptions = {}): Promise<GatewayConfig> {
  const environment = readEnvironment(options.variables);
  const { config } = await load({ environment, file, root: options.root });
  return config;
}

/**
 * Starts a gateway in this process and waits until it listens. Only the command line supports `server.workers` and reloads
 * a changed file.
 * @throws Error with the fix if a part cannot start, or the system's own if it cannot listen on the address.
 */
export async function startGateway(config: GatewayConfig, options: StartGatewayOptions = {}): Promise<Gateway> {
  const { startGateway: start } = await import('./server.ts');
  const redactor = new Redactor();
  redactor.setSecrets(secretsIn(config));
  const destination = options.log === undefined ? {} : { destination: options.log };
  const log = createLogger({ level: config.logging.level, redactor, ...destination });
  const gateway = await start({ config, log, hide: (secrets) => redactor.setRefreshed(secrets) });
  for (const notice of await noticesOf(config)) log.warn(notice);
  const close = () => gateway.close();
  return { url: gateway.url, close, [Symbol.asyncDispose]: close };
}
