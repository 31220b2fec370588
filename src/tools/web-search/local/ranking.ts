/** A matching passage, with its document. */
export interface RankedPassage {
  path: string;
  title: string;
  text: string;
  published: string | undefined;
  score: number;
  /** How much of the query it has, from 0 to 1. */
  coverage?: number;
  page?: number;
  section?: string;
}

/** A row of the database as a passage. */
export function rankedPassage(row: Record<string, unknown>, score: number): RankedPassage {
  const { path, title, text, published, page, section } = row;
  return {
    path: String(path),
    title: String(title),
    text: String(text),
    published: typeof published === 'string' ? published : undefined,
    score,
    ...(typeof page === 'number' && { page }),
    ...(typeof section === 'string' && { section }),
  };
}

/** A document with matching passages, and the text of the best one. */
export type RankedDocument = Pick<RankedPassage, 'path' | 'title' | 'text' | 'published'>;

/** How many passages of a document count towards its score. */
const MAX_COUNTED = 4;

/** Groups passages by document, best first: the best passage counts in full, further ones less and less. */
export function documentsOf(passages: Iterable<RankedPassage>): RankedDocument[] {
  const documents = new Map<string, { document: RankedDocument; score: number; passages: number }>();
  for (const { path, title, text, published, score } of passages) {
    const known = documents.get(path);
    if (!known) documents.set(path, { document: { path, title, text, published }, score, passages: 1 });
    else if (known.passages < MAX_COUNTED) {
      known.passages += 1;
      known.score += score / (4 * known.passages);
    }
  }
  return [...documents.values()].sort((a, b) => b.score - a.score).map(({ document }) => document);
}

/** How fast the weight of a rank falls (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", 2009). */
const RANK_CONSTANT = 60;

/** Fuses ranked lists: items that rank high in several come first. `better` chooses between two items of one name. */
export function fuseByRank<T>(
  lists: readonly (readonly T[])[],
  { nameOf, better = (item) => item }: { nameOf(item: T): string; better?: (item: T, other: T) => T },
): T[] {
  const fused = new Map<string, { item: T; score: number }>();
  for (const list of lists) {
    for (const [rank, item] of list.entries()) {
      const known = fused.get(nameOf(item));
      const score = (known?.score ?? 0) + 1 / (RANK_CONSTANT + rank + 1);
      fused.set(nameOf(item), { item: known ? better(known.item, item) : item, score });
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score).map(({ item }) => item);
}

/** The first `limit` documents, with only the best of several copies or versions of one. */
export function withoutCopies(ranked: readonly RankedDocument[], limit: number): RankedDocument[] {
  const chosen: { document: RankedDocument; fingerprint: Set<number> }[] = [];
  for (const document of ranked) {
    if (chosen.length >= limit) break;
    const fingerprint = fingerprintOf(document.text);
    if (!chosen.some((other) => isNearlySame(other.fingerprint, fingerprint))) chosen.push({ document, fingerprint });
  }
  return chosen.map(({ document }) => document);
}

/** How much of a passage its fingerprint is made of, in UTF-16 code units. */
const FINGERPRINTED = 800;

/** The runs of three words as numbers: a copied passage shares them with its original. */
function fingerprintOf(text: string): Set<number> {
  const words =
    text
      .slice(0, FINGERPRINTED)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const numbers = words.map(hashOf);
  const runs = new Set<number>();
  for (let at = 0; at + 2 < numbers.length; at++) {
    const [a = 0, b = 0, c = 0] = [numbers[at], numbers[at + 1], numbers[at + 2]];
    runs.add(Math.imul(Math.imul(a, 31) + b, 31) + c);
  }
  return runs;
}

/** A hash of a word (FNV-1a). A few collisions do not make passages alike. */
function hashOf(word: string): number {
  let number = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) number = Math.imul(number ^ word.charCodeAt(at), 0x01000193);
  return number;
}

/** Whether nine out of ten runs are the same. Short passages have too few runs to decide. */
function isNearlySame(a: Set<number>, b: Set<number>): boolean {
  if (a.size < 12 || b.size < 12) return false;
  let shared = 0;
  for (const run of a) if (b.has(run)) shared += 1;
  return shared >= 0.9 * Math.max(a.size, b.size);
}
