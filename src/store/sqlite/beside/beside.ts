import type { DatabaseSync } from 'node:sqlite';
import type { SideStores } from '../../beside/side-stores.ts';
import { SqliteConversations } from './conversations.ts';
import { SqliteDeliveries } from './deliveries.ts';
import { SqliteEntries } from './entries.ts';
import { SqliteFiles } from './files.ts';
import type { SqliteParts } from './part.ts';
import { SqliteUsage } from './usage.ts';

/** What is kept beside the runs, in their database. */
export class Beside implements SideStores {
  readonly conversations: SqliteConversations;
  readonly deliveries: SqliteDeliveries;
  readonly files: SqliteFiles;
  readonly entries: SqliteEntries;
  readonly readings: SqliteDeliveries;
  readonly usage: SqliteUsage;

  constructor(db: DatabaseSync, parts: SqliteParts) {
    this.conversations = new SqliteConversations(db, parts);
    this.deliveries = new SqliteDeliveries(db, parts, 'deliveries');
    this.files = new SqliteFiles(db, parts);
    this.entries = new SqliteEntries(db, parts);
    this.readings = new SqliteDeliveries(db, parts, 'readings');
    this.usage = new SqliteUsage(db, parts);
  }

  /** Those that are swept. */
  get expiring() {
    return [this.conversations, this.deliveries, this.readings];
  }
}
