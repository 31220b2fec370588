import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { yieldToEventLoop } from '../../../base/load/event-loop.ts';
import type { ChunkedDocument } from './chunks.ts';
import { Compounds } from './compounds.ts';
import { withCoverage, withFeedback } from './feedback.ts';
import { openIndexDatabase, prepareWrite } from './index-database.ts';
import { IndexWriter } from './index-writer.ts';
import { FALLBACK, hasCompounds, type IndexLanguage, isLanguage, LANGUAGES, Stems } from './languages.ts';
import { bestPassage } from './passage.ts';
import { PassageSearch } from './passage-search.ts';
import { documentsOf, fuseByRank, type RankedPassage, rankedPassage, withoutCopies } from './ranking.ts';
import { indexWords, phrasesOf, queryTerms, quote } from './terms.ts';

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

/** How many of the first passages are reranked by how much of the query they have, and by what they have in common. */
const RERANKED = 40;

/** The default length of one slice of writing, in milliseconds. */
const SLICE_MS = 3;

/** How often changes of other connections are read at most, in milliseconds, and how many words in one step. */
const FOLLOW_MS = 5000;
const WORDS_PER_STEP = 500;

/** How many languages a query is stemmed in, starting with that of most documents. */
const MAX_LANGUAGES = 5;

/** By what factor the known words of a language must have grown before its documents are split into compounds again. */
const GROWTH = 1.5;

let lastTurn = Promise.resolve();

/** A turn of the event loop with no other slice in it: however much is written, a search waits for one slice only. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(yieldToEventLoop);
  return lastTurn;
}

function runNow(work: () => void): boolean {
  work();
  return true;
}

/**
 * Runs steps in slices of `sliceMs` milliseconds, each in a turn of the event loop of its own. `slice` runs the work that it
 * gets, and returns false to stop.
 */
export async function runInSlices<T>(
  steps: Generator<void, T>,
  { slice = runNow, sliceMs = SLICE_MS }: { slice?: (work: () => void) => boolean; sliceMs?: number | undefined } = {},
): Promise<T | undefined> {
  let step: IteratorResult<void, T> | undefined;
  while (!step?.done) {
    await ownTurn();
    const until = performance.now() + sliceMs;
    const continues = slice(() => {
      do step = steps.next();
      while (!step.done && performance.now() < until);
    });
    if (!continues) return undefined;
  }
  return step.value;
}

/**
 * A full-text index (SQLite FTS5), in a file or in memory. Documents are indexed by passage, since snippets of whole
 * documents are slow. Words are stored as stems of their document's language.
 */
export class DocumentIndex implements Disposable {
  readonly #db: DatabaseSync;
  readonly #sliceMs: number;
  /** Its value changes when another connection has changed the database. */
  readonly #version: StatementSync;
  #seenVersion: unknown;
  #nextFollowAt = 0;
  /** As of the last document that was put in. */
  #countedLanguages: { lastId: unknown; languages: IndexLanguage[] } = { lastId: undefined, languages: [] };
  readonly #stems = new Stems();
  readonly #compounds = new Compounds(this.#stems);
  readonly #passages: PassageSearch;
  readonly #writer: IndexWriter;

  /** @throws Error of SQLite or the file system where the file cannot be used. */
  constructor(file?: { path: string; owner: boolean }, { sliceMs = SLICE_MS }: { sliceMs?: number | undefined } = {}) {
    const owner = file?.owner ?? true;
    this.#sliceMs = sliceMs;
    this.#db = openIndexDatabase(file?.path, { owner });
    this.#version = this.#db.prepare('PRAGMA data_version');
    this.#passages = new PassageSearch(this.#db);
    this.#writer = new IndexWriter(this.#db, { owner, stems: this.#stems, compounds: this.#compounds, sliceMs });
    this.loadWords();
    this.#seenVersion = this.#version.get()?.data_version;
  }

  /** The database, for further tables about the documents. */
  get database(): DatabaseSync {
    return this.#db;
  }

  /** Loads the words that were learned, also by other connections. */
  loadWords(): void {
    for (const _ of this.#loadWords());
  }

  /** Loads what other connections changed, in slices, and not more often than every few seconds. */
  follow(): void {
    if (performance.now() < this.#nextFollowAt) return;
    const version = this.#version.get()?.data_version;
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    this.#nextFollowAt = performance.now() + FOLLOW_MS;
    const whileOpen = (work: () => void) => this.#db.isOpen && runNow(work);
    // After a failure, the next call tries again.
    runInSlices(this.#loadWords(), { slice: whileOpen }).catch(() => {
      this.#seenVersion = undefined;
    });
  }

  /** Drops the cached counts of words, after another connection removed documents. */
  forgetCounts(): void {
    this.#passages.forget();
  }

  *#loadWords(): Generator<void> {
    const sql =
      'SELECT language, stem, count FROM learned WHERE (language, stem) > (?, ?) ORDER BY language, stem LIMIT ?';
    const nextWords = this.#db.prepare(sql);
    let last = { language: '', stem: '' };
    for (;;) {
      const rows = nextWords.all(last.language, last.stem, WORDS_PER_STEP);
      for (const { language, stem, count } of rows) {
        last = { language: String(language), stem: String(stem) };
        if (isLanguage(last.language))
          this.#compounds.restore([{ language: last.language, stem: last.stem, count: Number(count) }]);
      }
      if (rows.length < WORDS_PER_STEP) return;
      yield;
    }
  }

  /** The signatures of all documents, or of the one at `path`, by path. */
  signatures(path?: string): Map<string, string> {
    const all = 'SELECT path, signature FROM documents';
    const rows = path === undefined ? this.#db.prepare(all).all() : this.#db.prepare(`${all} WHERE path = ?`).all(path);
    return new Map(rows.map((row) => [String(row.path), String(row.signature)]));
  }

  /** The value stored under a key by `note`. */
  storedNote(key: string): string | undefined {
    const value = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value;
    return value === undefined ? undefined : String(value);
  }

  /** Stores a value for later and for other processes. */
  note(key: string, value: string): void {
    const sql = 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';
    prepareWrite(this.#db, sql).run(key, value);
  }

  /**
   * Replaces or adds documents in slices, so that searches run in between. The signature of a document stays empty until all
   * of it is in the index: for good, if the index is closed or the document removed meanwhile.
   */
  async putInSlices(...documents: readonly IndexedDocument[]): Promise<void> {
    await this.#runInSlices(this.#putAll(documents));
  }

  *#putAll(documents: readonly IndexedDocument[]): Generator<void> {
    for (const { file, document } of documents) yield* this.#writer.put(file, document);
  }

  async removeInSlices(paths: readonly string[]): Promise<void> {
    this.#passages.forget();
    for (const path of paths) await this.#runInSlices(this.#writer.delete(path));
  }

  /** Compacts the full-text index after removals, in slices. */
  async mergeInSlices(): Promise<void> {
    await this.#runInSlices(this.#writer.merge());
  }

  async #runInSlices(steps: Generator<void>): Promise<void> {
    const slice = (work: () => void) => {
      if (!this.#db.isOpen) return false;
      this.#writer.inTransaction(() => {
        work();
        this.#writer.rememberWords();
      });
      return true;
    };
    await runInSlices(steps, { slice, sliceMs: this.#sliceMs });
  }

  /** Splits compounds again in documents that were indexed before enough of their language was known, in slices. */
  async revisitInSlices(): Promise<void> {
    await this.#runInSlices(this.#revisitAll());
  }

  *#revisitAll(): Generator<void> {
    const due = this.#db.prepare('SELECT id, path, title FROM documents WHERE language = ? AND vocabulary < ?');
    for (const language of LANGUAGES.filter(hasCompounds)) {
      for (const row of due.all(language, Math.floor(this.#compounds.size(language) / GROWTH))) {
        this.#writer.revisit({ id: Number(row.id), path: String(row.path), title: String(row.title), language });
        yield;
      }
    }
  }

  /**
   * The best documents for a query in plain words, fused with those of the passages that are `near` in meaning. Never
   * throws, whatever the query.
   */
  search(query: string, limit: number, near: readonly RankedPassage[] = []): DocumentHit[] {
    const { passages, words } = this.find(query);
    const byWords = documentsOf(passages);
    const ranked =
      near.length === 0 ? byWords : fuseByRank([byWords, documentsOf(near)], { nameOf: ({ path }) => path });
    return withoutCopies(ranked, limit).map(({ text, published, ...document }) => ({
      ...document,
      snippet: bestPassage(text, words),
      ...(published ? { published } : {}),
    }));
  }

  /**
   * The passages that match a query, best first, and the words to highlight in them. At least the first `limit` have
   * their `coverage`. `within`: row ids of documents.
   */
  find(
    query: string,
    { within, limit = 0 }: { within?: readonly number[] | undefined; limit?: number } = {},
  ): { passages: RankedPassage[]; words: string[] } {
    const about = { languages: this.#languages(), stems: this.#stems, compounds: this.#compounds };
    const { expressions, terms, words } = queryTerms(query, about);
    const rows = this.#passages.search(expressions, terms, within);
    // Lower scores of FTS5 are better.
    const found = rows.map((row) => ({
      passage: rankedPassage(row, -Number(row.score)),
      language: knownLanguage(row.language),
    }));
    const reranked = Math.max(RERANKED, limit);
    const best = found.slice(0, reranked).map(({ passage, language }) => {
      const wordsOf = (text: string) => indexWords(text, { language, stems: this.#stems });
      const { title, section = '', text } = passage;
      return { passage, words: wordsOf(text), titleWords: wordsOf(`${title} ${section}`) };
    });
    const covered = withCoverage(
      best,
      terms.map((term) => ({ phrases: phrasesOf(term), share: this.#passages.share(term) })),
    );
    const rest = found.slice(reranked).map(({ passage }) => passage);
    const passages = [...withFeedback(covered, (word) => this.#passages.share(quote(word))), ...rest];
    return { passages, words };
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** The languages of most documents. Counting them costs a millisecond for every 10 000 documents, so it is done once. */
  #languages(): IndexLanguage[] {
    const lastId = this.#db.prepare('SELECT max(id) AS id FROM documents').get()?.id;
    if (lastId !== this.#countedLanguages.lastId) {
      const rows = this.#db
        .prepare('SELECT language, count(*) AS count FROM documents GROUP BY language ORDER BY count DESC LIMIT ?')
        .all(MAX_LANGUAGES);
      this.#countedLanguages = { lastId, languages: rows.map(({ language }) => String(language)).filter(isLanguage) };
    }
    return this.#countedLanguages.languages;
  }
}

function knownLanguage(language: unknown): IndexLanguage {
  return typeof language === 'string' && isLanguage(language) ? language : FALLBACK;
}
