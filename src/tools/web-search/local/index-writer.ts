import type { DatabaseSync } from 'node:sqlite';
import type { Chunk, ChunkedDocument } from './chunks.ts';
import type { Compounds } from './compounds.ts';
import { prepareWrite } from './index-database.ts';
import { detectLanguage, FALLBACK, hasCompounds, type IndexLanguage, type Stems } from './languages.ts';
import { indexText, wordsOf } from './terms.ts';

/** Passages of a document that are taken out in one step. */
const DELETED = 'SELECT id FROM chunks WHERE document = ? ORDER BY id LIMIT 8';
/** Pages of the full-text index that are merged in one step, and after a slice for each so many milliseconds of it. */
const MERGED = 16;
const MERGED_EACH_MS = 10;

/** The last is of the passages themselves, by which the others know them. */
const DELETIONS = [
  `DELETE FROM words WHERE rowid IN (${DELETED})`,
  `DELETE FROM vectors WHERE chunk IN (${DELETED})`,
  `DELETE FROM chunks WHERE id IN (${DELETED})`,
];

/** Writes documents into the tables of an index, in steps: whoever takes some of them may let searches in between. */
export class IndexWriter {
  readonly #db: DatabaseSync;
  readonly #stems: Stems;
  readonly #compounds: Compounds;
  readonly #merged: number;
  readonly #statements;

  constructor(db: DatabaseSync, about: { owner: boolean; stems: Stems; compounds: Compounds; sliceMs: number }) {
    this.#db = db;
    this.#merged = MERGED * Math.ceil(about.sliceMs / MERGED_EACH_MS);
    this.#stems = about.stems;
    this.#compounds = about.compounds;
    const write = (sql: string) => prepareWrite(db, sql);
    this.#statements = {
      insertDocument: write(
        'INSERT INTO documents (path, signature, title, published, language, vocabulary) VALUES (?, ?, ?, ?, ?, ?)',
      ),
      isThere: db.prepare('SELECT 1 FROM documents WHERE id = ?'),
      finish: write('UPDATE documents SET signature = ?, vocabulary = ? WHERE id = ?'),
      insertText: write('INSERT INTO chunks (document, heading, text, page, section) VALUES (?, ?, ?, ?, ?)'),
      insertWords: write('INSERT INTO words (rowid, title, heading, body, parts) VALUES (?, ?, ?, ?, ?)'),
      remember: write(
        'INSERT INTO learned (language, stem, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = excluded.count',
      ),
      deletions: DELETIONS.map(write),
      deleteWords: write('DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)'),
      mergeSome: write(`INSERT INTO words (words, rank) VALUES ('merge', ?)`),
      deleteDocument: write('DELETE FROM documents WHERE id = ?'),
    };
    // By itself it merges much at once now and then; here some with each step.
    if (about.owner) db.exec(`INSERT INTO words (words, rank) VALUES ('automerge', 0)`);
  }

  /** In steps of one passage each; whoever takes them all puts the document in. */
  *put(file: { path: string; signature: string }, document: ChunkedDocument): Generator<void> {
    yield* this.delete(file.path);
    const language = languageOf(document);
    const { title, published = null } = document;
    const { lastInsertRowid: id } = this.#statements.insertDocument.run(file.path, '', title, published, language, 0);
    if (hasCompounds(language)) {
      for (const { text } of document.chunks) {
        this.#compounds.learn(wordsOf(text), language);
        yield;
      }
    }
    const known = this.#compounds.size(language);
    for (const chunk of document.chunks) {
      if (!this.#statements.isThere.get(id)) return;
      const { heading, text, page = null, section = null } = chunk;
      const { lastInsertRowid: row } = this.#statements.insertText.run(id, heading, text, page, section);
      this.#putWords(row, chunk, { path: file.path, title, language });
      yield;
    }
    this.#statements.finish.run(file.signature, known, id);
  }

  /** Keeps what was learned of the words, for other processes and the next start. */
  rememberWords(): void {
    for (const { language, stem, count } of this.#compounds.takeChanges())
      this.#statements.remember.run(language, stem, count);
  }

  #putWords(row: number | bigint, chunk: Chunk, about: { path: string; title: string; language: IndexLanguage }): void {
    const how = { language: about.language, stems: this.#stems };
    const title = indexText(`${about.title} ${about.path}`, how);
    const parts = hasCompounds(about.language)
      ? [...new Set(wordsOf(`${chunk.heading} ${chunk.text}`))].flatMap((word) =>
          this.#compounds.split(word, about.language),
        )
      : [];
    this.#statements.insertWords.run(
      row,
      title,
      indexText(chunk.heading, how),
      indexText(chunk.text, how),
      parts.join(' '),
    );
  }

  /** Takes the words of a document apart once more. */
  revisit({ id, ...about }: { id: number; path: string; title: string; language: IndexLanguage }): void {
    const chunks = this.#db.prepare('SELECT id, heading, text FROM chunks WHERE document = ?').all(id);
    this.#statements.deleteWords.run(id);
    for (const chunk of chunks)
      this.#putWords(Number(chunk.id), { heading: String(chunk.heading), text: String(chunk.text) }, about);
    const sql = 'UPDATE documents SET vocabulary = ? WHERE id = ?';
    prepareWrite(this.#db, sql).run(this.#compounds.size(about.language), id);
  }

  /** In steps. A document of which something is missing has no signature. */
  *delete(path: string): Generator<void> {
    const row = this.#db.prepare('SELECT id FROM documents WHERE path = ?').get(path);
    if (!row?.id) return;
    this.#statements.finish.run('', 0, row.id);
    for (let left = true; left; ) {
      for (const statement of this.#statements.deletions) left = statement.run(row.id).changes > 0;
      yield;
    }
    this.#statements.deleteDocument.run(row.id);
  }

  /** As SQLite says that an `optimize` is done in steps. */
  *merge(): Generator<void> {
    const changes = () => Number(this.#db.prepare('SELECT total_changes() AS count').get()?.count ?? 0);
    for (let pages = -MERGED; ; pages = MERGED) {
      const before = changes();
      this.#statements.mergeSome.run(pages);
      if (changes() - before < 2) return;
      yield;
    }
  }

  /** Does all of the work or none of it, and merges a little of the full-text index. */
  inTransaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#statements.mergeSome.run(this.#merged);
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** What language a document is in, from its beginning and its middle. */
function languageOf({ title, chunks }: ChunkedDocument): IndexLanguage {
  const middle = chunks[Math.floor(chunks.length / 2)];
  const sample = [title, chunks[0]?.text, middle?.text].join('\n');
  return detectLanguage(sample) ?? FALLBACK;
}
