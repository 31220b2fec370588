import type { DatabaseSync } from 'node:sqlite';
import type { DocumentIndex } from './document-index.ts';
import { prepareWrite } from './index-database.ts';
import { passageOf, type RankedPassage } from './ranking.ts';

/** Passages that have vectors at most; the others are found by their words alone. */
const MAX_VECTORS = 300_000;
/** Passages that are compared exactly, of those that seem nearest. */
const COMPARED = 400;
/** Passages whose vectors say this little of a query do not answer it; a cosine. */
const LEAST_LIKE = 0.15;

/** A passage without a vector, as the model reads it. */
export interface PassageText {
  id: number;
  text: string;
}

/** A passage and its vector; without one if the model refuses its text. */
export interface ReadPassage {
  id: number;
  vector: Float32Array | undefined;
}

const UNREAD = `
  SELECT chunks.id AS id, documents.title AS title, chunks.heading AS heading, chunks.text AS text
  FROM chunks JOIN documents ON documents.id = chunks.document LEFT JOIN vectors ON vectors.chunk = chunks.id
  WHERE chunks.id > ? AND vectors.chunk IS NULL ORDER BY chunks.id LIMIT ?
`;
const PASSAGE = `
  SELECT documents.path AS path, documents.title AS title, documents.published AS published, chunks.text AS text,
    chunks.page AS page, chunks.section AS section, vectors.vector AS vector
  FROM vectors JOIN chunks ON chunks.id = vectors.chunk JOIN documents ON documents.id = chunks.document
  WHERE vectors.chunk = ?
`;

/**
 * The vectors of the passages of an index. In the database each number has eight bits; in memory one, its sign: the
 * passages whose signs differ least from those of the query are compared by their vectors.
 */
export class VectorIndex {
  readonly #db: DatabaseSync;
  readonly #index: DocumentIndex;
  readonly #model: string;
  readonly #statements;
  #signs = new Signs();
  /** The passage up to which all have vectors or were given up. */
  #read = 0;

  /** `model` is what the vectors come from. */
  constructor(index: DocumentIndex, model: string) {
    this.#db = index.database;
    this.#index = index;
    this.#model = model;
    const { database: db } = index;
    this.#statements = {
      unread: db.prepare(UNREAD),
      put: prepareWrite(db, 'INSERT OR REPLACE INTO vectors (chunk, vector) SELECT id, ? FROM chunks WHERE id = ?'),
      passage: db.prepare(PASSAGE),
      since: db.prepare('SELECT chunk, vector FROM vectors WHERE chunk > ? ORDER BY chunk LIMIT ?'),
    };
  }

  /** How many passages can be found by their vectors; none while the vectors are those of another model. */
  get size(): number {
    if (this.#index.noted(MODEL) !== this.#model) return 0;
    this.#follow();
    return this.#signs.size;
  }

  /** Throws away the vectors of another model. Only for the one that writes to the index. */
  claim(): void {
    if (this.#index.noted(MODEL) === this.#model) return;
    this.#db.exec('DELETE FROM vectors');
    this.#index.note(MODEL, this.#model);
    this.#signs = new Signs();
    this.#read = 0;
  }

  /** The next passages without a vector, at most `limit`. */
  unread(limit: number): PassageText[] {
    if (this.#signs.size >= MAX_VECTORS) return [];
    return this.#statements.unread.all(this.#read, limit).map(({ id, title, heading, text }) => ({
      id: Number(id),
      text: [title, heading === title ? '' : heading, text].filter(Boolean).join('\n'),
    }));
  }

  /** Keeps the vectors of passages, or passes them over where the model does not take them. */
  put(passages: readonly ReadPassage[]): void {
    for (const { id, vector } of passages) {
      this.#statements.put.run(vector ? toBytes(vector) : new Uint8Array(0), id);
      this.#read = Math.max(this.#read, id);
    }
  }

  /** Lets go of the vectors of passages that are gone, where they are many. */
  tidy(): void {
    const { count = 0 } = this.#db.prepare('SELECT count(*) AS count FROM vectors').get() ?? {};
    if (this.#signs.size > 2 * Number(count) + 1000) this.#signs = new Signs();
  }

  /** The passages nearest to a query, best first. `within`: only of these documents, by the ids of their rows. */
  search(query: Float32Array, limit: number, within?: readonly number[]): RankedPassage[] {
    this.#follow();
    const near = this.#signs.nearest(query, COMPARED, within && this.#passagesOf(within));
    const found: RankedPassage[] = [];
    for (const id of near) {
      const row = this.#statements.passage.get(id);
      if (!(row?.vector instanceof Uint8Array)) continue;
      const score = cosine(query, row.vector);
      if (score < LEAST_LIKE) continue;
      found.push(passageOf(row, score));
    }
    return found.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  #passagesOf(documents: readonly number[]): ReadonlySet<number> {
    const rows = this.#db
      .prepare('SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?))')
      .all(JSON.stringify(documents));
    return new Set(rows.map(({ id }) => Number(id)));
  }

  /** Takes in vectors that were added since, by whichever process; starts over where many were taken out. */
  #follow(): void {
    for (;;) {
      const rows = this.#statements.since.all(this.#signs.last, 5000);
      for (const { chunk, vector } of rows) if (vector instanceof Uint8Array) this.#signs.add(Number(chunk), vector);
      if (rows.length < 5000) return;
    }
  }
}

/** Under which name the index says what its vectors come from. */
const MODEL = 'embeddings';

/** Numbers from -127 to 127: of a vector only its direction counts. */
function toBytes(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0) || 1;
  const bytes = Int8Array.from(vector, (number) => Math.round((number / largest) * 127));
  return new Uint8Array(bytes.buffer);
}

function cosine(query: Float32Array, bytes: Uint8Array): number {
  if (bytes.length !== query.length) return -1;
  const vector = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let product = 0;
  let own = 0;
  let asked = 0;
  for (let at = 0; at < vector.length; at++) {
    const a = query[at] ?? 0;
    const b = vector[at] ?? 0;
    product += a * b;
    asked += a * a;
    own += b * b;
  }
  return own === 0 || asked === 0 ? -1 : product / Math.sqrt(own * asked);
}

/** The signs of many vectors, 32 in a number, in one array that grows. */
class Signs {
  readonly #ids: number[] = [];
  #last = 0;
  #words = 0;
  #dimensions = 0;
  #bits = new Uint32Array(0);

  get size(): number {
    return this.#ids.length;
  }

  /** The passage seen last; they come in the order of their numbers. */
  get last(): number {
    return this.#last;
  }

  add(id: number, bytes: Uint8Array): void {
    this.#last = id;
    if (bytes.length === 0) return;
    if (this.#dimensions === 0) {
      this.#dimensions = bytes.length;
      this.#words = Math.ceil(bytes.length / 32);
    }
    if (bytes.length !== this.#dimensions) return;
    const start = this.#ids.length * this.#words;
    if (start + this.#words > this.#bits.length) {
      const larger = new Uint32Array(Math.max(1024 * this.#words, this.#bits.length * 2));
      larger.set(this.#bits);
      this.#bits = larger;
    }
    for (let at = 0; at < bytes.length; at++)
      if ((bytes[at] ?? 0) < 128)
        this.#bits[start + (at >> 5)] = (this.#bits[start + (at >> 5)] ?? 0) | (1 << (at & 31));
    this.#ids.push(id);
  }

  /** The passages whose signs differ least from those of a query; only `among` these, if they are given. */
  nearest(query: Float32Array, limit: number, among?: ReadonlySet<number>): number[] {
    if (query.length !== this.#dimensions) return [];
    if ((among?.size ?? this.#ids.length) <= limit) return this.#ids.filter((id) => !among || among.has(id));
    const asked = new Uint32Array(this.#words);
    for (let at = 0; at < query.length; at++)
      if ((query[at] ?? 0) >= 0) asked[at >> 5] = (asked[at >> 5] ?? 0) | (1 << (at & 31));
    const distances = new Uint16Array(this.#ids.length);
    const counts = new Uint32Array(this.#dimensions + 1);
    for (let row = 0, at = 0; row < distances.length; row++) {
      if (among && !among.has(this.#ids[row] ?? 0)) {
        distances[row] = LEFT_OUT;
        at += this.#words;
        continue;
      }
      let distance = 0;
      for (let word = 0; word < this.#words; word++, at++)
        distance += bitsIn((this.#bits[at] ?? 0) ^ (asked[word] ?? 0));
      distances[row] = distance;
      counts[distance] = (counts[distance] ?? 0) + 1;
    }
    let most = 0;
    for (let taken = counts[0] ?? 0; taken < limit && most < this.#dimensions; taken += counts[most] ?? 0) most += 1;
    const near: number[] = [];
    for (let row = 0; row < distances.length && near.length < 2 * limit; row++)
      if ((distances[row] ?? 0) <= most) near.push(this.#ids[row] ?? 0);
    return near;
  }
}

/** The distance of vectors that are not to be found: no two vectors have it. */
const LEFT_OUT = 0xffff;

/** How many bits are set. */
function bitsIn(number: number): number {
  let n = number - ((number >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
