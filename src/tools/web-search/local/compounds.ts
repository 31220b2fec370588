import { type IndexLanguage, type Stems, stopWords } from './languages.ts';

/** How many words of a language are remembered. */
const MAX_WORDS = 200_000;
/** Words shorter than this are not split, in letters. */
const MIN_COMPOUND = 8;
const MAX_COMPOUND = 40;
const MIN_PART = 4;
/** How many parts a word may have. */
const MAX_PARTS = 4;
/** In how many passages a word must stand alone to count as a part. */
const MIN_SEEN = 2;

/** The linking letters between two parts: none, or those of German, Dutch and the Nordic languages. */
const LINKS = ['', 's', 'es', 'n', 'en', 'er', 'e'];

export interface LearnedWord {
  language: IndexLanguage;
  stem: string;
  count: number;
}

interface Split {
  parts: string[];
  score: number;
}

interface PartSearch {
  known: ReadonlyMap<string, number>;
  language: IndexLanguage;
  /** The best splits of the ends of the word, each computed once. */
  tails: Map<string, Split | undefined>;
}

/**
 * Splits compound words, in languages that have them, into words that stand alone elsewhere in the same documents (Koehn
 * and Knight, "Empirical Methods for Compound Splitting", 2003): this needs no dictionary, and knows the terms of the
 * documents' own field.
 */
export class Compounds {
  readonly #stems: Stems;
  readonly #words = new Map<IndexLanguage, Map<string, number>>();
  #changed = new Map<string, LearnedWord>();

  constructor(stems: Stems) {
    this.#stems = stems;
  }

  /** How many words of a language are known. */
  size(language: IndexLanguage): number {
    return this.#words.get(language)?.size ?? 0;
  }

  /** Learns the words of a passage, which are in lower case. */
  learn(words: Iterable<string>, language: IndexLanguage): void {
    const known = this.#wordsOf(language);
    const ignored = stopWords(language);
    const stems = new Set<string>();
    for (const word of words)
      if (word.length >= MIN_PART && !ignored.has(word)) stems.add(this.#stems.of(word, language));
    for (const stem of stems) {
      const count = known.get(stem);
      if (count === undefined && known.size >= MAX_WORDS) continue;
      known.set(stem, (count ?? 0) + 1);
      this.#changed.set(`${language} ${stem}`, { language, stem, count: (count ?? 0) + 1 });
    }
  }

  restore(words: Iterable<LearnedWord>): void {
    for (const { language, stem, count } of words) this.#wordsOf(language).set(stem, count);
  }

  /** Returns what was learned since the last call. */
  takeChanges(): LearnedWord[] {
    const changed = [...this.#changed.values()];
    this.#changed = new Map();
    return changed;
  }

  /** The stems of the parts of a lower-case word, and of their own parts; none for a word that is no compound. */
  split(word: string, language: IndexLanguage): string[] {
    const known = this.#words.get(language);
    if (!known || word.length < MIN_COMPOUND || word.length > MAX_COMPOUND) return [];
    const parts = this.#best(word, { known, language, tails: new Map() }, MAX_PARTS)?.parts ?? [];
    if (parts.length < 2) return [];
    return [...new Set(parts.flatMap((part) => [part, ...this.split(part, language)]))];
  }

  /** The parts with the highest geometric mean of their counts. */
  #best(word: string, search: PartSearch, maxParts: number): Split | undefined {
    const { known, language, tails } = search;
    const key = `${maxParts} ${word}`;
    if (tails.has(key)) return tails.get(key);
    const candidates: string[][] = [];
    const whole = this.#stems.of(word, language);
    if (maxParts < MAX_PARTS && this.#isWord(whole, known)) candidates.push([whole]);
    for (let at = MIN_PART; maxParts > 1 && at <= word.length - MIN_PART; at++) {
      const head = this.#head(word.slice(0, at), known, language);
      const rest = head === undefined ? undefined : this.#best(word.slice(at), search, maxParts - 1);
      if (head !== undefined && rest) candidates.push([head, ...rest.parts]);
    }
    const scored = candidates.map((parts) => ({ parts, score: meanLogarithm(parts, known) }));
    const best = scored.reduce<Split | undefined>(
      (top, candidate) => (top && top.score >= candidate.score ? top : candidate),
      undefined,
    );
    tails.set(key, best);
    return best;
  }

  /** The stem of a part before the last one, without its linking letters. */
  #head(text: string, known: ReadonlyMap<string, number>, language: IndexLanguage): string | undefined {
    for (const link of LINKS) {
      if (!text.endsWith(link) || text.length - link.length < MIN_PART) continue;
      const stem = this.#stems.of(text.slice(0, text.length - link.length), language);
      if (this.#isWord(stem, known)) return stem;
    }
    return undefined;
  }

  #isWord(stem: string, known: ReadonlyMap<string, number>): boolean {
    return stem.length >= MIN_PART - 1 && (known.get(stem) ?? 0) >= MIN_SEEN;
  }

  #wordsOf(language: IndexLanguage): Map<string, number> {
    return this.#words.getOrInsertComputed(language, () => new Map());
  }
}

function meanLogarithm(parts: readonly string[], known: ReadonlyMap<string, number>): number {
  return parts.reduce((sum, part) => sum + Math.log(known.get(part) ?? 1), 0) / parts.length;
}
