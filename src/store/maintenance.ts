import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { StoreFindings } from './sqlite/maintenance.ts';

type StoreConfig = GatewayConfig['store'];

/**
 * Looks through the store that `store.url` names, also while gateways use it. Of Redis it tells whether it can be used
 * and how many runs are open: its own tools look after its data.
 * @throws Error where it cannot be read at all.
 */
export async function checkStore(config: StoreConfig, options: { log: Logger }): Promise<StoreFindings> {
  if (config.url.startsWith('file:')) {
    const { checkDatabase } = await import('./sqlite/maintenance.ts');
    return await checkDatabase(folderOf(config.url));
  }
  if (config.url === 'memory:') return { summary: 'a store in memory keeps nothing', problems: [] };
  const { openRedisStore } = await import('./redis/open.ts');
  const { runs } = await openRedisStore({ url: config.url, tls: config.tls, log: options.log });
  try {
    const [state, open] = await Promise.all([runs.check(), runs.countOpen()]);
    const summary = `Redis, ${open.queued} runs queued, ${open.inProgress} in progress`;
    return { summary, problems: state.ok ? [] : [state.reason] };
  } finally {
    await runs.close();
  }
}

/**
 * Writes a copy of a `file:` store to `to`, also while a gateway uses it.
 * @throws Error where the store is of another kind, or the copy cannot be written.
 */
export async function backUpStore(config: StoreConfig, to: string): Promise<void> {
  if (!config.url.startsWith('file:')) {
    throw new Error('Only file: stores are backed up so. For Redis, copy what BGSAVE writes, or keep a replica.');
  }
  const { backUpDatabase } = await import('./sqlite/maintenance.ts');
  backUpDatabase(folderOf(config.url), to);
}

function folderOf(url: string): string {
  return url.slice('file:'.length);
}
