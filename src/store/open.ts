import type { GatewayConfig } from '../config/schema.ts';
import type { RunStore } from './run-store.ts';
import { openSqliteStore } from './sqlite/open.ts';

/**
 * Opens the run store that `store.url` names.
 * @throws Error with the fix where it cannot be used.
 */
export async function openStore(config: GatewayConfig['store']): Promise<RunStore> {
  if (config.url.startsWith('redis')) {
    throw new Error('store.url: Redis is not supported yet; use file:<folder> or memory:');
  }
  return openSqliteStore(config.url, { sync: config.sync });
}
