import { createLogger } from '../base/logger.ts';
import { DEFAULT_CONFIG_FILE } from '../config/load.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { ask } from './ask/ask.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { loadOrExplain, type ServeParts } from './serve.ts';

const QUESTION = 'How does a client resume a dropped stream, and what happens to a run when its instance is killed?';

export interface DemoOptions {
  question?: string | undefined;
  /** Leave the gateway running after the report. */
  keep?: boolean | undefined;
  /** The folder that holds `config/` and `docs/`. */
  projectRoot: string;
}

/**
 * Starts a gateway with the default configuration on a free port, asks it a question about the project's own
 * documents over HTTP, and shows the run.
 */
export async function demo(options: DemoOptions, parts: ServeParts): Promise<ExitCode> {
  const { terminal } = parts;
  // The demo is the same everywhere: ignore what the environment sets for another gateway.
  const environment = { ...parts.environment, host: undefined, port: undefined, configFile: undefined };
  const load = { environment, root: options.projectRoot, file: DEFAULT_CONFIG_FILE };
  const loaded = await loadOrExplain(load, terminal);
  if (loaded === undefined) return EXIT.usage;
  const config = demoConfig(loaded.config);
  const apiKey = config.keys[0]?.secret ?? '';
  const question = options.question ?? QUESTION;

  await using gateway = await parts.startGateway({ config, log: createLogger({ level: 'warn' }) });
  terminal.err(
    `A gateway runs at ${gateway.url} with the built-in demo provider: no key, no network.\n` +
      `Question: ${question}\n\n`,
  );
  const code = await ask({ baseUrl: gateway.url, apiKey, question, verbose: true }, terminal);
  if (code !== EXIT.completed) return code;
  if (!options.keep) {
    terminal.err(
      `\nThe API was at ${gateway.url}/v1, for any OpenAI SDK. To leave it running: npx research-gateway\n` +
        'Then ask it anything about this project: npx research-gateway ask "What is a route?"\n',
    );
    return code;
  }
  terminal.err(`\nThe API is at ${gateway.url}/v1, the key is ${apiKey}. Ctrl-C stops it. Try:\n\n`);
  terminal.out(
    `curl -N ${gateway.url}/v1/responses -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" \\\n` +
      `  -d '{"model": "${Object.keys(config.models)[0]}", "input": "What is a proxy model?"}'\n`,
  );
  const stopped = Promise.withResolvers<void>();
  using _ = terminal.onSignal(['SIGINT', 'SIGTERM'], () => stopped.resolve());
  await stopped.promise;
  return code;
}

/** The default configuration on a free port, with a store in memory, at a pace that readers can follow. */
function demoConfig(config: GatewayConfig): GatewayConfig {
  const providers = Object.entries(config.providers).map(([name, provider]) => [
    name,
    'builtin' in provider ? { ...provider, pace_ms: 15 } : provider,
  ]);
  return {
    ...config,
    server: { ...config.server, host: '127.0.0.1', port: 0, shutdownGraceMs: 2000 },
    store: { ...config.store, url: 'memory:' },
    providers: Object.fromEntries(providers),
  };
}
