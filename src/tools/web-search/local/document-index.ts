import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ChunkedDocument } from './chunks.ts';
import { bestPassage } from './passage.ts';
import { indexText, queryTerms } from './terms.ts';

/** A document that matches, with its best passage. */
export interface DocumentHit {
  path: string;
  title: string;
  snippet: string;
  published?: string;
}

/** A document whose passages match. */
interface Candidate {
  title: string;
  /** Its best passage. */
  text: string;
  score: number;
  passages: number;
  published?: string;
}

/** Passages looked at per query before they are put together by document. */
const CANDIDATES = 80;

/** An index of more passages than this weighs its words before it searches. */
const LARGE = 20_000;
/** A word in so many passages is common. */
const COMMON = 1500;

const SCHEMA = `
  CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL,
    title TEXT NOT NULL, published TEXT);
  CREATE TABLE chunks (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, text TEXT NOT NULL);
  CREATE INDEX chunks_of_document ON chunks (document);
  CREATE VIRTUAL TABLE words USING fts5 (title, heading, body, content='', contentless_delete=1,
    tokenize='porter unicode61 remove_diacritics 2');
`;

/** Words in titles weigh most, then those in headings. */
const SEARCH = `
  SELECT documents.path AS path, documents.title AS title, documents.published AS published, chunks.text AS text, found.score AS score
  FROM (SELECT rowid, bm25(words, 5.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ${CANDIDATES}) AS found
  JOIN chunks ON chunks.id = found.rowid
  JOIN documents ON documents.id = chunks.document
  ORDER BY found.score
`;

const DELETIONS = [
  'DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)',
  'DELETE FROM chunks WHERE document = ?',
  'DELETE FROM documents WHERE id = ?',
];

/** A full-text index in memory (SQLite FTS5). Documents are cut into passages: snippets of whole ones are slow. */
export class DocumentIndex implements Disposable {
  readonly #db: DatabaseSync;
  readonly #insertDocument: StatementSync;
  readonly #insertText: StatementSync;
  readonly #insertWords: StatementSync;
  readonly #search: StatementSync;
  readonly #count: StatementSync;
  readonly #last: StatementSync;
  readonly #deletions: readonly StatementSync[];

  constructor() {
    this.#db = new DatabaseSync(':memory:');
    this.#db.exec(SCHEMA);
    this.#insertDocument = this.#db.prepare(
      'INSERT INTO documents (path, signature, title, published) VALUES (?, ?, ?, ?)',
    );
    this.#insertText = this.#db.prepare('INSERT INTO chunks (document, text) VALUES (?, ?)');
    this.#insertWords = this.#db.prepare('INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)');
    this.#search = this.#db.prepare(SEARCH);
    this.#count = this.#db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COMMON})`,
    );
    this.#last = this.#db.prepare('SELECT max(id) AS id FROM chunks');
    this.#deletions = DELETIONS.map((sql) => this.#db.prepare(sql));
    // FTS5 leaves row numbers behind that are no JavaScript numbers; `run` reports the last one.
    for (const statement of [...this.#deletions, this.#insertWords]) statement.setReadBigInts(true);
  }

  /** The signature of every document in the index, by path. */
  signatures(): Map<string, string> {
    const rows = this.#db.prepare('SELECT path, signature FROM documents').all();
    return new Map(rows.map((row) => [String(row.path), String(row.signature)]));
  }

  /** Puts documents in, in place of their earlier versions, and takes others out; all or nothing. */
  update(change: {
    put: readonly { file: { path: string; signature: string }; document: ChunkedDocument }[];
    remove: readonly string[];
  }): void {
    this.#db.exec('BEGIN');
    try {
      for (const path of change.remove) this.#delete(path);
      for (const { file, document } of change.put) this.#put(file, document);
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #put(file: { path: string; signature: string }, document: ChunkedDocument): void {
    this.#delete(file.path);
    const { lastInsertRowid: id } = this.#insertDocument.run(
      file.path,
      file.signature,
      document.title,
      document.published ?? null,
    );
    const title = indexText(`${document.title} ${file.path}`);
    for (const chunk of document.chunks) {
      const { lastInsertRowid: row } = this.#insertText.run(id, chunk.text);
      this.#insertWords.run(row, title, indexText(chunk.heading), indexText(chunk.text));
    }
  }

  /** The best documents for a query in plain words. No query makes it throw. */
  search(query: string, limit: number): DocumentHit[] {
    const { match, terms, words } = queryTerms(query);
    if (match === '') return [];
    const documents = new Map<string, Candidate>();
    for (const row of this.#rows(match, terms)) {
      const path = String(row.path);
      const score = -Number(row.score);
      const known = documents.get(path);
      if (!known) {
        const published = typeof row.published === 'string' ? { published: row.published } : {};
        documents.set(path, { title: String(row.title), text: String(row.text), score, passages: 1, ...published });
      } else if (known.passages < 4) {
        known.passages += 1;
        known.score += score / (4 * known.passages);
      }
    }
    const ranked = [...documents].sort(([, a], [, b]) => b.score - a.score);
    const shown: { path: string; candidate: Candidate; fingerprint: Set<string> }[] = [];
    for (const [path, candidate] of ranked) {
      if (shown.length >= limit) break;
      const fingerprint = fingerprintOf(candidate.text);
      // Copies and versions of one document: the best of them stands for all.
      if (!shown.some((other) => isNearlySame(other.fingerprint, fingerprint)))
        shown.push({ path, candidate, fingerprint });
    }
    return shown.map(({ path, candidate: { title, text, published } }) => ({
      path,
      title,
      snippet: bestPassage(text, words),
      ...(published ? { published } : {}),
    }));
  }

  /**
   * The passages that match, best first. In a large index a word that half of the documents have says little and costs
   * much, so the rare ones decide there; a query of common words alone wants passages that have all of them.
   */
  #rows(match: string, terms: readonly string[]) {
    const isLarge = Number(this.#last.get()?.id ?? 0) > LARGE;
    if (!isLarge || terms.length === 0) return this.#search.all(match);
    const counted = terms.map((term) => ({ term, count: Number(this.#count.get(term)?.count ?? 0) }));
    const rare = counted.filter(({ count }) => count > 0 && count < COMMON).map(({ term }) => term);
    if (rare.length > 0) return this.#search.all(rare.join(' OR '));
    const present = counted.filter(({ count }) => count > 0).map(({ term }) => term);
    if (present.length === 0) return this.#search.all(match);
    const together = this.#search.all(present.join(' AND '));
    return together.length > 0 ? together : this.#search.all(present.slice(0, 2).join(' OR '));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #delete(path: string): void {
    const row = this.#db.prepare('SELECT id FROM documents WHERE path = ?').get(path);
    if (!row?.id) return;
    for (const statement of this.#deletions) statement.run(row.id);
  }
}

/** Runs of three words: what two passages have in common when one was copied from the other. */
function fingerprintOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const runs = new Set<string>();
  for (let at = 0; at + 2 < words.length && runs.size < 400; at++) runs.add(words.slice(at, at + 3).join(' '));
  return runs;
}

/** Whether nine of ten runs are the same. Short passages say too little to tell. */
function isNearlySame(a: Set<string>, b: Set<string>): boolean {
  if (a.size < 12 || b.size < 12) return false;
  let shared = 0;
  for (const run of a) if (b.has(run)) shared += 1;
  return shared >= 0.9 * Math.max(a.size, b.size);
}
