import type { DatabaseSync } from 'node:sqlite';
import type { SideStores } from '../../side-stores/side-stores.ts';
import { SqliteConversations } from './conversations.ts';
import { SqliteDeliveries } from './deliveries.ts';
import { SqliteEntries } from './entries.ts';
import { SqliteFiles } from './files.ts';
import type { SqliteParts } from './part.ts';
import { SqliteUsage } from './usage.ts';

/** Opens the side stores in the database of the runs. */
export function sqliteSideStores(db: DatabaseSync, parts: SqliteParts) {
  return {
    conversations: new SqliteConversations(db, parts),
    deliveries: new SqliteDeliveries(db, parts, 'deliveries'),
    files: new SqliteFiles(db, parts),
    entries: new SqliteEntries(db, parts),
    readings: new SqliteDeliveries(db, parts, 'readings'),
    usage: new SqliteUsage(db, parts),
  } satisfies SideStores;
}
