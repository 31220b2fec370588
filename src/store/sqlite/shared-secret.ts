import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { text } from './rows.ts';

const SECRET_BYTES = 32;

/** The secret of `Storage.secret`, created on first use. The caller provides the transaction. */
export function sqliteSecret(db: DatabaseSync): string {
  const put = db.prepare("INSERT INTO kept (name, value) VALUES ('secret', ?) ON CONFLICT (name) DO NOTHING");
  put.run(randomBytes(SECRET_BYTES).toString('base64'));
  return text(db.prepare("SELECT value FROM kept WHERE name = 'secret'").get() ?? {}, 'value');
}
