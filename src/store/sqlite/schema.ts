import type { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../base/errors.ts';
import { isDamaged, resourceReason } from './failure.ts';

/**
 * `runs.last` is current for ended runs only: while a run is open its batches tell its last event, so an append writes
 * one row instead of two. Requests have a table of their own, so that changes of a record do not rewrite them. Batches
 * are rows in append order under a small integer key: a row per event, clustered by run, writes eight times the bytes.
 * `runs.sealed`: 0 not compressed yet, 1 the log is in `sealed_logs`, 2 never compressed, because it is damaged.
 */
const VERSION_1 = `
CREATE TABLE runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL,
  key_id TEXT NOT NULL,
  api TEXT NOT NULL,
  model TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  expires_at INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  claims INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  last INTEGER NOT NULL,
  token TEXT,
  sealed INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL
) STRICT;
CREATE INDEX runs_list ON runs (user, api, created_at, key);
CREATE INDEX runs_open ON runs (created_at, key) WHERE ended_at IS NULL;
CREATE INDEX runs_expiry ON runs (expires_at) WHERE ended_at IS NOT NULL;

CREATE INDEX runs_unsealed ON runs (ended_at) WHERE ended_at IS NOT NULL AND sealed = 0;

CREATE TABLE sealed_logs (run INTEGER PRIMARY KEY, log BLOB NOT NULL) STRICT;

CREATE TABLE requests (run INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;

CREATE TABLE batches (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  end INTEGER NOT NULL,
  frames BLOB NOT NULL
) STRICT;
CREATE INDEX batches_run ON batches (run, last);

CREATE TABLE transcript (key INTEGER PRIMARY KEY, run INTEGER NOT NULL, entry TEXT NOT NULL) STRICT;
CREATE INDEX transcript_run ON transcript (run);

CREATE TABLE reservations (
  key TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_expiry ON reservations (expires_at);

CREATE TABLE probe (id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
`;

/**
 * Submission keys; see `SubmissionKey`. `expires_at` is null while the run of a `retry` key is open, and is set to
 * `ttl` after its end. An `idempotency` key without a run stands for a deleted one.
 */
const VERSION_2 = `
CREATE TABLE submission_keys (
  kind TEXT NOT NULL,
  hash TEXT NOT NULL,
  run_id TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  ttl INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (kind, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX submission_keys_run ON submission_keys (run_id);
CREATE INDEX submission_keys_expiry ON submission_keys (expires_at) WHERE expires_at IS NOT NULL;
`;

/**
 * An index for each filtered part of a user's list; `bucket`: see `list-page.ts`. `runs_list` serves the whole list.
 */
const VERSION_3 = `
ALTER TABLE runs ADD COLUMN bucket TEXT NOT NULL AS (iif(ended_at IS NULL, 'open', status)) VIRTUAL;
CREATE INDEX runs_parts ON runs (user, api, model, bucket, created_at, key);
`;

/** Takes over the idempotency keys of the first version. */
const VERSION_4 = `
INSERT INTO submission_keys (kind, hash, run_id, fingerprint, ttl, expires_at)
  SELECT 'idempotency', key, run_id, fingerprint, 86400000, expires_at FROM reservations
  WHERE true ON CONFLICT (kind, hash) DO NOTHING;
DROP TABLE reservations;
`;

/** What keys have used of budgets and runs have reserved of limits; see `SqliteLimits`. Times are Unix milliseconds. */
const VERSION_5 = `
CREATE TABLE limit_windows (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  used INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE limit_holds (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  id TEXT NOT NULL,
  points INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (name, key, id)
) STRICT, WITHOUT ROWID;
`;

/**
 * Conversations and their items; see `ConversationStore`. The `key` of an item is its position. `kept`: values that
 * everyone who uses the store shares, such as the one of `SqliteRunStore.secret`.
 */
const VERSION_6 = `
CREATE TABLE conversations (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  items INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0,
  held_by TEXT,
  held_since INTEGER
) STRICT;
CREATE INDEX conversations_expiry ON conversations (expires_at);
CREATE TABLE conversation_items (
  key INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  id TEXT NOT NULL,
  json TEXT NOT NULL,
  UNIQUE (conversation, id)
) STRICT;
CREATE INDEX conversation_items_order ON conversation_items (conversation, key);

CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** Deliveries of runs; see `DeliveryStore`. `due_at` is null once nothing is left to do. */
const VERSION_7 = `
CREATE TABLE deliveries (
  run TEXT PRIMARY KEY,
  state TEXT,
  due_at INTEGER,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_expiry ON deliveries (expires_at) WHERE due_at IS NULL;
`;

/** Metadata of the users' files; see `FileStore`. */
const VERSION_8 = `
CREATE TABLE files (
  id TEXT PRIMARY KEY,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  purpose TEXT NOT NULL,
  type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX files_list ON files (user, created_at, id);
CREATE INDEX files_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;
`;

/** Lists of small records, usage by day, and users whose documents have to be read; see `SideStores`. */
const VERSION_9 = `
CREATE TABLE entries (
  list TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (list, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_order ON entries (list, created_at, id);
CREATE INDEX entries_state ON entries (list, state, created_at, id);
CREATE TABLE entry_lists (
  list TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE usage (
  day TEXT NOT NULL,
  key TEXT NOT NULL,
  team TEXT NOT NULL,
  model TEXT NOT NULL,
  tag TEXT NOT NULL,
  requests INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  PRIMARY KEY (day, key, team, model, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE readings (
  run TEXT PRIMARY KEY,
  state TEXT,
  due_at INTEGER,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX readings_due ON readings (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX readings_expiry ON readings (expires_at) WHERE due_at IS NULL;
`;

/** See `RunRecord.listed`. */
const VERSION_10 = `ALTER TABLE runs ADD COLUMN listed TEXT NOT NULL DEFAULT '{}';`;

/**
 * Runs whose response is `incomplete` have a part of their own; see `bucketOf`. The key of a removed conversation item is
 * never used again: it stays a place in the conversation.
 */
const VERSION_11 = `
DROP INDEX runs_parts;
ALTER TABLE runs DROP COLUMN bucket;
ALTER TABLE runs ADD COLUMN bucket TEXT NOT NULL AS (
  CASE WHEN ended_at IS NULL THEN 'open'
  WHEN NOT json_valid(listed) THEN status
  WHEN listed ->> '$.status' = 'incomplete' THEN 'incomplete'
  ELSE status END
) VIRTUAL;
CREATE INDEX runs_parts ON runs (user, api, model, bucket, created_at, key);

ALTER TABLE conversation_items RENAME TO earlier_items;
DROP INDEX conversation_items_order;
CREATE TABLE conversation_items (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL,
  id TEXT NOT NULL,
  json TEXT NOT NULL,
  UNIQUE (conversation, id)
) STRICT;
INSERT INTO conversation_items SELECT key, conversation, id, json FROM earlier_items;
DROP TABLE earlier_items;
CREATE INDEX conversation_items_order ON conversation_items (conversation, key);
`;

/** The migration to each version; the first one creates version 1 in an empty database. */
const MIGRATIONS: readonly string[] = [
  VERSION_1,
  VERSION_2,
  VERSION_3,
  VERSION_4,
  VERSION_5,
  VERSION_6,
  VERSION_7,
  VERSION_8,
  VERSION_9,
  VERSION_10,
  VERSION_11,
];

/** A write-ahead log that grew because of a long read is truncated to this size once it was checkpointed, in bytes. */
const MAX_WAL_BYTES = 64 * 1024 ** 2;

/** The version that this gateway reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Configures the connection and migrates the database to the schema of this gateway; see `migrate`. */
export function prepareDatabase(db: DatabaseSync, options: { sync: 'normal' | 'full' }): void {
  configure(db, options);
  migrate(db);
}

function configure(db: DatabaseSync, options: { sync: 'normal' | 'full' }): void {
  db.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${options.sync === 'full' ? 'FULL' : 'NORMAL'};
    PRAGMA journal_size_limit = ${MAX_WAL_BYTES};
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;
  `);
}

/** The schema version of a database; 0 if it is empty. */
export function schemaVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}

/**
 * Migrates the database to the schema of this gateway, each version in its own transaction. The caller keeps a copy of
 * an earlier version first.
 * @throws Error with the fix if a newer gateway wrote it, or a migration fails.
 */
function migrate(db: DatabaseSync): void {
  const version = schemaVersion(db);
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `The database in the store folder has schema version ${version}; this gateway knows ${SCHEMA_VERSION}. ` +
        'Start the gateway that wrote it or a newer one, or set store.url to another folder.',
    );
  }
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < version) continue;
    try {
      db.exec(`BEGIN; ${step} PRAGMA user_version = ${index + 1}; COMMIT;`);
    } catch (cause) {
      throw migrationError({ from: version, to: index + 1 }, cause);
    }
  }
}

/** The error for a failed migration, which closing the database rolls back. An empty database has nothing to lose. */
function migrationError({ from, to }: { from: number; to: number }, cause: unknown): unknown {
  if (from === 0 || (cause instanceof Error && isDamaged(cause))) return cause;
  const resource = resourceReason(cause);
  const fix =
    resource === undefined
      ? 'Start the gateway that wrote it, and report this.'
      : 'Fix that and start again, or start the gateway that wrote it.';
  return new Error(
    `The database in the store folder could not be migrated to schema version ${to}: ${resource ?? messageOf(cause)}. ` +
      `As it was, with schema version ${from}, it is kept beside it as runs.db.v${from}. ${fix}`,
    { cause },
  );
}
