/** A word that somebody meant is not longer, in characters. */
const LONGEST_WORD = 64;

/** The candidate nearest to a word that was misspelt, if any is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > LONGEST_WORD) return undefined;
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distance(fold(word), fold(candidate)) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** `didYouMean('googel', ['google'])` is `did you mean \`google\`?`; undefined where nothing is near. */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  const meant = nearest(word, candidates);
  return meant === undefined ? undefined : `did you mean \`${meant}\`?`;
}

/** `warning` and `warn`, or `prod` and `production`, differ by one step however long the rest is. */
function distance(a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  const isBeginning = short.length >= SHORTEST_BEGINNING && long.startsWith(short);
  return isBeginning ? Math.min(1, long.length - short.length) : editDistance(a, b);
}

/** In characters. */
const SHORTEST_BEGINNING = 4;

/** `baseUrl`, `base-url` and `base_url` are the same word. */
function fold(word: string): string {
  return word.replace(/[_\-\s]/g, '').toLowerCase();
}

/** Letters to add, drop, replace or swap with their neighbour until one word is the other. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swaps = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = swaps ? at(i - 2, j - 2) + 1 : replaced;
      row.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
