import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '../../src/base/logger.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { freePort } from './free-port.ts';
import { IDLE_LOAD } from './idle-load.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The API key for the examples. */
export const EXAMPLE_KEY = 'sk-key-of-the-examples';

/** Reads a file of docs/examples. */
export function readExample(name: string): string {
  return readFileSync(`${ROOT}docs/examples/${name}`, 'utf8');
}

/** Loads a configuration of the examples with these variables. */
export async function loadExample(name: string, variables: Record<string, string> = {}): Promise<GatewayConfig> {
  const environment = readEnvironment({ GATEWAY_API_KEY: EXAMPLE_KEY, OPENAI_API_KEY: 'sk-provider', ...variables });
  const { config } = await loadConfig({ root: ROOT, file: `docs/examples/${name}`, environment });
  return config;
}

/** The variables that the gateway or this configuration reads. */
export function variablesReadBy(name: string): Set<string> {
  const asked: string[] = [];
  readEnvironment(new Proxy({}, { get: (_, variable) => void asked.push(String(variable)) }));
  const named = [...readExample(name).matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, variable = '']) => variable);
  return new Set([...asked, ...named]);
}

export interface ExampleGateway extends AsyncDisposable {
  readonly port: number;
  readonly adminUrl: string;
}

/** Starts a gateway with docs/examples/gateway.yaml and these variables, on an address of its own. */
export async function startExample(variables: Record<string, string>): Promise<ExampleGateway> {
  const config = await loadExample('gateway.yaml', { FILES_ENABLED: 'false', HOST: '127.0.0.1', ...variables });
  const [port, admin_port] = [await freePort(), await freePort()];
  const server = { ...config.server, port, admin_port, shutdownGraceMs: 500 };
  const gateway = await startGateway({ config: { ...config, server }, log: silentLogger, load: IDLE_LOAD });
  return {
    port,
    adminUrl: `http://127.0.0.1:${admin_port}`,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}
