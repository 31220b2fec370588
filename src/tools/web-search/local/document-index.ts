import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Chunk, ChunkedDocument } from './chunks.ts';
import { Compounds } from './compounds.ts';
import { withFeedback } from './feedback.ts';
import { openIndexDatabase } from './index-database.ts';
import { detectLanguage, FALLBACK, hasCompounds, isLanguage, LANGUAGES, type Language, Stems } from './languages.ts';
import { bestPassage } from './passage.ts';
import { documentsOf, fuseByRank, type RankedPassage, withoutCopies } from './ranking.ts';
import { indexText, indexWords, queryTerms, quote, wordsOf } from './terms.ts';

/** A document that matches, with its best passage. */
export interface DocumentHit {
  path: string;
  title: string;
  snippet: string;
  published?: string;
}

/** A document for the index. `signature` changes whenever the document does. */
export interface IndexedDocument {
  file: { path: string; signature: string };
  document: ChunkedDocument;
}

/** Passages looked at per query before they are put together by document. */
const CANDIDATES = 80;

/** The first of them, which are ranked anew by what they have in common. */
const RERANKED = 24;

/** An index of more passages than this weighs its words before it searches. */
const LARGE = 20_000;
/** A word in so many passages is common. */
const COMMON = 1500;

/** Words whose share of the passages is remembered at most. */
const MAX_SHARES = 20_000;

/** Languages whose stems a query is looked up in, those of most documents first. */
const MAX_LANGUAGES = 5;

/** Documents are looked at again for put-together words once a language has so many times more words than then. */
const GROWTH = 1.5;

/** Words in titles weigh most, then those in headings; parts of put-together words least. */
const SEARCH = `
  SELECT documents.path AS path, documents.title AS title, documents.published AS published, chunks.text AS text,
    documents.language AS language, found.score AS score
  FROM (SELECT rowid, bm25(words, 1.5, 1.0, 1.0, 0.5) AS score FROM words WHERE words MATCH ? ORDER BY score
    LIMIT ${CANDIDATES}) AS found
  JOIN chunks ON chunks.id = found.rowid
  JOIN documents ON documents.id = chunks.document
  ORDER BY found.score
`;

const DELETIONS = [
  'DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)',
  'DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)',
  'DELETE FROM chunks WHERE document = ?',
  'DELETE FROM documents WHERE id = ?',
];

/**
 * A full-text index (SQLite FTS5), in a file or in memory. Documents are cut into passages: snippets of whole ones are
 * slow. Words stand in it as the stems of their document's language.
 */
export class DocumentIndex implements Disposable {
  readonly #db: DatabaseSync;
  readonly #stems = new Stems();
  readonly #compounds = new Compounds(this.#stems);
  readonly #insertDocument: StatementSync;
  readonly #insertText: StatementSync;
  readonly #insertWords: StatementSync;
  readonly #search: StatementSync;
  readonly #count: StatementSync;
  readonly #last: StatementSync;
  readonly #remember: StatementSync;
  readonly #deletions: readonly StatementSync[];
  readonly #shares = new Map<string, number>();
  #sharesOf = 0;
  /** Terms that were found to be common: counting up to that takes longer than all of a rare one. */
  readonly #common = new Set<string>();

  /** @throws Error of SQLite or the file system where the file cannot be used. */
  constructor(file?: { path: string; owner: boolean }) {
    this.#db = openIndexDatabase(file?.path, { owner: file?.owner ?? true });
    this.#insertDocument = this.#db.prepare(
      'INSERT INTO documents (path, signature, title, published, language, vocabulary) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#insertText = this.#db.prepare('INSERT INTO chunks (document, heading, text) VALUES (?, ?, ?)');
    this.#insertWords = this.#db.prepare(
      'INSERT INTO words (rowid, title, heading, body, parts) VALUES (?, ?, ?, ?, ?)',
    );
    this.#search = this.#db.prepare(SEARCH);
    this.#count = this.#db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COMMON})`,
    );
    this.#last = this.#db.prepare('SELECT max(id) AS id FROM chunks');
    this.#remember = this.#db.prepare(
      'INSERT INTO learned (language, stem, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = excluded.count',
    );
    this.#deletions = DELETIONS.map((sql) => this.#db.prepare(sql));
    // FTS5 leaves row numbers behind that are no JavaScript numbers; `run` reports the last one.
    for (const statement of [...this.#deletions, this.#insertWords]) statement.setReadBigInts(true);
    this.recall();
  }

  /** The tables, for what else is kept of the documents. */
  get database(): DatabaseSync {
    return this.#db;
  }

  /** Takes in what other processes learned of the words. */
  recall(): void {
    const rows = this.#db.prepare('SELECT language, stem, count FROM learned').all();
    this.#compounds.restore(
      rows.flatMap(({ language, stem, count }) => {
        const name = String(language);
        return isLanguage(name) ? [{ language: name, stem: String(stem), count: Number(count) }] : [];
      }),
    );
  }

  /** The signature of every document in the index, by path. */
  signatures(): Map<string, string> {
    const rows = this.#db.prepare('SELECT path, signature FROM documents').all();
    return new Map(rows.map((row) => [String(row.path), String(row.signature)]));
  }

  /** What was noted under a name; see `note`. */
  noted(key: string): string | undefined {
    const value = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value;
    return value === undefined ? undefined : String(value);
  }

  /** Notes something for later and for other processes. */
  note(key: string, value: string): void {
    this.#db
      .prepare('INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value')
      .run(key, value);
  }

  /**
   * Puts documents in, in place of their earlier versions, and takes others out; all or nothing. With `until` it stops
   * after the document at which that time (of `performance.now()`) is over.
   * @returns how many were put in.
   */
  update(change: { put: readonly IndexedDocument[]; remove: readonly string[]; until?: number }): number {
    const { until = Number.POSITIVE_INFINITY } = change;
    let done = 0;
    if (change.remove.length > 0) this.#common.clear();
    this.#inTransaction(() => {
      for (const path of change.remove) this.#delete(path);
      for (const { file, document } of change.put) {
        this.#put(file, document);
        done += 1;
        if (performance.now() >= until) break;
      }
      for (const { language, stem, count } of this.#compounds.takeChanges()) this.#remember.run(language, stem, count);
    });
    return done;
  }

  /**
   * Takes words apart, in up to `limit` documents, that were put in before enough of their language was known.
   * @returns how many documents were looked at again.
   */
  revisit(limit: number): number {
    const due = LANGUAGES.filter(hasCompounds).flatMap((language) =>
      this.#db
        .prepare('SELECT id, path, title FROM documents WHERE language = ? AND vocabulary < ? LIMIT ?')
        .all(language, Math.floor(this.#compounds.size(language) / GROWTH), limit)
        .map((row) => ({ id: Number(row.id), path: String(row.path), title: String(row.title), language })),
    );
    const documents = due.slice(0, limit);
    this.#inTransaction(() => {
      for (const document of documents) this.#revisit(document);
    });
    return documents.length;
  }

  /**
   * The best documents for a query in plain words, with those whose passages are `near` in meaning, if it is known which.
   * No query makes it throw.
   */
  search(query: string, limit: number, near: readonly RankedPassage[] = []): DocumentHit[] {
    const { passages, words } = this.find(query);
    const byWords = documentsOf(passages);
    const ranked = near.length === 0 ? byWords : fuseByRank([byWords, documentsOf(near)]);
    return withoutCopies(ranked, limit).map(({ text, published, ...document }) => ({
      ...document,
      snippet: bestPassage(text, words),
      ...(published ? { published } : {}),
    }));
  }

  /** The passages that match a query, best first, and the words to look for in them. */
  find(query: string): { passages: RankedPassage[]; words: string[] } {
    const about = { languages: this.#languages(), stems: this.#stems, compounds: this.#compounds };
    const { match, terms, words } = queryTerms(query, about);
    const rows = match === '' ? [] : this.#rows(match, terms);
    const found = rows.map((row) => ({ passage: foundPassage(row), language: knownLanguage(row.language) }));
    const best = found.slice(0, RERANKED).map(({ passage, language }) => ({
      passage,
      words: indexWords(passage.text, { language, stems: this.#stems }),
    }));
    const rest = found.slice(RERANKED).map(({ passage }) => passage);
    const all = this.#size();
    const passages = [...withFeedback(best, (word) => this.#share(word, all)), ...rest];
    return { passages, words };
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  /**
   * The passages that match, best first. In a large index a word that half of the documents have says little and costs
   * much, so the rare ones decide there; a query of common words alone wants passages that have all of them.
   */
  #rows(match: string, terms: readonly string[]) {
    if (this.#size() <= LARGE || terms.length === 0) return this.#search.all(match);
    const counted = terms.map((term) => ({ term, count: this.#counted(term) }));
    const rare = counted.filter(({ count }) => count > 0 && count < COMMON).map(({ term }) => term);
    if (rare.length > 0) return this.#search.all(rare.join(' OR '));
    const present = counted.filter(({ count }) => count > 0).map(({ term }) => term);
    if (present.length === 0) return this.#search.all(match);
    const together = this.#search.all(present.join(' AND '));
    return together.length > 0 ? together : this.#search.all(present.slice(0, 2).join(' OR '));
  }

  /** How many passages there are, or were. */
  #size(): number {
    return Number(this.#last.get()?.id ?? 0);
  }

  /** How many passages match a term, at most `COMMON`. */
  #counted(term: string): number {
    if (this.#common.has(term)) return COMMON;
    const count = Number(this.#count.get(term)?.count ?? 0);
    if (count >= COMMON && this.#common.size < MAX_SHARES) this.#common.add(term);
    return count;
  }

  /** The share of all passages that have a word; for common ones at least so many. */
  #share(word: string, all: number): number {
    if (this.#shares.size > MAX_SHARES || all > this.#sharesOf * GROWTH) {
      this.#shares.clear();
      this.#sharesOf = all;
    }
    let share = this.#shares.get(word);
    if (share === undefined) {
      share = this.#counted(quote(word)) / Math.max(1, all);
      this.#shares.set(word, share);
    }
    return share;
  }

  /** Those of the documents. */
  #languages(): Language[] {
    const rows = this.#db
      .prepare('SELECT language, count(*) AS count FROM documents GROUP BY language ORDER BY count DESC LIMIT ?')
      .all(MAX_LANGUAGES);
    return rows.map(({ language }) => String(language)).filter(isLanguage);
  }

  #put(file: IndexedDocument['file'], document: ChunkedDocument): void {
    this.#delete(file.path);
    const language = languageOf(document);
    if (hasCompounds(language)) for (const { text } of document.chunks) this.#compounds.learn(wordsOf(text), language);
    const { title, published = null } = document;
    const known = this.#compounds.size(language);
    const row = [file.path, file.signature, title, published, language, known];
    const { lastInsertRowid: id } = this.#insertDocument.run(...row);
    for (const chunk of document.chunks) {
      const { lastInsertRowid: row } = this.#insertText.run(id, chunk.heading, chunk.text);
      this.#putWords(row, chunk, { path: file.path, title, language });
    }
  }

  #putWords(row: number | bigint, chunk: Chunk, about: { path: string; title: string; language: Language }): void {
    const how = { language: about.language, stems: this.#stems };
    const title = indexText(`${about.title} ${about.path}`, how);
    const parts = hasCompounds(about.language)
      ? [...new Set(wordsOf(`${chunk.heading} ${chunk.text}`))].flatMap((word) =>
          this.#compounds.split(word, about.language),
        )
      : [];
    this.#insertWords.run(row, title, indexText(chunk.heading, how), indexText(chunk.text, how), parts.join(' '));
  }

  #revisit({ id, ...about }: { id: number; path: string; title: string; language: Language }): void {
    const chunks = this.#db.prepare('SELECT id, heading, text FROM chunks WHERE document = ?').all(id);
    this.#deletions[0]?.run(id);
    for (const chunk of chunks)
      this.#putWords(Number(chunk.id), { heading: String(chunk.heading), text: String(chunk.text) }, about);
    this.#db.prepare('UPDATE documents SET vocabulary = ? WHERE id = ?').run(this.#compounds.size(about.language), id);
  }

  #delete(path: string): void {
    const row = this.#db.prepare('SELECT id FROM documents WHERE path = ?').get(path);
    if (!row?.id) return;
    for (const statement of this.#deletions) statement.run(row.id);
  }

  #inTransaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** A row of the search. The score of FTS5 is better the lower it is. */
function foundPassage({ path, title, text, published, score }: Record<string, unknown>): RankedPassage {
  return {
    path: String(path),
    title: String(title),
    text: String(text),
    published: typeof published === 'string' ? published : undefined,
    score: -Number(score),
  };
}

function knownLanguage(language: unknown): Language {
  return typeof language === 'string' && isLanguage(language) ? language : FALLBACK;
}

/** What language a document is in, from its beginning and its middle. */
function languageOf({ title, chunks }: ChunkedDocument): Language {
  const middle = chunks[Math.floor(chunks.length / 2)];
  const sample = [title, chunks[0]?.text, middle?.text].join('\n');
  return detectLanguage(sample) ?? FALLBACK;
}
