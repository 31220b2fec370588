import type { Logger } from '../base/logger.ts';
import { counted } from '../base/text.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { StoreFindings } from './sqlite/maintenance.ts';

type StoreConfig = GatewayConfig['store'];

/**
 * Checks the store that `store.url` names, even while gateways use it. For Redis it only reports whether it can be used
 * and how many runs are open: Redis has its own tools to check data.
 * @throws Error if the store cannot be read at all, or Redis cannot be written to.
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
    // Nothing is damaged while Redis takes no writes.
    if (!state.ok) throw new Error(`store.url: ${state.reason}. docs/operations/redis.md says what to do.`);
    const summary = `Redis, ${counted(open.queued, 'run')} queued, ${open.inProgress} in progress`;
    return { summary, problems: [] };
  } finally {
    await runs.close();
  }
}

/**
 * Writes a copy of a `file:` store to `to`, even while a gateway uses it.
 * @throws Error if the store is of another kind, or the copy cannot be written.
 */
export async function backUpStore(config: StoreConfig, to: string): Promise<void> {
  if (!config.url.startsWith('file:')) {
    throw new Error(
      'Only file: stores can be backed up this way. For Redis, copy what BGSAVE writes, or keep a replica.',
    );
  }
  const { backUpDatabase } = await import('./sqlite/maintenance.ts');
  backUpDatabase(folderOf(config.url), to);
}

/** Checks a backup of a `file:` store, or a store folder. @throws Error if there is none, or it cannot be read. */
export async function verifyStore(path: string): Promise<StoreFindings> {
  const { checkDatabase } = await import('./sqlite/maintenance.ts');
  return await checkDatabase(path);
}

/**
 * Replaces the configured `file:` store with a backup or the store of another folder; see `restoreDatabase`.
 * `problems`: damage in the restored data that `force` accepted.
 * @throws Error with the fix if it cannot be restored or, without `force`, if the backup is damaged.
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

/** With an append-only file Redis reads no dump, and without its folder it starts empty. */
const REDIS_RESTORE =
  'Redis restores itself: stop all gateways, then Redis; put the saved dump.rdb into the folder that CONFIG GET dir names ' +
  'and move its appendonlydir away; start Redis with appendonly no, see that DBSIZE is not 0, let CONFIG SET appendonly yes ' +
  'write a new append-only file, and start the gateways (docs/operations/backup.md).';

function folderOf(url: string): string {
  return url.slice('file:'.length);
}
