import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { quote } from './terms.ts';

/** Passages looked at per query before they are put together by document. */
const CANDIDATES = 80;

/** Passages that are scored per query: with more in the index, the rarest words of the query choose them. */
const SCORED = 2000;
/** In an index of more passages than this, common words do not score either. */
const LARGE = 20_000;
/** A word in so many passages is common there. */
const COMMON = 1500;
/** A word in so many says nothing beside others, and to weigh it costs milliseconds: it is counted no further. */
const EVERYWHERE = 50_000;
/** Passages of common words that are scored at most in a large index. */
const MOST_SCORED = 5000;
/** To so few documents a search is confined by a list of all their passages, else each passage is looked up. */
const FEW_DOCUMENTS = 2000;
/** All that there are, as SQLite says it. */
const NO_LIMIT = -1;

/** Terms whose counts are remembered at most, and how many times more passages there may be until they are counted anew. */
const MAX_COUNTS = 20_000;
const GROWTH = 1.5;

/** Words in titles weigh most, then those in headings; parts of put-together words least. */
const rowsWhere = (condition: string) => `
  SELECT documents.path AS path, documents.title AS title, documents.published AS published, chunks.text AS text,
    chunks.page AS page, chunks.section AS section, documents.language AS language, found.score AS score
  FROM (SELECT rowid, score
    FROM (SELECT rowid, bm25(words, 1.5, 1.0, 1.0, 0.5) AS score FROM words WHERE ${condition} LIMIT ?)
    ORDER BY score LIMIT ${CANDIDATES}) AS found
  JOIN chunks ON chunks.id = found.rowid
  JOIN documents ON documents.id = chunks.document
  ORDER BY found.score
`;

/** The plus keeps SQLite from asking the full-text index for one passage after the other. */
const AMONG = 'words MATCH ? AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?)';

/** Only passages of some documents, a few or many; the list is JSON. */
const WITHIN_FEW = `words MATCH ? AND +rowid IN
    (SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?)))`;
const WITHIN_MANY = `words MATCH ? AND EXISTS (SELECT 1 FROM chunks AS passage
    WHERE passage.id = words.rowid AND passage.document IN (SELECT value FROM json_each(?)))`;

/** The passages that match an expression of the full-text index, best first; in a large index of the first so many. */
type Find = (match: string) => ReturnType<StatementSync['all']>;

/** Finds the passages that match a query in an index of any size. To score a passage takes ten times as long as to match it. */
export class PassageSearch {
  readonly #statements;
  readonly #counts = new Map<string, number>();
  #countedOf = 0;

  constructor(db: DatabaseSync) {
    this.#statements = {
      search: db.prepare(rowsWhere('words MATCH ?')),
      among: db.prepare(rowsWhere(AMONG)),
      withinFew: db.prepare(rowsWhere(WITHIN_FEW)),
      withinMany: db.prepare(rowsWhere(WITHIN_MANY)),
      count: db.prepare('SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)'),
      last: db.prepare('SELECT max(id) AS id FROM chunks'),
    };
  }

  /**
   * The passages that match any of `expressions`, best first. `terms` are those that say something alone. In a middling
   * index the rarest expressions choose the passages and all of them score; in a large one see `#rowsOfMany`. `within`:
   * only in these documents.
   */
  search(expressions: readonly string[], terms: readonly string[], within?: readonly number[]) {
    if (expressions.length === 0) return [];
    const all = this.#size();
    if (this.#counts.size > MAX_COUNTS || all > this.#countedOf * GROWTH) {
      this.#counts.clear();
      this.#countedOf = all;
    }
    if (all > LARGE && terms.length > 0) return this.#rowsOfMany(expressions, terms, within);
    const rarest = all > SCORED && !within ? this.#rarest(expressions) : [];
    const match = anyOf(expressions);
    return rarest.length > 0
      ? this.#statements.among.all(match, anyOf(rarest), NO_LIMIT)
      : this.#finder(within, { isLarge: false })(match);
  }

  #finder(within: readonly number[] | undefined, { isLarge }: { isLarge: boolean }): Find {
    const most = isLarge ? MOST_SCORED : NO_LIMIT;
    if (!within) return (match) => this.#statements.search.all(match, most);
    const documents = JSON.stringify(within);
    const { withinFew, withinMany } = this.#statements;
    const statement = within.length <= FEW_DOCUMENTS ? withinFew : withinMany;
    return (match) => statement.all(match, documents, most);
  }

  /** How many passages there are, or were. */
  #size(): number {
    return Number(this.#statements.last.get()?.id ?? 0);
  }

  /** The share of all passages that have a word; for common ones at least so many. */
  share(word: string): number {
    return this.#countOf(quote(word)) / Math.max(1, this.#size());
  }

  /** Has to be called when documents are taken out: what was common may be no more. */
  forget(): void {
    this.#counts.clear();
  }

  /**
   * In a large index a word that half of the documents have says little and costs much, so the rare ones decide there; a
   * query of common words alone wants passages that have all of them.
   */
  #rowsOfMany(expressions: readonly string[], terms: readonly string[], within: readonly number[] | undefined) {
    const find = this.#finder(within, { isLarge: true });
    const rare = terms.filter((term) => this.#isRare(term));
    if (rare.length > 0) {
      const rarest = this.#rarest(rare);
      const isAll = rarest.length === rare.length;
      return within || isAll ? find(anyOf(rare)) : this.#statements.among.all(anyOf(rare), anyOf(rarest), NO_LIMIT);
    }
    const counted = this.#counted(terms, EVERYWHERE);
    const telling = counted.filter(({ count }) => count < EVERYWHERE);
    // Of those that stand everywhere the two that are rarest.
    const wanted = telling.length > 0 ? telling : this.#counted(terms, NO_LIMIT).slice(0, 2);
    const [rarest] = wanted;
    if (!rarest) return find(anyOf(expressions));
    const together = find(wanted.map(({ term }) => term).join(' AND '));
    return together.length > 0 ? together : find(rarest.term);
  }

  /** Those that are there, the rarest first. */
  #counted(terms: readonly string[], limit = COMMON) {
    return terms
      .map((term) => ({ term, count: this.#countOf(term, limit) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count);
  }

  #isRare(term: string): boolean {
    const count = this.#countOf(term);
    return count > 0 && count < COMMON;
  }

  /** How many passages match a term, counted up to a limit; there may be more by now. */
  #countOf(term: string, limit = COMMON): number {
    const name = `${limit} ${term}`;
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = Number(this.#statements.count.get(term, limit)?.count ?? 0);
      this.#counts.set(name, count);
    }
    return count;
  }

  /** The rarest of expressions, as many as match `SCORED` passages together; none where all are common. */
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
