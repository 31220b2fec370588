import { rmSync } from 'node:fs';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { chunkInSteps } from '../../tools/web-search/local/chunks.ts';
import { DocumentIndex, takeInSlices } from '../../tools/web-search/local/document-index.ts';
import { prepareWrite } from '../../tools/web-search/local/index-database.ts';
import { Meaning, type MeaningOptions } from '../../tools/web-search/local/meaning.ts';
import { fuseByRank, type RankedPassage } from '../../tools/web-search/local/ranking.ts';
import { type Attributes, type Filter, testOf } from '../filters.ts';
import type { IndexFile, IndexHit, IndexProgress, IndexState } from './messages.ts';

/** A score of the full-text index that is neither good nor bad. */
const MIDDLING = 8;
/** Names under which the index notes things. The second counts how often attributes were changed or documents taken out. */
const REVISION = 'revision';
const CHANGES = 'changes of attributes';
/** Pages that a connection keeps, in KiB: many may be open, and the system keeps those of files too. */
const CACHE_KIB = 16_384;

/** What vectors of passages come from. */
export type CollectionEmbeddings = Pick<MeaningOptions, 'model' | 'embed'>;

/** The index of one vector store: documents with their attributes, in a file of its own. */
export class CollectionIndex implements Disposable {
  readonly #path: string | undefined;
  readonly #sliceMs: number | undefined;
  readonly #index: DocumentIndex;
  readonly #meaning: Meaning | undefined;
  readonly #statements;
  /** Documents with their attributes, as of so many changes. New ones have higher ids. */
  #documents: { id: number; attributes: Attributes }[] = [];
  #changes: string | undefined;
  #isDirty = false;

  /** @throws Error of SQLite or the file system where the file cannot be used. */
  constructor(
    path: string | undefined,
    about: { owner: boolean; sliceMs?: number; embeddings?: CollectionEmbeddings | undefined },
  ) {
    const { owner, sliceMs, embeddings } = about;
    this.#path = path;
    this.#sliceMs = sliceMs;
    this.#index = new DocumentIndex(path === undefined ? undefined : { path, owner }, { sliceMs });
    const { database: db } = this.#index;
    this.#meaning = embeddings && new Meaning(this.#index, { ...embeddings, owner: () => owner });
    // What is deleted shall be gone from the disk.
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

  /** How far this index is. */
  progress(): IndexProgress {
    const revision = this.#index.noted(REVISION);
    const documents = Number(this.#statements.count.get()?.count ?? 0);
    return { documents, ...(revision !== undefined && { revision: Number(revision) }) };
  }

  /** Says up to which revision of the list this index was brought. */
  note(revision: number): void {
    this.#index.note(REVISION, String(revision));
  }

  async put({ path, signature, name, title, text, attributes }: IndexFile): Promise<void> {
    const steps = chunkInSteps(text, { contentType: 'text/markdown', name, places: true });
    const cut = await takeInSlices(steps, { sliceMs: this.#sliceMs });
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
   * Takes what was removed from the disk too: the full-text index keeps its words until it is put together anew.
   * @throws Error where that did not work: the disk is full, or somebody reads for long. It can be tried again.
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

  /** The best passages for any of the queries, among documents whose attributes pass the filter. */
  async search(
    queries: readonly string[],
    { limit, filter }: { limit: number; filter: Filter | undefined },
  ): Promise<IndexHit[]> {
    this.#follow();
    const within = filter && this.#within(filter);
    if (within?.length === 0) return [];
    const near = Promise.all(queries.map((query) => this.#meaning?.near(query, within) ?? []));
    const byWords: RankedPassage[][] = [];
    for (const query of queries) {
      // Others may ask in between.
      if (byWords.length > 0) await yieldToEventLoop();
      if (!this.#index.database.isOpen) throw new Error('the index was closed meanwhile');
      byWords.push(this.#scored(query, this.#index.find(query, within).passages.slice(0, limit)));
    }
    const nameOf = ({ path, text }: RankedPassage) => `${path} ${text}`;
    const better = (one: RankedPassage, other: RankedPassage) => (other.score > one.score ? other : one);
    const ranked = fuseByRank([...byWords, ...(await near)], { nameOf, better }).slice(0, limit);
    const scores = ranked.map(({ score }) => score).sort((a, b) => b - a);
    // The order is that of the joined lists. Scores are sorted by themselves: clients expect them to fall.
    return ranked.map(({ title, published, ...hit }, at) => ({ ...hit, score: scores[at] ?? 0 }));
  }

  /** Sees that passages get vectors, where this index has embeddings. */
  work(): void {
    this.#meaning?.work();
  }

  /** Removes the index with its files. */
  drop(): void {
    this[Symbol.dispose]();
    for (const suffix of this.#path === undefined ? [] : ['', '-wal', '-shm'])
      rmSync(this.#path + suffix, { force: true });
  }

  [Symbol.dispose](): void {
    this.#meaning?.[Symbol.dispose]();
    this.#index[Symbol.dispose]();
  }

  /**
   * With scores from 0 to 1, as cosines are: those of the full-text index say little where there are few documents, so how
   * much of the query a passage says counts first.
   */
  #scored(query: string, passages: readonly RankedPassage[]): RankedPassage[] {
    const coverage = this.#index.coverage(query, passages);
    return passages.map((passage, at) => {
      const score = Math.max(0, passage.score);
      return { ...passage, score: ((coverage[at] ?? 0) * (1 + score / (score + MIDDLING))) / 2 };
    });
  }

  #countChange(): void {
    this.#index.note(CHANGES, String(Number(this.#index.noted(CHANGES) ?? 0) + 1));
  }

  /** Lets go of what is not so any more: another connection may write. */
  #follow(): void {
    this.#index.follow();
    const changes = this.#index.noted(CHANGES);
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#documents = [];
    this.#index.forgetCounts();
    this.#meaning?.tidy();
  }

  /** Documents that pass, by the ids of their rows. */
  #within(filter: Filter): number[] {
    for (const { id, value } of this.#statements.since.all(this.#documents.at(-1)?.id ?? 0))
      this.#documents.push({ id: Number(id), attributes: JSON.parse(String(value ?? '{}')) });
    const test = testOf(filter);
    return this.#documents.flatMap(({ id, attributes }) => (test(attributes) ? [id] : []));
  }
}
