import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/** Increased with every change of the tables or of how texts are indexed; an index of another version is rebuilt. */
const VERSION = 3;

const SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL,
    title TEXT NOT NULL, published TEXT, language TEXT NOT NULL, vocabulary INTEGER NOT NULL);
  CREATE INDEX documents_by_language ON documents (language, vocabulary);
  CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, heading TEXT NOT NULL,
    text TEXT NOT NULL, page INTEGER, section TEXT);
  CREATE INDEX chunks_of_document ON chunks (document);
  CREATE TABLE learned (language TEXT NOT NULL, stem TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (language, stem)) WITHOUT ROWID;
  CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
  CREATE VIRTUAL TABLE words USING fts5 (title, heading, body, parts, content='', contentless_delete=1,
    tokenize='unicode61 remove_diacritics 2');
`;
const TABLES = ['words', 'vectors', 'learned', 'chunks', 'documents', 'meta'];

/** How long a connection waits for another one's write, in milliseconds. */
const BUSY_MS = 2000;

/**
 * Opens the index at `path`, or one in memory. An index of another version is emptied; a damaged one is replaced, but only
 * by its `owner`, the one process that writes to it.
 * @throws Error of SQLite or the file system where the file cannot be used.
 */
export function openIndexDatabase(path: string | undefined, options: { owner: boolean }): DatabaseSync {
  if (path === undefined) return migrated(new DatabaseSync(':memory:'));
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    return open(path);
  } catch (thrown) {
    if (!options.owner || !isCorruption(thrown)) throw thrown;
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    return open(path);
  }
}

function open(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    // What a power loss takes from the index is indexed again from the documents.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536');
    return migrated(db);
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

/** Some errors, such as a full disk, make SQLite roll back by itself. */
export function rollBack(db: DatabaseSync): void {
  if (db.isTransaction) db.exec('ROLLBACK');
}

function migrated(db: DatabaseSync): DatabaseSync {
  if (isCurrent(db)) return db;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have done it meanwhile.
    if (isCurrent(db)) {
      db.exec('COMMIT');
      return db;
    }
    for (const table of TABLES) db.exec(`DROP TABLE IF EXISTS ${table}`);
    db.exec(`${SCHEMA}; PRAGMA user_version = ${VERSION}`);
    db.exec('COMMIT');
  } catch (thrown) {
    rollBack(db);
    throw thrown;
  }
  return db;
}

function isCurrent(db: DatabaseSync): boolean {
  return db.prepare('PRAGMA user_version').get()?.user_version === VERSION;
}

/**
 * Prepares a statement that writes. The full-text index makes row ids beyond JavaScript's safe integers, and every `run`
 * reports the last row id.
 */
export function prepareWrite(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

/** Whether the file is no database or a corrupt one. */
function isCorruption(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return false;
  const code = Number(thrown.errcode) & 0xff;
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/**
 * Locks the index at `path` for its only writer, until the lock is disposed of or its process dies: several processes of
 * a gateway share an index, and one of them writes to it. Undefined if another process has the lock.
 */
export function lockIndex(path: string): Disposable | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => lock.close() };
  } catch (thrown) {
    lock.close();
    if (thrown instanceof Error && 'errcode' in thrown && Number(thrown.errcode) === SQLITE_BUSY) return undefined;
    throw thrown;
  }
}

const SQLITE_BUSY = 5;
