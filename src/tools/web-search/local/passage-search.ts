import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** How many passages a query returns before they are grouped by document. */
const CANDIDATES = 80;

/** How many passages a query scores: in a larger index, its rarest words choose them. */
const SCORED = 2000;
/** In an index of more passages than this, common words are not scored either. */
const LARGE = 20_000;
/** A word in this many passages of a large index is common. */
const COMMON = 1500;
/** A word in this many passages distinguishes nothing, and scoring it costs milliseconds. */
const EVERYWHERE = 50_000;
/** How many common words have is estimated by this many samples of so many passages, spread over the index. */
const SAMPLES = 5;
const SAMPLE = 1000;
/** How many passages with common words are scored in a large index. */
const MAX_SCORED = 5000;
/** Up to this many documents, a search is confined by a list of all their passages; beyond, by a lookup for each passage. */
const FEW_DOCUMENTS = 2000;
/** How many words that are everywhere have to be in one passage: with more, few or none have them all, and all are read. */
const MAX_TOGETHER = 8;
/** SQLite's `LIMIT` without a limit. */
const NO_LIMIT = -1;

/** How many terms have cached counts, and by what factor the passages may grow before they are counted again. */
const MAX_COUNTS = 20_000;
const GROWTH = 1.5;

/** Words in titles weigh most; parts of compounds weigh least. The first parameter says whether passages are scored at all. */
const rowsWhere = (condition: string) => `
  SELECT documents.path AS path, documents.title AS title, documents.published AS published, chunks.text AS text,
    chunks.page AS page, chunks.section AS section, documents.language AS language, found.score AS score
  FROM (SELECT rowid, score
    FROM (SELECT rowid, iif(?, bm25(words, 1.5, 1.0, 1.0, 0.5), 0) AS score FROM words WHERE ${condition} LIMIT ?)
    ORDER BY score LIMIT ${CANDIDATES}) AS found
  JOIN chunks ON chunks.id = found.rowid
  JOIN documents ON documents.id = chunks.document
  ORDER BY found.score
`;

/** The plus keeps SQLite from querying the full-text index once for each passage. */
const AMONG = 'words MATCH ? AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?)';

/** Conditions for passages of a few, or of many, documents; their ids come as JSON. */
const WITHIN_FEW = `words MATCH ? AND +rowid IN
    (SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?)))`;
const WITHIN_MANY = `words MATCH ? AND EXISTS (SELECT 1 FROM chunks AS passage
    WHERE passage.id = words.rowid AND passage.document IN (SELECT value FROM json_each(?)))`;

/** The passages that match an FTS5 expression, best first; in a large index, the best of the first `MAX_SCORED`. */
type Find = (match: string, options?: { isScored: boolean }) => ReturnType<StatementSync['all']>;

/** Finds the passages that match a query. Scoring a passage costs ten times as much as matching it. */
export class PassageSearch {
  readonly #statements;
  readonly #counts = new Map<string, number>();
  #countedOf = 0;
  /** How many passages there were at the last search, counting removed ones. */
  #size = 0;

  constructor(db: DatabaseSync) {
    this.#statements = {
      search: db.prepare(rowsWhere('words MATCH ?')),
      among: db.prepare(rowsWhere(AMONG)),
      withinFew: db.prepare(rowsWhere(WITHIN_FEW)),
      withinMany: db.prepare(rowsWhere(WITHIN_MANY)),
      count: db.prepare('SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)'),
      sample: db.prepare('SELECT count(*) AS count FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?'),
      last: db.prepare('SELECT max(id) AS id FROM chunks'),
    };
  }

  /**
   * The passages that match any of `expressions`, best first. `terms`: the expressions of single terms. In a medium-sized
   * index the rarest expressions choose the passages, and all expressions score them; for a large one see
   * `#searchLarge`. `within`: only in these documents.
   */
  search(expressions: readonly string[], terms: readonly string[], within?: readonly number[]) {
    if (expressions.length === 0) return [];
    const all = Number(this.#statements.last.get()?.id ?? 0);
    this.#size = all;
    if (this.#counts.size > MAX_COUNTS || all > this.#countedOf * GROWTH) {
      this.#counts.clear();
      this.#countedOf = all;
    }
    if (all > LARGE && terms.length > 0) return this.#searchLarge(expressions, terms, within);
    const rarest = all > SCORED && !within ? this.#rarest(expressions) : [];
    const match = anyOf(expressions);
    return rarest.length > 0
      ? this.#statements.among.all(1, match, anyOf(rarest), NO_LIMIT)
      : this.#finder(within, { isLarge: false })(match);
  }

  #finder(within: readonly number[] | undefined, { isLarge }: { isLarge: boolean }): Find {
    const { search, withinFew, withinMany } = this.#statements;
    const statement = !within ? search : within.length <= FEW_DOCUMENTS ? withinFew : withinMany;
    const documents = within ? [JSON.stringify(within)] : [];
    return (match, { isScored } = { isScored: true }) => {
      const limit = !isScored ? CANDIDATES : isLarge ? MAX_SCORED : NO_LIMIT;
      return statement.all(Number(isScored), match, ...documents, limit);
    };
  }

  /** The share of all passages that matched a term at the last search, above 0; a lower bound for common terms. */
  share(term: string): number {
    return Math.max(1, this.#countOf(term)) / Math.max(1, this.#size);
  }

  /** Drops the cached counts. To be called when documents are removed: a common word may have become rare. */
  forget(): void {
    this.#counts.clear();
  }

  /**
   * In a large index a common word says little and costs much, so only rare words count. A query of common words alone
   * finds passages that have all of them; they are not scored by words that half of all passages have, which weigh nothing.
   */
  #searchLarge(expressions: readonly string[], terms: readonly string[], within: readonly number[] | undefined) {
    const find = this.#finder(within, { isLarge: true });
    const rare = terms.filter((term) => this.#isRare(term));
    if (rare.length > 0) {
      const rarest = this.#rarest(rare);
      const isAll = rarest.length === rare.length;
      return within || isAll ? find(anyOf(rare)) : this.#statements.among.all(1, anyOf(rare), anyOf(rarest), NO_LIMIT);
    }
    const counted = this.#counted(terms, (term) => this.#estimatedCount(term));
    const distinctive = counted.filter(({ count }) => count < EVERYWHERE);
    // If all words are everywhere, the two rarest of those that weigh something.
    const weighty =
      distinctive.length > 0 ? distinctive : counted.filter(({ count }) => count < this.#size / 2).slice(0, 2);
    const isScored = weighty.length > 0;
    const wanted = isScored ? weighty : counted.slice(0, MAX_TOGETHER);
    const [rarest] = wanted;
    if (!rarest) return find(anyOf(expressions));
    const withAll = find(wanted.map(({ term }) => term).join(' AND '), { isScored });
    return withAll.length > 0 ? withAll : find(rarest.term, { isScored });
  }

  /** The terms that occur, with their counts, the rarest first. */
  #counted(terms: readonly string[], countOf = (term: string) => this.#countOf(term)) {
    return terms
      .map((term) => ({ term, count: countOf(term) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count);
  }

  #isRare(term: string): boolean {
    const count = this.#countOf(term);
    return count > 0 && count < COMMON;
  }

  /** How many passages match a term, counted up to `COMMON` and cached, so there may be more by now. */
  #countOf(term: string): number {
    const count = () => Number(this.#statements.count.get(term, COMMON)?.count ?? 0);
    return this.#counts.getOrInsertComputed(term, count);
  }

  /** The same, estimated for common terms: counting a word that is everywhere takes tens of milliseconds. */
  #estimatedCount(term: string): number {
    const count = this.#countOf(term);
    if (count < COMMON) return count;
    return this.#counts.getOrInsertComputed(`about ${term}`, () => Math.max(COMMON, this.#sampledCount(term)));
  }

  #sampledCount(term: string): number {
    let matched = 0;
    for (let at = 0; at < SAMPLES; at++) {
      const from = Math.floor((at * this.#size) / SAMPLES);
      // FTS5 seeks only integers, and numbers are bound as floats.
      matched += Number(this.#statements.sample.get(term, BigInt(from + 1), BigInt(from + SAMPLE))?.count ?? 0);
    }
    return (matched / (SAMPLES * SAMPLE)) * this.#size;
  }

  /** The rarest expressions, as many as match `SCORED` passages together; none where all are common. */
  #rarest(expressions: readonly string[]): string[] {
    let sum = 0;
    return this.#counted(expressions)
      .filter(({ count }) => {
        sum += count;
        return count < COMMON && sum <= SCORED;
      })
      .map(({ term }) => term);
  }
}

function anyOf(expressions: readonly string[]): string {
  return expressions.join(' OR ');
}
