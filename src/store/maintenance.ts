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

/**
 * Looks through a backup of a `file:` store, or a store folder.
 * @throws Error where there is none, or it cannot be read at all.
 */
export async function verifyStore(path: string): Promise<StoreFindings> {
  const { checkDatabase } = await import('./sqlite/maintenance.ts');
  return await checkDatabase(path);
}

/**
 * Puts a backup, or the store of another folder, in the place of the configured `file:` store; see `restoreDatabase`.
 * `problems`: what is damaged in it, where it was put there all the same.
 * @throws Error with the fix where that cannot be done, or, without `force`, where the backup is damaged.
 */
export async function restoreStore(
  config: StoreConfig,
  from: string,
  options: { force: boolean },
): Promise<StoreFindings & { kept: string | undefined }> {
  if (config.url === 'memory:') throw new Error('A store in memory keeps nothing: set store.url to file:<folder>.');
  if (!config.url.startsWith('file:')) throw new Error(REDIS_RESTORE);
  const found = await verifyStore(from);
  if (found.problems.length > 0 && !options.force) {
    const fix = 'With --force it is put in place all the same; what is damaged stays damaged.';
    throw new Error(`${from} is damaged: ${found.problems.join('; ')}\n${fix}`);
  }
  const { restoreDatabase } = await import('./sqlite/restore.ts');
  return { ...found, kept: restoreDatabase(from, folderOf(config.url), options) };
}

const REDIS_RESTORE =
  'Redis restores itself: stop all gateways, then Redis; put the saved dump.rdb, or its folder appendonlydir, into the ' +
  'folder that CONFIG GET dir names; start Redis, see with `store check` that the runs are there, and start the gateways.';

function folderOf(url: string): string {
  return url.slice('file:'.length);
}
