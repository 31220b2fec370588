import { DatabaseSync } from 'node:sqlite';
import type { ChunkedDocument } from './chunks.ts';
import { bestPassage } from './passage.ts';
import { indexText, queryTerms } from './terms.ts';

/** A document that matches, with its best passage. */
export interface DocumentHit {
  path: string;
  title: string;
  snippet: string;
}

/** Passages looked at per query before they are put together by document. */
const CANDIDATES = 80;

const SCHEMA = `
  CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, title TEXT NOT NULL);
  CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX chunks_of_document ON chunks (document);
  CREATE VIRTUAL TABLE words USING fts5 (title, heading, body, content='', contentless_delete=1,
    tokenize='porter unicode61 remove_diacritics 2');
`;

/** Words in titles weigh most, then those in headings. */
const SEARCH = `
  SELECT documents.path AS path, documents.title AS title, chunks.text AS text, found.score AS score
  FROM (SELECT rowid, bm25(words, 5.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ${CANDIDATES}) AS found
  JOIN chunks ON chunks.id = found.rowid
  JOIN documents ON documents.id = chunks.document
  ORDER BY found.score
`;

/** A full-text index in memory (SQLite FTS5). Documents are cut into passages: snippets of whole ones are slow. */
export class DocumentIndex implements Disposable {
  readonly #db: DatabaseSync;

  constructor() {
    this.#db = new DatabaseSync(':memory:');
    this.#db.exec(SCHEMA);
  }

  /** The signature of every document in the index, by path. */
  signatures(): Map<string, string> {
    const rows = this.#db.prepare('SELECT path, signature FROM documents').all();
    return new Map(rows.map((row) => [String(row.path), String(row.signature)]));
  }

  /** Puts a document in, in place of its earlier version. */
  put(file: { path: string; signature: string }, document: ChunkedDocument): void {
    this.#atomically(() => {
      this.#delete(file.path);
      const { lastInsertRowid: id } = this.#db
        .prepare('INSERT INTO documents (path, signature, title) VALUES (?, ?, ?)')
        .run(file.path, file.signature, document.title);
      const insertText = this.#db.prepare('INSERT INTO chunks (document, text) VALUES (?, ?)');
      const insertWords = this.#db.prepare('INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)');
      const title = indexText(`${document.title} ${file.path}`);
      for (const chunk of document.chunks) {
        const { lastInsertRowid: row } = insertText.run(id, chunk.text);
        insertWords.run(row, title, indexText(chunk.heading), indexText(chunk.text));
      }
    });
  }

  remove(path: string): void {
    this.#atomically(() => this.#delete(path));
  }

  /** The best documents for a query in plain words. No query makes it throw. */
  search(query: string, limit: number): DocumentHit[] {
    const { match, words } = queryTerms(query);
    if (match === '') return [];
    const documents = new Map<string, { title: string; text: string; score: number; passages: number }>();
    for (const row of this.#db.prepare(SEARCH).all(match)) {
      const path = String(row.path);
      const score = -Number(row.score);
      const known = documents.get(path);
      if (!known) documents.set(path, { title: String(row.title), text: String(row.text), score, passages: 1 });
      else if (known.passages < 4) {
        known.passages += 1;
        known.score += score / (4 * known.passages);
      }
    }
    return [...documents]
      .sort(([, a], [, b]) => b.score - a.score)
      .slice(0, limit)
      .map(([path, { title, text }]) => ({ path, title, snippet: bestPassage(text, words) }));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #delete(path: string): void {
    const row = this.#db.prepare('SELECT id FROM documents WHERE path = ?').get(path);
    if (!row?.id) return;
    this.#db.prepare('DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)').run(row.id);
    this.#db.prepare('DELETE FROM chunks WHERE document = ?').run(row.id);
    this.#db.prepare('DELETE FROM documents WHERE id = ?').run(row.id);
  }

  #atomically(work: () => void): void {
    this.#db.exec('BEGIN');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}
