import type { DatabaseSync } from 'node:sqlite';
import type { DocumentIndex } from './document-index.ts';
import { prepareWrite } from './index-database.ts';
import { type RankedPassage, rankedPassage } from './ranking.ts';

/** How many passages may have vectors; further ones are found by their words alone. */
const MAX_VECTORS = 300_000;
/** How many of the apparently nearest passages are compared exactly. */
const COMPARED = 400;
/** The lowest cosine of a passage that answers a query. */
const MIN_SIMILARITY = 0.15;

/** A passage without a vector, as the model gets it. */
export interface PassageText {
  id: number;
  text: string;
}

/** A passage with its vector, or without one if the model refused its text. */
export interface EmbeddedPassage {
  id: number;
  vector: Float32Array | undefined;
}

const UNEMBEDDED = `
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
 * passages whose signs differ least from those of the query are then compared by their vectors.
 */
export class VectorIndex {
  readonly #db: DatabaseSync;
  readonly #index: DocumentIndex;
  readonly #model: string;
  readonly #statements;
  #signs = new Signs();
  /** The last passage up to which all have vectors or were refused. */
  #embeddedUpTo = 0;

  /** `model` identifies the embedding model. */
  constructor(index: DocumentIndex, model: string) {
    this.#db = index.database;
    this.#index = index;
    this.#model = model;
    const { database: db } = index;
    this.#statements = {
      unembedded: db.prepare(UNEMBEDDED),
      put: prepareWrite(db, 'INSERT OR REPLACE INTO vectors (chunk, vector) SELECT id, ? FROM chunks WHERE id = ?'),
      passage: db.prepare(PASSAGE),
      since: db.prepare('SELECT chunk, vector FROM vectors WHERE chunk > ? ORDER BY chunk LIMIT ?'),
    };
  }

  /** How many passages can be found by their vectors; 0 while the vectors are those of another model. */
  get size(): number {
    if (this.#index.storedNote(MODEL) !== this.#model) return 0;
    this.#follow();
    return this.#signs.size;
  }

  /** Deletes the vectors of another model. Only for the process that writes to the index. */
  claim(): void {
    if (this.#index.storedNote(MODEL) === this.#model) return;
    this.#db.exec('DELETE FROM vectors');
    this.#index.note(MODEL, this.#model);
    this.#signs = new Signs();
    this.#embeddedUpTo = 0;
  }

  /** The next `limit` passages without a vector. */
  unembedded(limit: number): PassageText[] {
    if (this.#signs.size >= MAX_VECTORS) return [];
    return this.#statements.unembedded.all(this.#embeddedUpTo, limit).map(({ id, title, heading, text }) => ({
      id: Number(id),
      text: [title, heading === title ? '' : heading, text].filter(Boolean).join('\n'),
    }));
  }

  /** Stores the vectors of passages; one that the model refused is marked, so that it is not tried again. */
  put(passages: readonly EmbeddedPassage[]): void {
    for (const { id, vector } of passages) {
      this.#statements.put.run(vector ? toBytes(vector) : new Uint8Array(0), id);
      this.#embeddedUpTo = Math.max(this.#embeddedUpTo, id);
    }
  }

  /** Frees the signs of removed passages, once there are many of them. */
  tidy(): void {
    const { count = 0 } = this.#db.prepare('SELECT count(*) AS count FROM vectors').get() ?? {};
    if (this.#signs.size > 2 * Number(count) + 1000) this.#signs = new Signs();
  }

  /** The passages nearest to a query, best first. `within`: only of these documents, by row id. */
  search(query: Float32Array, limit: number, within?: readonly number[]): RankedPassage[] {
    this.#follow();
    const near = this.#signs.nearest(query, COMPARED, within && this.#passagesOf(within));
    const found: RankedPassage[] = [];
    for (const id of near) {
      const row = this.#statements.passage.get(id);
      if (!(row?.vector instanceof Uint8Array)) continue;
      const score = cosine(query, row.vector);
      if (score < MIN_SIMILARITY) continue;
      found.push(rankedPassage(row, score));
    }
    return found.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  #passagesOf(documents: readonly number[]): ReadonlySet<number> {
    const rows = this.#db
      .prepare('SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?))')
      .all(JSON.stringify(documents));
    return new Set(rows.map(({ id }) => Number(id)));
  }

  /** Reads the signs of vectors that any process has added since the last call. */
  #follow(): void {
    for (;;) {
      const rows = this.#statements.since.all(this.#signs.last, 5000);
      for (const { chunk, vector } of rows) if (vector instanceof Uint8Array) this.#signs.add(Number(chunk), vector);
      if (rows.length < 5000) return;
    }
  }
}

/** The key of the embedding model in the index. */
const MODEL = 'embeddings';

/** A vector as numbers from -127 to 127: only its direction counts. */
function toBytes(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((max, number) => Math.max(max, Math.abs(number)), 0) || 1;
  const bytes = Int8Array.from(vector, (number) => Math.round((number / largest) * 127));
  return new Uint8Array(bytes.buffer);
}

function cosine(query: Float32Array, bytes: Uint8Array): number {
  if (bytes.length !== query.length) return -1;
  const vector = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let product = 0;
  let vectorSquare = 0;
  let querySquare = 0;
  for (let at = 0; at < vector.length; at++) {
    const a = query[at] ?? 0;
    const b = vector[at] ?? 0;
    product += a * b;
    querySquare += a * a;
    vectorSquare += b * b;
  }
  return vectorSquare === 0 || querySquare === 0 ? -1 : product / Math.sqrt(vectorSquare * querySquare);
}

/** The signs of many vectors, 32 to a number, in one growing array. */
class Signs {
  readonly #ids: number[] = [];
  #last = 0;
  #words = 0;
  #dimensions = 0;
  #bits = new Uint32Array(0);

  get size(): number {
    return this.#ids.length;
  }

  /** The last passage added; passages come in the order of their ids. */
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

  /** The passages whose signs differ least from those of a query; only `among` these, if given. */
  nearest(query: Float32Array, limit: number, among?: ReadonlySet<number>): number[] {
    if (query.length !== this.#dimensions) return [];
    if ((among?.size ?? this.#ids.length) <= limit) return this.#ids.filter((id) => !among || among.has(id));
    const bits = new Uint32Array(this.#words);
    for (let at = 0; at < query.length; at++)
      if ((query[at] ?? 0) >= 0) bits[at >> 5] = (bits[at >> 5] ?? 0) | (1 << (at & 31));
    const distances = new Uint16Array(this.#ids.length);
    const counts = new Uint32Array(this.#dimensions + 1);
    for (let row = 0, at = 0; row < distances.length; row++) {
      if (among && !among.has(this.#ids[row] ?? 0)) {
        distances[row] = EXCLUDED;
        at += this.#words;
        continue;
      }
      let distance = 0;
      for (let word = 0; word < this.#words; word++, at++)
        distance += bitsIn((this.#bits[at] ?? 0) ^ (bits[word] ?? 0));
      distances[row] = distance;
      counts[distance] = (counts[distance] ?? 0) + 1;
    }
    let max = 0;
    for (let total = counts[0] ?? 0; total < limit && max < this.#dimensions; total += counts[max] ?? 0) max += 1;
    const near: number[] = [];
    for (let row = 0; row < distances.length && near.length < 2 * limit; row++)
      if ((distances[row] ?? 0) <= max) near.push(this.#ids[row] ?? 0);
    return near;
  }
}

/** The distance of excluded vectors, which no two vectors can have. */
const EXCLUDED = 0xffff;

function bitsIn(number: number): number {
  let n = number - ((number >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
