import { flushCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { messageOf } from '../base/errors.ts';
import { inSlices } from '../base/load/event-loop.ts';
import { createLogger, type Logger, Redactor } from '../base/logger.ts';
import { ConfigError } from '../config/config-error.ts';
import type { Environment } from '../config/environment.ts';
import { defaultKeyNotice, type LoadedConfig, type LoadOptions, loadConfig } from '../config/load.ts';
import { secretsIn } from '../config/secrets.ts';
import { watchConfig } from '../config/watch.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { RunningGateway, StartGateway } from './running-gateway.ts';
import { startScreen } from './start-screen.ts';
import type { Terminal } from './terminal.ts';
import { terminalLog } from './terminal-log.ts';

/** The longest text about a reload in the audit, in characters. */
const MAX_SUMMARY = 2000;

export interface ServeParts {
  environment: Environment;
  terminal: Terminal;
  startGateway: StartGateway;
}

/** Runs a gateway until SIGINT or SIGTERM, and reloads its configuration when the file changes. */
export async function serve(
  options: { config?: string | undefined; workers?: number | 'auto' | undefined },
  parts: ServeParts,
): Promise<ExitCode> {
  const { terminal, environment } = parts;
  const load: LoadOptions = { environment, file: options.config };
  const loaded = await loadOrExplain(load, terminal);
  if (loaded === undefined) return EXIT.usage;
  const redactor = new Redactor();
  redactor.setSecrets(secretsIn(loaded.config));
  const { level } = loaded.config.logging;
  const destination = terminal.live ? { destination: terminalLog(terminal.log ?? terminal.err) } : {};
  const log = createLogger({ level, redactor, ...destination });
  const stopped = Promise.withResolvers<void>();
  // Registered before anything starts, so that a stop during the start takes effect once it is over.
  const stop = terminal.onSignal(['SIGINT', 'SIGTERM'], () => stopped.resolve());
  try {
    const { config, file } = loaded;
    const requested = options.workers ?? config.server.workers;
    const workers = requested === 'auto' ? availableParallelism() : requested;
    const hide = (secrets: readonly string[]) => redactor.setRefreshed(secrets);
    const gateway = await parts.startGateway({ config, log, file, workers, hide });
    log.info({ url: gateway.url, config: file }, 'listening');
    if (terminal.live) terminal.err(redactor.redact(startScreen({ config, file, url: gateway.url })));
    for (const notice of loaded.notices) {
      // The start screen shows it already.
      if (!terminal.live || notice !== defaultKeyNotice(config)) log.warn(notice);
    }
    // Write the compile cache now: a process that is killed later would not.
    flushCompileCache();
    using _ = watch({ gateway, loaded, load, log, redactor });
    const failure = await Promise.race([stopped.promise, ...(gateway.failed ? [gateway.failed] : [])]);
    if (failure !== undefined) log.fatal({ reason: failure }, 'the gateway cannot go on');
    log.info('stopping');
    // From here on a second signal ends the process at once.
    stop[Symbol.dispose]();
    await gateway.close();
    return failure === undefined ? EXIT.completed : EXIT.failed;
  } catch (error) {
    terminal.err(`error: ${redactor.redact(startFailure(error, loaded))}\n`);
    return EXIT.failed;
  } finally {
    stop[Symbol.dispose]();
  }
}

/** Loads the configuration; if it is invalid, prints why and returns undefined. */
export async function loadOrExplain(load: LoadOptions, terminal: Terminal): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfig(load);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.err(`The configuration cannot be used:\n${error.message}\n`);
    return undefined;
  }
}

function watch(parts: {
  gateway: RunningGateway;
  loaded: LoadedConfig;
  load: LoadOptions;
  log: Logger;
  redactor: Redactor;
}): Disposable | undefined {
  const { gateway, loaded, load, log, redactor } = parts;
  if (gateway.reload === undefined) return undefined;
  let applying: Promise<unknown> = Promise.resolve();
  const apply = async (config: LoadedConfig['config'], whatChanged: string) => {
    // Add to the secrets of earlier configurations, which active runs may still use.
    await inSlices(secretsIn(config), (secret) => redactor.addSecrets([secret]));
    await gateway.reload?.(config, whatChanged);
  };
  return watchConfig({
    loaded,
    load,
    onOutcome(outcome) {
      if (outcome.result === 'unchanged') return log.info('the configuration has not changed');
      if (outcome.result === 'invalid') {
        return log.error(
          { problems: outcome.error.problems },
          'the changed configuration is invalid, the old one stays',
        );
      }
      const { config, changed, needsRestart } = outcome;
      // Apply changes one after the other.
      applying = applying
        .then(() => apply(config, summaryOf(changed, needsRestart)))
        .then(
          () => log.info({ changed, needsRestart }, 'configuration reloaded'),
          (error: unknown) => log.error({ err: messageOf(error) }, 'the new configuration could not be applied'),
        );
    },
  });
}

/** The changed paths in one text. A generated file may change thousands of models: the beginning is enough. */
function summaryOf(changed: string[], needsRestart: string[]): string {
  const parts = [changed.join(', '), needsRestart.length === 0 ? '' : `after a restart: ${needsRestart.join(', ')}`];
  return parts
    .filter((part) => part !== '')
    .join('; ')
    .slice(0, MAX_SUMMARY);
}

function startFailure(error: unknown, { config, file }: LoadedConfig): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const { host, admin_port } = config.server;
  const port = error instanceof Error && 'port' in error ? error.port : config.server.port;
  const setting = port === admin_port ? `server.admin_port in ${file}` : `PORT, or server.port in ${file}`;
  if (code === 'EADDRINUSE') return `${host}:${port} is in use; set ${setting}`;
  if (code === 'EACCES') return `this user may not listen on ${host}:${port}; set ${setting} to a number above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${host} is not an address of this machine; set HOST, or server.host in ${file}`;
  }
  return messageOf(error);
}
