import type { DatabaseSync } from 'node:sqlite';

const VERSION = 1;

/**
 * `runs.last` is kept up to date for ended runs only: while a run is open its batches say it, and an append writes
 * one row instead of two. Requests stand apart, so that a change of a record does not rewrite them. Batches are rows
 * in append order under a small integer key: a row per event, clustered by run, writes eight times the bytes.
 * `runs.sealed`: 0 not yet, 1 the log is in `sealed_logs`, 2 never, for it is damaged.
 */
const SCHEMA = `
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

/** Sets the connection up and creates the tables where they are missing. */
export function prepareDatabase(db: DatabaseSync, options: { sync: 'normal' | 'full' }): void {
  db.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${options.sync === 'full' ? 'FULL' : 'NORMAL'};
    PRAGMA cache_size = -16384;
    PRAGMA temp_store = MEMORY;
  `);
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
  if (version === VERSION) return;
  if (version !== 0) {
    throw new Error(
      `The database in the store folder has schema version ${version}; this gateway knows ${VERSION}. Use the gateway that wrote it, or another folder.`,
    );
  }
  db.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT;`);
}
