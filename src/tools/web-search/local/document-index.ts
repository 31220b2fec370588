import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { yieldToEventLoop } from '../../../base/load/event-loop.ts';
import type { ChunkedDocument } from './chunks.ts';
import { Compounds } from './compounds.ts';
import { withFeedback } from './feedback.ts';
import { openIndexDatabase, prepareWrite } from './index-database.ts';
import { IndexWriter } from './index-writer.ts';
import { FALLBACK, hasCompounds, type IndexLanguage, isLanguage, LANGUAGES, Stems } from './languages.ts';
import { bestPassage } from './passage.ts';
import { PassageSearch } from './passage-search.ts';
import { documentsOf, fuseByRank, passageOf, type RankedPassage, withoutCopies } from './ranking.ts';
import { indexWords, phrasesOf, queryTerms } from './terms.ts';

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

/** The first of them, which are ranked anew by what they have in common. */
const RERANKED = 24;

/** A long document goes in for so long at a time, in milliseconds, where nothing else is asked for. */
const SLICE_MS = 3;

/** What others changed is taken in this often at most, in milliseconds, and so many words of theirs in one step. */
const FOLLOW_MS = 5000;
const FOLLOWED = 500;

/** Languages whose stems a query is looked up in, those of most documents first. */
const MAX_LANGUAGES = 5;

/** Documents are looked at again for put-together words once a language has so many times more words than then. */
const GROWTH = 1.5;

let lastTurn = Promise.resolve();

/** A turn of the event loop that no other slice has: whatever goes into however many indexes, a search waits for one. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(yieldToEventLoop);
  return lastTurn;
}

function atOnce(work: () => void): boolean {
  work();
  return true;
}

/**
 * Takes steps in slices, each in a turn of its own and of so many milliseconds. `slice` does what it is given, and may
 * refuse to go on.
 */
export async function takeInSlices<T>(
  steps: Generator<void, T>,
  { slice = atOnce, sliceMs = SLICE_MS }: { slice?: (work: () => void) => boolean; sliceMs?: number | undefined } = {},
): Promise<T | undefined> {
  let step: IteratorResult<void, T> | undefined;
  while (!step?.done) {
    await ownTurn();
    const until = performance.now() + sliceMs;
    const goesOn = slice(() => {
      do step = steps.next();
      while (!step.done && performance.now() < until);
    });
    if (!goesOn) return undefined;
  }
  return step.value;
}

/**
 * A full-text index (SQLite FTS5), in a file or in memory. Documents are cut into passages: snippets of whole ones are
 * slow. Words stand in it as the stems of their document's language.
 */
export class DocumentIndex implements Disposable {
  readonly #db: DatabaseSync;
  readonly #sliceMs: number;
  /** What tells whether another connection has changed something. */
  readonly #version: StatementSync;
  #seenVersion: unknown;
  #followsAgainAt = 0;
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
    this.recall();
    this.#seenVersion = this.#version.get()?.data_version;
  }

  /** The tables, for what else is kept of the documents. */
  get database(): DatabaseSync {
    return this.#db;
  }

  /** Takes in what other connections learned of the words. */
  recall(): void {
    for (const _ of this.#recall());
  }

  /** Takes in, now and then and in slices, what other connections changed of what is kept in memory. */
  follow(): void {
    if (performance.now() < this.#followsAgainAt) return;
    const version = this.#version.get()?.data_version;
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    this.#followsAgainAt = performance.now() + FOLLOW_MS;
    const whileOpen = (work: () => void) => this.#db.isOpen && atOnce(work);
    // What cannot be read now is read the next time.
    takeInSlices(this.#recall(), { slice: whileOpen }).catch(() => {
      this.#seenVersion = undefined;
    });
  }

  /** What was counted of words is not so any more: another connection took documents out. */
  forgetCounts(): void {
    this.#passages.forget();
  }

  *#recall(): Generator<void> {
    const sql =
      'SELECT language, stem, count FROM learned WHERE (language, stem) > (?, ?) ORDER BY language, stem LIMIT ?';
    const some = this.#db.prepare(sql);
    let last = { language: '', stem: '' };
    for (;;) {
      const rows = some.all(last.language, last.stem, FOLLOWED);
      for (const { language, stem, count } of rows) {
        last = { language: String(language), stem: String(stem) };
        if (isLanguage(last.language))
          this.#compounds.restore([{ language: last.language, stem: last.stem, count: Number(count) }]);
      }
      if (rows.length < FOLLOWED) return;
      yield;
    }
  }

  /** The signature of every document in the index, or of the one at `path`, by path. */
  signatures(path?: string): Map<string, string> {
    const all = 'SELECT path, signature FROM documents';
    const rows = path === undefined ? this.#db.prepare(all).all() : this.#db.prepare(`${all} WHERE path = ?`).all(path);
    return new Map(rows.map((row) => [String(row.path), String(row.signature)]));
  }

  /** What was noted under a name; see `note`. */
  noted(key: string): string | undefined {
    const value = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key)?.value;
    return value === undefined ? undefined : String(value);
  }

  /** Notes something for later and for other processes. */
  note(key: string, value: string): void {
    const sql = 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';
    prepareWrite(this.#db, sql).run(key, value);
  }

  /**
   * Puts documents in, in place of their earlier versions, and takes others out; all or nothing. With `until` it stops
   * after the document at which that time (of `performance.now()`) is over.
   * @returns how many were put in.
   */
  update(change: { put: readonly IndexedDocument[]; remove: readonly string[]; until?: number }): number {
    const { until = Number.POSITIVE_INFINITY } = change;
    let done = 0;
    if (change.remove.length > 0) this.#passages.forget();
    this.#writer.inTransaction(() => {
      for (const path of change.remove) for (const _ of this.#writer.delete(path));
      for (const { file, document } of change.put) {
        for (const _ of this.#writer.put(file, document));
        done += 1;
        if (performance.now() >= until) break;
      }
      this.#writer.rememberWords();
    });
    return done;
  }

  /**
   * Puts a document in, in place of its earlier version, so that searches come in between however long it is. Until all of
   * it is there its signature is empty; it stays so where the index is closed or the document taken out meanwhile.
   */
  async putInSlices({ file, document }: IndexedDocument): Promise<void> {
    await this.#takeInSlices(this.#writer.put(file, document));
  }

  /** Takes documents out, likewise. */
  async removeInSlices(paths: readonly string[]): Promise<void> {
    this.#passages.forget();
    for (const path of paths) await this.#takeInSlices(this.#writer.delete(path));
  }

  /** Writes the full-text index anew without what was taken out, likewise. */
  async mergeInSlices(): Promise<void> {
    await this.#takeInSlices(this.#writer.merge());
  }

  async #takeInSlices(steps: Generator<void>): Promise<void> {
    const slice = (work: () => void) => {
      if (!this.#db.isOpen) return false;
      this.#writer.inTransaction(() => {
        work();
        this.#writer.rememberWords();
      });
      return true;
    };
    await takeInSlices(steps, { slice, sliceMs: this.#sliceMs });
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
    this.#writer.inTransaction(() => {
      for (const document of documents) this.#writer.revisit(document);
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
    const ranked =
      near.length === 0 ? byWords : fuseByRank([byWords, documentsOf(near)], { nameOf: ({ path }) => path });
    return withoutCopies(ranked, limit).map(({ text, published, ...document }) => ({
      ...document,
      snippet: bestPassage(text, words),
      ...(published ? { published } : {}),
    }));
  }

  /**
   * How much of a query passages say: the share of its words that stand in each, in its title or in the headings above it.
   */
  coverage(query: string, passages: readonly RankedPassage[]): number[] {
    const languages = this.#languages();
    const { terms } = queryTerms(query, { languages, stems: this.#stems, compounds: this.#compounds });
    const wanted = terms.map(phrasesOf);
    return passages.map(({ title, section = '', text }) => {
      const said = `${title} ${section} ${text}`;
      const words = new Set(languages.flatMap((language) => indexWords(said, { language, stems: this.#stems })));
      const met = wanted.filter((phrases) => phrases.some((phrase) => phrase.every((word) => words.has(word))));
      return met.length / Math.max(1, wanted.length);
    });
  }

  /**
   * The passages that match a query, best first, and the words to look for in them. `within`: only in these documents, by
   * the ids of their rows.
   */
  find(query: string, within?: readonly number[]): { passages: RankedPassage[]; words: string[] } {
    const about = { languages: this.#languages(), stems: this.#stems, compounds: this.#compounds };
    const { expressions, terms, words } = queryTerms(query, about);
    const rows = this.#passages.search(expressions, terms, within);
    // The score of FTS5 is better the lower it is.
    const found = rows.map((row) => ({
      passage: passageOf(row, -Number(row.score)),
      language: knownLanguage(row.language),
    }));
    const best = found.slice(0, RERANKED).map(({ passage, language }) => ({
      passage,
      words: indexWords(passage.text, { language, stems: this.#stems }),
    }));
    const rest = found.slice(RERANKED).map(({ passage }) => passage);
    const passages = [...withFeedback(best, (word) => this.#passages.share(word)), ...rest];
    return { passages, words };
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #languages(): IndexLanguage[] {
    const rows = this.#db
      .prepare('SELECT language, count(*) AS count FROM documents GROUP BY language ORDER BY count DESC LIMIT ?')
      .all(MAX_LANGUAGES);
    return rows.map(({ language }) => String(language)).filter(isLanguage);
  }
}

function knownLanguage(language: unknown): IndexLanguage {
  return typeof language === 'string' && isLanguage(language) ? language : FALLBACK;
}
