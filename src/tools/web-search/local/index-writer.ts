import type { DatabaseSync } from 'node:sqlite';
import type { Chunk, ChunkedDocument } from './chunks.ts';
import type { Compounds } from './compounds.ts';
import { prepareWrite, rollBack } from './index-database.ts';
import { detectLanguage, FALLBACK, hasCompounds, type IndexLanguage, type Stems } from './languages.ts';
import { indexText, wordsOf } from './terms.ts';

/** The passages of a document that one step deletes. */
const NEXT_DELETED = 'SELECT id FROM chunks WHERE document = ? ORDER BY id LIMIT 8';
/** How many pages of the full-text index one step merges, and how many milliseconds of writing cause one such merge. */
const MERGED_PAGES = 16;
const MS_PER_MERGE = 10;

/** The passages themselves come last, because the other statements select by them. */
const DELETIONS = [
  `DELETE FROM words WHERE rowid IN (${NEXT_DELETED})`,
  `DELETE FROM vectors WHERE chunk IN (${NEXT_DELETED})`,
  `DELETE FROM chunks WHERE id IN (${NEXT_DELETED})`,
];

/** Writes documents into the tables of an index, in steps, so that a caller can let searches run in between. */
export class IndexWriter {
  readonly #db: DatabaseSync;
  readonly #stems: Stems;
  readonly #compounds: Compounds;
  readonly #pagesPerSlice: number;
  readonly #statements;

  constructor(db: DatabaseSync, about: { owner: boolean; stems: Stems; compounds: Compounds; sliceMs: number }) {
    this.#db = db;
    this.#pagesPerSlice = MERGED_PAGES * Math.ceil(about.sliceMs / MS_PER_MERGE);
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
    // Automatic merges are large and block; this class merges a little with each slice instead.
    if (about.owner) db.exec(`INSERT INTO words (words, rank) VALUES ('automerge', 0)`);
  }

  /** Adds a document, in steps of one passage each. */
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

  /** Stores the words learned so far, for other processes and the next start. */
  rememberWords(): void {
    for (const { language, stem, count } of this.#compounds.takeChanges())
      this.#statements.remember.run(language, stem, count);
  }

  #putWords(row: number | bigint, chunk: Chunk, about: { path: string; title: string; language: IndexLanguage }): void {
    const options = { language: about.language, stems: this.#stems };
    const title = indexText(`${about.title} ${about.path}`, options);
    const parts = hasCompounds(about.language)
      ? [...new Set(wordsOf(`${chunk.heading} ${chunk.text}`))].flatMap((word) =>
          this.#compounds.split(word, about.language),
        )
      : [];
    this.#statements.insertWords.run(
      row,
      title,
      indexText(chunk.heading, options),
      indexText(chunk.text, options),
      parts.join(' '),
    );
  }

  /** Splits the compounds of a document again. */
  revisit({ id, ...about }: { id: number; path: string; title: string; language: IndexLanguage }): void {
    const chunks = this.#db.prepare('SELECT id, heading, text FROM chunks WHERE document = ?').all(id);
    this.#statements.deleteWords.run(id);
    for (const chunk of chunks)
      this.#putWords(Number(chunk.id), { heading: String(chunk.heading), text: String(chunk.text) }, about);
    const sql = 'UPDATE documents SET vocabulary = ? WHERE id = ?';
    prepareWrite(this.#db, sql).run(this.#compounds.size(about.language), id);
  }

  /** Deletes a document, in steps. Its signature is emptied first: an incomplete document has none. */
  *delete(path: string): Generator<void> {
    const row = this.#db.prepare('SELECT id FROM documents WHERE path = ?').get(path);
    if (!row?.id) return;
    this.#statements.finish.run('', 0, row.id);
    for (let hasMore = true; hasMore; ) {
      for (const statement of this.#statements.deletions) hasMore = statement.run(row.id).changes > 0;
      yield;
    }
    this.#statements.deleteDocument.run(row.id);
  }

  /** Optimises the full-text index in steps, as the documentation of FTS5 describes it ("The merge command"). */
  *merge(): Generator<void> {
    const changes = () => Number(this.#db.prepare('SELECT total_changes() AS count').get()?.count ?? 0);
    for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
      const before = changes();
      this.#statements.mergeSome.run(pages);
      if (changes() - before < 2) return;
      yield;
    }
  }

  /** Runs the work in a transaction, which also merges a little of the full-text index. */
  inTransaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#statements.mergeSome.run(this.#pagesPerSlice);
      this.#db.exec('COMMIT');
    } catch (error) {
      rollBack(this.#db);
      throw error;
    }
  }
}

/** The language of a document, detected from its beginning and its middle. */
function languageOf({ title, chunks }: ChunkedDocument): IndexLanguage {
  const middle = chunks[Math.floor(chunks.length / 2)];
  const sample = [title, chunks[0]?.text, middle?.text].join('\n');
  return detectLanguage(sample) ?? FALLBACK;
}
