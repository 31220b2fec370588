import { rmSync } from 'node:fs';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { chunkInSteps } from '../../tools/web-search/local/chunks.ts';
import { DocumentIndex, runInSlices } from '../../tools/web-search/local/document-index.ts';
import { prepareWrite } from '../../tools/web-search/local/index-database.ts';
import { fuseByRank, type RankedPassage } from '../../tools/web-search/local/ranking.ts';
import { SemanticSearch, type SemanticSearchOptions } from '../../tools/web-search/local/semantic-search.ts';
import { type Attributes, compileFilter, type Filter } from '../filters.ts';
import type { IndexFile, IndexHit, IndexProgress, IndexState } from './messages.ts';

/** A full-text score that is neither good nor bad. */
const MIDDLING_SCORE = 8;
/** Names of notes in the index. `CHANGES` counts how often attributes were changed or documents removed. */
const REVISION = 'revision';
const CHANGES = 'changes of attributes';
/** Page cache of a connection, in KiB: many may be open, and the system caches the files as well. */
const CACHE_KIB = 16_384;

/** What computes the vectors of passages. */
export type CollectionEmbeddings = Pick<SemanticSearchOptions, 'model' | 'embed'>;

/** The index of one vector store: documents with their attributes, in a file of its own. */
export class CollectionIndex implements Disposable {
  readonly #path: string | undefined;
  readonly #sliceMs: number | undefined;
  readonly #index: DocumentIndex;
  readonly #meaning: SemanticSearch | undefined;
  readonly #statements;
  /** Documents with their attributes, as of `#changes`. New documents have higher ids. */
  #documents: { id: number; attributes: Attributes }[] = [];
  #changes: string | undefined;
  #isDirty = false;

  /** @throws Error of SQLite or the file system if the file cannot be used. */
  constructor(
    path: string | undefined,
    about: { owner: boolean; sliceMs?: number; embeddings?: CollectionEmbeddings | undefined },
  ) {
    const { owner, sliceMs, embeddings } = about;
    this.#path = path;
    this.#sliceMs = sliceMs;
    this.#index = new DocumentIndex(path === undefined ? undefined : { path, owner }, { sliceMs });
    const { database: db } = this.#index;
    this.#meaning = embeddings && new SemanticSearch(this.#index, { ...embeddings, owner: () => owner });
    // Deleted text must not stay on the disk.
    db.exec(`PRAGMA secure_delete = ON; PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec('CREATE TABLE IF NOT EXISTS attributes (path TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID');
    this.#statements = {
      put: prepareWrite(
        db,
        'INSERT INTO attributes (path, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      ),
      remove: prepareWrite(db, 'DELETE FROM attributes WHERE path = ?'),
      sign: prepareWrite(db, 'UPDATE documents SET signature = ? WHERE path = ?'),
      count: db.prepare(`SELECT count(*) AS count FROM documents WHERE signature <> ''`),
      since: db.prepare('SELECT id, value FROM documents LEFT JOIN attributes USING (path) WHERE id > ? ORDER BY id'),
    };
  }

  state(path?: string): IndexState {
    return this.#index.signatures(path);
  }

  /** The number of documents and the revision of this index. */
  progress(): IndexProgress {
    const revision = this.#index.storedNote(REVISION);
    const documents = Number(this.#statements.count.get()?.count ?? 0);
    return { documents, ...(revision !== undefined && { revision: Number(revision) }) };
  }

  /** Notes the revision of the list that this index has reached. */
  note(revision: number): void {
    this.#index.note(REVISION, String(revision));
  }

  async put({ path, signature, name, title, text, attributes }: IndexFile): Promise<void> {
    const steps = chunkInSteps(text, { contentType: 'text/markdown', name, places: true });
    const cut = await runInSlices(steps, { sliceMs: this.#sliceMs });
    if (!cut || !this.#index.database.isOpen) return;
    const document = { ...cut, title: title || cut.title || name };
    this.#statements.put.run(path, JSON.stringify(attributes));
    await this.#index.putInSlices({ file: { path, signature }, document });
  }

  setAttributes(path: string, { attributes, signature }: { attributes: Attributes; signature: string }): void {
    this.#statements.put.run(path, JSON.stringify(attributes));
    this.#statements.sign.run(signature, path);
    this.#countChange();
  }

  async remove(paths: readonly string[]): Promise<void> {
    this.#isDirty = true;
    await this.#index.removeInSlices(paths);
    if (!this.#index.database.isOpen) return;
    for (const path of paths) this.#statements.remove.run(path);
    this.#countChange();
  }

  /**
   * Wipes removed text from the disk: the full-text index keeps its words until it is merged.
   * @throws Error if that failed, because the disk is full or the index is being read. It can be tried again.
   */
  async wipe(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    const { database: db } = this.#index;
    try {
      await this.#index.mergeInSlices();
      if (db.isOpen && db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0)
        throw new Error('the index is being read');
    } catch (thrown) {
      this.#isDirty = true;
      throw thrown;
    }
  }

  /** Finds the best passages for any of the queries, among documents whose attributes pass the filter. */
  async search(
    queries: readonly string[],
    { limit, filter }: { limit: number; filter: Filter | undefined },
  ): Promise<IndexHit[]> {
    this.#refresh();
    const candidates = filter && this.#documentsPassing(filter);
    if (candidates?.length === 0) return [];
    const byMeaning = Promise.all(queries.map((query) => this.#meaning?.nearest(query, candidates) ?? []));
    const byWords: RankedPassage[][] = [];
    for (const query of queries) {
      // Lets other requests run in between.
      if (byWords.length > 0) await yieldToEventLoop();
      if (!this.#index.database.isOpen) throw new Error('the index was closed meanwhile');
      const { passages } = this.#index.find(query, { within: candidates, limit });
      byWords.push(passages.slice(0, limit).map(withComparableScore));
    }
    const nameOf = ({ path, text }: RankedPassage) => `${path} ${text}`;
    const better = (a: RankedPassage, b: RankedPassage) => (b.score > a.score ? b : a);
    const ranked = fuseByRank([...byWords, ...(await byMeaning)], { nameOf, better }).slice(0, limit);
    const scores = ranked.map(({ score }) => score).sort((a, b) => b - a);
    // The order is that of the fused lists. Scores are sorted separately, because clients expect them to fall.
    return ranked.map(({ title, published, coverage, ...hit }, at) => ({ ...hit, score: scores[at] ?? 0 }));
  }

  /** Starts computing missing vectors, if this index has embeddings. */
  startEmbedding(): void {
    this.#meaning?.embedMissing();
  }

  /** Closes the index and removes its files. */
  drop(): void {
    this[Symbol.dispose]();
    for (const suffix of this.#path === undefined ? [] : ['', '-wal', '-shm'])
      rmSync(this.#path + suffix, { force: true });
  }

  [Symbol.dispose](): void {
    this.#meaning?.[Symbol.dispose]();
    this.#index[Symbol.dispose]();
  }

  #countChange(): void {
    this.#index.note(CHANGES, String(Number(this.#index.storedNote(CHANGES) ?? 0) + 1));
  }

  /** Drops cached data that another connection has changed. */
  #refresh(): void {
    this.#index.follow();
    const changes = this.#index.storedNote(CHANGES);
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#documents = [];
    this.#index.forgetCounts();
    this.#meaning?.tidy();
  }

  /** Row ids of the documents that pass the filter. */
  #documentsPassing(filter: Filter): number[] {
    for (const { id, value } of this.#statements.since.all(this.#documents.at(-1)?.id ?? 0))
      this.#documents.push({ id: Number(id), attributes: JSON.parse(String(value ?? '{}')) });
    const test = compileFilter(filter);
    return this.#documents.flatMap(({ id, attributes }) => (test(attributes) ? [id] : []));
  }
}

/**
 * Scores a passage from 0 to 1, as cosines do. Full-text scores mean little with few documents, so the share of the query
 * that a passage covers comes first.
 */
function withComparableScore(passage: RankedPassage): RankedPassage {
  const score = Math.max(0, passage.score);
  return { ...passage, score: ((passage.coverage ?? 0) * (1 + score / (score + MIDDLING_SCORE))) / 2 };
}
