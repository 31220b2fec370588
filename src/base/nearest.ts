/** Longer words are not misspellings, in characters. */
const MAX_WORD_LENGTH = 64;

/** The candidate closest to a misspelt word, if one is close enough. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined;
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distance(fold(word), fold(candidate)) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** `didYouMean('googel', ['google'])` is `did you mean \`google\`?`; undefined if no candidate is close enough. */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  const guess = nearest(word, candidates);
  return guess === undefined ? undefined : `did you mean \`${guess}\`?`;
}

/** The edit distance, but at most 1 for a word and its beginning, such as `production` and `prod`. */
function distance(a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  const isPrefix = short.length >= MIN_PREFIX_LENGTH && long.startsWith(short);
  return isPrefix ? Math.min(1, long.length - short.length) : editDistance(a, b);
}

/** In characters. */
const MIN_PREFIX_LENGTH = 4;

/** Makes `baseUrl`, `base-url` and `base_url` the same word. */
function fold(word: string): string {
  return word.replace(/[_\-\s]/g, '').toLowerCase();
}

/** The Damerau-Levenshtein distance: letters to insert, delete, replace or swap with their neighbour. */
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
