import type { Compounds } from './compounds.ts';
import { detectLanguage, FALLBACK, type IndexLanguage, type Stems, smallWords } from './languages.ts';

/** Scripts written without spaces between words. They are indexed as overlapping pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

/** Words: letters and digits, with the joints inside names such as `max_tool_calls`, `node.js` or `don't`. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:[._'’/+-][\p{L}\p{N}\p{M}]+)*/gu;

/** What the index sees as one word. */
const LETTERS = /[\p{L}\p{N}\p{M}]+/gu;

const MAX_TERMS = 64;
/** What of a query is looked at, in UTF-16 units. */
const MAX_QUERY = 2000;

/** Text in the form in which it goes into the index: unspaced scripts as pairs, words as their stems. */
export function indexText(text: string, how: { language: IndexLanguage; stems: Stems }): string {
  return inPairs(text).replace(lettersOf(text), (word) => how.stems.of(word.toLowerCase(), how.language));
}

/** The words of a text as they stand in the index, without small ones. */
export function indexWords(text: string, how: { language: IndexLanguage; stems: Stems }): string[] {
  const small = smallWords(how.language);
  const found: string[] = [];
  for (const word of inPairs(text).toLowerCase().match(lettersOf(text)) ?? []) {
    if (word.length > 1 && !small.has(word)) found.push(how.stems.of(word, how.language));
  }
  return found;
}

/** The words of a text in lower case, in the order in which they stand. */
export function wordsOf(text: string): string[] {
  return text.normalize('NFKC').replace(UNSPACED, ' ').toLowerCase().match(LETTERS) ?? [];
}

/** Text that classes of Unicode say nothing about: looking them up takes several times longer. */
const NOT_ASCII = /[^ -~\s]/;
const ASCII_LETTERS = /[a-z\d]+/gi;

function lettersOf(text: string): RegExp {
  return NOT_ASCII.test(text) ? LETTERS : ASCII_LETTERS;
}

function inPairs(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${pairs(run).join(' ')} `);
}

/** `深度研究` as `深度 度研 研究 究`: the last character alone, so that a prefix finds every single character. */
function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ''));
}

/** What a query asks for, taken apart. */
export interface QueryTerms {
  /** What any of it matches: FTS5 expressions of quoted strings only; none if the query has no words. */
  expressions: string[];
  /** Its single terms, each an expression: words in the stems of every language, and pairs of characters. */
  terms: string[];
  /** The words and runs themselves, lower case, for finding a good passage. */
  words: string[];
}

/** What a query is taken apart with. */
export interface QueryLanguages {
  /** Those of the documents. */
  languages: readonly IndexLanguage[];
  stems: Stems;
  compounds: Compounds;
}

/**
 * Takes a query apart and quotes each term: raw text makes FTS5 throw on `"`, `AND`, `NEAR(`, `:` or `*`. Terms are
 * joined by OR, and the ranking prefers documents with more and rarer ones. Operators such as `site:` are dropped.
 */
export function queryTerms(query: string, about: QueryLanguages): QueryTerms {
  const text = query
    .slice(0, MAX_QUERY)
    .normalize('NFKC')
    .replace(/(?:^|\s)-?(?:site|filetype|inurl|intitle):\S+/gi, ' ');
  const expressions = new Set<string>();
  const terms = new Set<string>();
  const words = new Set<string>();
  for (const [run] of text.matchAll(UNSPACED)) {
    words.add(run);
    const characters = pairs(run);
    if (characters.length === 1) expressions.add(`${quote(run)}*`);
    for (const pair of characters.slice(0, -1)) {
      expressions.add(quote(pair));
      terms.add(quote(pair));
    }
  }
  const spaced = [...text.replace(UNSPACED, ' ').matchAll(WORD)].map(([word]) => word.toLowerCase());
  const isSmall = smallIn(text);
  const wanted = spaced.filter((word) => !isSmall(word));
  for (const word of wanted.length > 0 || words.size > 0 ? wanted : spaced) {
    words.add(word);
    const parts = wordsOf(word);
    const variants = variantsOf(parts, about);
    for (const variant of variants) expressions.add(variant);
    if (variants.length > 0) terms.add(variants.length === 1 ? variants.join() : `(${variants.join(' OR ')})`);
    if (parts.length > 1) {
      for (const part of parts.filter((each) => each.length > 1 && !isSmall(each)))
        for (const variant of variantsOf([part], about)) expressions.add(variant);
    }
    for (const language of about.languages)
      for (const part of about.compounds.split(word, language)) expressions.add(quote(part));
  }
  // Names of two words: where they stand side by side counts more than one of them in a title.
  for (const [index, word] of spaced.entries()) {
    const next = spaced[index + 1];
    if (next === undefined || isSmall(word) || isSmall(next)) continue;
    for (const variant of variantsOf([...wordsOf(word), ...wordsOf(next)], about)) expressions.add(variant);
  }
  return {
    expressions: [...expressions].slice(0, MAX_TERMS),
    terms: [...terms].slice(0, MAX_TERMS),
    words: [...words].slice(0, MAX_TERMS),
  };
}

/** Tells the words that no query is about, in English and in the language that it seems to be in. */
function smallIn(query: string): (word: string) => boolean {
  const language = detectLanguage(query) ?? FALLBACK;
  return (word) => smallWords(FALLBACK).has(word) || smallWords(language).has(word);
}

/** A word or phrase as each language of the documents has it in the index. */
function variantsOf(words: readonly string[], { languages, stems }: QueryLanguages): string[] {
  if (words.length === 0) return [];
  const phrases = languages.map((language) => words.map((word) => stems.of(word, language)).join(' '));
  return [...new Set(phrases)].map(quote);
}

/** The phrases that match a term of a query, each by its words. */
export function phrasesOf(term: string): string[][] {
  return [...term.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase.split(' '));
}

/** A term as FTS5 takes it. */
export function quote(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
