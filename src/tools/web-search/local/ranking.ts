/** A passage that was found, with its document. */
export interface RankedPassage {
  path: string;
  title: string;
  text: string;
  published: string | undefined;
  score: number;
  page?: number;
  section?: string;
}

/** A row of the database as a passage. */
export function passageOf(row: Record<string, unknown>, score: number): RankedPassage {
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

/** A document whose passages were found. */
export interface RankedDocument {
  path: string;
  title: string;
  /** Its best passage. */
  text: string;
  published: string | undefined;
}

/** Further passages of a document that count for it. */
const COUNTED = 4;

/** Puts passages together by document, best first: the best one counts whole, further ones less and less. */
export function documentsOf(passages: Iterable<RankedPassage>): RankedDocument[] {
  const documents = new Map<string, { document: RankedDocument; score: number; passages: number }>();
  for (const { path, title, text, published, score } of passages) {
    const known = documents.get(path);
    if (!known) documents.set(path, { document: { path, title, text, published }, score, passages: 1 });
    else if (known.passages < COUNTED) {
      known.passages += 1;
      known.score += score / (4 * known.passages);
    }
  }
  return [...documents.values()].sort((a, b) => b.score - a.score).map(({ document }) => document);
}

/** How fast a place in a list loses weight (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", 2009). */
const RANK_CONSTANT = 60;

/** Joins lists, each best first: what stands high in several comes first. Of what is the same, `better` stays. */
export function fuseByRank<T>(
  lists: readonly (readonly T[])[],
  { nameOf, better = (one) => one }: { nameOf(one: T): string; better?: (one: T, other: T) => T },
): T[] {
  const fused = new Map<string, { one: T; score: number }>();
  for (const list of lists) {
    for (const [rank, one] of list.entries()) {
      const known = fused.get(nameOf(one));
      const score = (known?.score ?? 0) + 1 / (RANK_CONSTANT + rank + 1);
      fused.set(nameOf(one), { one: known ? better(known.one, one) : one, score });
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score).map(({ one }) => one);
}

/** The first `limit` documents, of copies and versions of one document only the best. */
export function withoutCopies(ranked: readonly RankedDocument[], limit: number): RankedDocument[] {
  const shown: { document: RankedDocument; fingerprint: Set<number> }[] = [];
  for (const document of ranked) {
    if (shown.length >= limit) break;
    const fingerprint = fingerprintOf(document.text);
    if (!shown.some((other) => isNearlySame(other.fingerprint, fingerprint))) shown.push({ document, fingerprint });
  }
  return shown.map(({ document }) => document);
}

/** How much of a passage tells whether it is a copy, in UTF-16 code units. */
const FINGERPRINTED = 800;

/** Runs of three words, as numbers: what two passages have in common when one was copied from the other. */
function fingerprintOf(text: string): Set<number> {
  const words =
    text
      .slice(0, FINGERPRINTED)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const numbers = words.map(numberOf);
  const runs = new Set<number>();
  for (let at = 0; at + 2 < numbers.length; at++) {
    const [a = 0, b = 0, c = 0] = [numbers[at], numbers[at + 1], numbers[at + 2]];
    runs.add(Math.imul(Math.imul(a, 31) + b, 31) + c);
  }
  return runs;
}

/** A number for a word (FNV-1a). Two words with one number do not make passages alike. */
function numberOf(word: string): number {
  let number = 0x811c9dc5;
  for (let at = 0; at < word.length; at++) number = Math.imul(number ^ word.charCodeAt(at), 0x01000193);
  return number;
}

/** Whether nine of ten runs are the same. Short passages say too little to tell. */
function isNearlySame(a: Set<number>, b: Set<number>): boolean {
  if (a.size < 12 || b.size < 12) return false;
  let shared = 0;
  for (const run of a) if (b.has(run)) shared += 1;
  return shared >= 0.9 * Math.max(a.size, b.size);
}
