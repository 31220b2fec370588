import type { RankedPassage } from './ranking.ts';

/** How many of the best passages are assumed to be relevant. */
const TRUSTED = 8;
const MAX_WORDS = 40;
/** The weight of the similarity to the trusted passages, relative to the best score of the query. */
const WEIGHT = 0.4;

/** The share of its score that a passage keeps if it has no word of the query itself, but parts of compounds. */
const KEPT = 0.25;

/** A passage with its words as stored in the index. */
export interface PassageWords {
  passage: RankedPassage;
  words: readonly string[];
}

/** A term of a query: its phrases in several languages, and the share of all passages that have it. */
export interface QueryTerm {
  phrases: readonly (readonly string[])[];
  share: number;
}

/**
 * Reranks passages by how much of a query each has in its title, its headings or its text; the rarer a term, the more it
 * counts. BM25 favours short passages so much that several common words of a question outweigh the name it asks about.
 */
export function withCoverage(
  found: readonly (PassageWords & { titleWords: readonly string[] })[],
  terms: readonly QueryTerm[],
): PassageWords[] {
  const weighted = terms.map(({ phrases, share }) => ({ phrases, weight: rarity(share) }));
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return [...found];
  return found
    .map(({ passage, words, titleWords }) => {
      const known = new Set([...titleWords, ...words]);
      const covered = weighted.filter(({ phrases }) => phrases.some((words) => words.every((word) => known.has(word))));
      const coverage = covered.reduce((sum, { weight }) => sum + weight, 0) / total;
      return { passage: { ...passage, coverage, score: passage.score * (KEPT + (1 - KEPT) * coverage) }, words };
    })
    .sort((a, b) => b.passage.score - a.passage.score);
}

/** How much a word says that this share of all passages has. */
function rarity(share: number): number {
  return Math.log(1 + 1 / share);
}

/**
 * Reranks passages by what the best of them have in common (relevance feedback; Rocchio, 1971, and Lavrenko and Croft,
 * 2001): words that several of them share describe the subject, even where the query uses others. `share`: the share of
 * all passages that have a word.
 */
export function withFeedback(found: readonly PassageWords[], share: (word: string) => number): RankedPassage[] {
  const top = found[0]?.passage.score ?? 0;
  const passages = found.map(({ passage, words }) => ({ passage, counts: countsOf(words), length: words.length }));
  const mean = passages.reduce((sum, { length }) => sum + length, 0) / Math.max(1, passages.length);
  const subject = subjectOf(passages.slice(0, TRUSTED), share);
  const total = subject.reduce((sum, [, weight]) => sum + weight, 0);
  if (top <= 0 || total <= 0) return found.map(({ passage }) => passage);
  return passages
    .map(({ passage, counts, length }) => {
      const norm = 1.2 * (0.25 + (0.75 * length) / mean);
      const similarity = subject.reduce((sum, [word, weight]) => {
        const count = counts.get(word) ?? 0;
        return count === 0 ? sum : sum + (weight * count * 2.2) / (count + norm);
      }, 0);
      return { ...passage, score: passage.score + WEIGHT * top * (similarity / total) };
    })
    .sort((a, b) => b.score - a.score);
}

function subjectOf(
  trusted: readonly { passage: RankedPassage; counts: ReadonlyMap<string, number>; length: number }[],
  share: (word: string) => number,
): [word: string, weight: number][] {
  const weights = new Map<string, { weight: number; passages: number }>();
  for (const { passage, counts, length } of trusted) {
    for (const [word, count] of counts) {
      const known = weights.getOrInsertComputed(word, () => ({ weight: 0, passages: 0 }));
      known.weight += (passage.score * count) / length;
      known.passages += 1;
    }
  }
  return [...weights]
    .filter(([, { passages }]) => passages > 1)
    .sort(([, a], [, b]) => b.weight - a.weight)
    .slice(0, MAX_WORDS)
    .map(([word, { weight }]) => [word, weight * rarity(share(word))]);
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
