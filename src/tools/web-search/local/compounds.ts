import { type IndexLanguage, type Stems, smallWords } from './languages.ts';

/** Words of a language that are remembered at most. */
const MAX_WORDS = 200_000;
/** Words shorter than this are not taken apart; in letters. */
const MIN_COMPOUND = 8;
const MAX_COMPOUND = 40;
const MIN_PART = 4;
/** Parts of one word at most. */
const MAX_PARTS = 4;
/** A part is a word that stands alone in so many passages. */
const MIN_SEEN = 2;

/** What stands between two parts: nothing, or what German, Dutch and the languages of the north put there. */
const LINKS = ['', 's', 'es', 'n', 'en', 'er', 'e'];

export interface LearnedWord {
  language: IndexLanguage;
  stem: string;
  count: number;
}

interface Parts {
  parts: string[];
  score: number;
}

interface PartSearch {
  known: ReadonlyMap<string, number>;
  language: IndexLanguage;
  /** What was found for the ends of the word: each is looked at once. */
  tails: Map<string, Parts | undefined>;
}

/**
 * The words of the documents in languages that write several words as one, and how long ones are taken apart: into
 * words that stand alone elsewhere in the same documents (Koehn and Knight, "Empirical Methods for Compound
 * Splitting", 2003), so that no dictionary is needed and the trade's own words are known.
 */
export class Compounds {
  readonly #stems: Stems;
  readonly #words = new Map<IndexLanguage, Map<string, number>>();
  #changed = new Map<string, LearnedWord>();

  constructor(stems: Stems) {
    this.#stems = stems;
  }

  /** Words known in a language. */
  size(language: IndexLanguage): number {
    return this.#words.get(language)?.size ?? 0;
  }

  /** Takes in the words of a passage, in lower case. */
  learn(words: Iterable<string>, language: IndexLanguage): void {
    const known = this.#of(language);
    const small = smallWords(language);
    const stems = new Set<string>();
    for (const word of words)
      if (word.length >= MIN_PART && !small.has(word)) stems.add(this.#stems.of(word, language));
    for (const stem of stems) {
      const count = known.get(stem);
      if (count === undefined && known.size >= MAX_WORDS) continue;
      known.set(stem, (count ?? 0) + 1);
      this.#changed.set(`${language} ${stem}`, { language, stem, count: (count ?? 0) + 1 });
    }
  }

  /** Takes back what was learned earlier. */
  restore(words: Iterable<LearnedWord>): void {
    for (const { language, stem, count } of words) this.#of(language).set(stem, count);
  }

  /** What was learned since this was last asked. */
  takeChanges(): LearnedWord[] {
    const changed = [...this.#changed.values()];
    this.#changed = new Map();
    return changed;
  }

  /** The stems of the parts of a word in lower case, and of their parts; none for one that is not put together. */
  split(word: string, language: IndexLanguage): string[] {
    const known = this.#words.get(language);
    if (!known || word.length < MIN_COMPOUND || word.length > MAX_COMPOUND) return [];
    const parts = this.#best(word, { known, language, tails: new Map() }, MAX_PARTS)?.parts ?? [];
    if (parts.length < 2) return [];
    return [...new Set(parts.flatMap((part) => [part, ...this.split(part, language)]))];
  }

  /** The parts with the highest geometric mean of their counts. */
  #best(word: string, search: PartSearch, left: number): Parts | undefined {
    const { known, language, tails } = search;
    const asked = `${left} ${word}`;
    if (tails.has(asked)) return tails.get(asked);
    const candidates: string[][] = [];
    const whole = this.#stems.of(word, language);
    if (left < MAX_PARTS && this.#isWord(whole, known)) candidates.push([whole]);
    for (let at = MIN_PART; left > 1 && at <= word.length - MIN_PART; at++) {
      const head = this.#head(word.slice(0, at), known, language);
      const rest = head === undefined ? undefined : this.#best(word.slice(at), search, left - 1);
      if (head !== undefined && rest) candidates.push([head, ...rest.parts]);
    }
    const scored = candidates.map((parts) => ({ parts, score: meanLogarithm(parts, known) }));
    const best = scored.reduce<Parts | undefined>(
      (top, each) => (top && top.score >= each.score ? top : each),
      undefined,
    );
    tails.set(asked, best);
    return best;
  }

  /** The stem of a part that is not the last one, without what links it to the next. */
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

  #of(language: IndexLanguage): Map<string, number> {
    const known = this.#words.get(language) ?? new Map<string, number>();
    this.#words.set(language, known);
    return known;
  }
}

function meanLogarithm(parts: readonly string[], known: ReadonlyMap<string, number>): number {
  return parts.reduce((sum, part) => sum + Math.log(known.get(part) ?? 1), 0) / parts.length;
}
